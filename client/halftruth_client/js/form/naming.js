/** What a symbol names: the combinations of answers for which it is likelier, read from the symbol alone. */

import { SetOfOptions } from "../mechanisms/set.js";
import { cellsOf } from "../mechanisms/subset.js";

/**
 * @import { Mechanism, View } from "../mechanisms/base.js"
 * @import { Survey } from "../survey.js"
 * @import { Wording } from "./wording.js"
 *
 * Codes by position, of groups of answers where the view has these. Of a question that is perturbed as one set, it
 * has one or two options, and perhaps not all; with `isDummy`, none.
 *
 * @typedef {{codes: readonly (readonly [position: number, code: number])[], isDummy: boolean}} Combination
 */

/** Largest number of combinations that are named one by one. */
const MOST_NAMED = 6;

/** The combinations for which a symbol is likelier; empty if they are many.
 * @type {(mechanism: Mechanism, code: number) => Combination[]} */
function combinationsOf({ views }, code) {
  const view = /** @type {View} */ (views.find(({ first, response }) => code < first + response.symbols));
  const response = /** @type {unknown} */ (view.response);
  const symbol = code - view.first;
  if (response instanceof SetOfOptions) return [ofSet(response, view, symbol)];
  const { cells } = view.response;
  if (view.response.likelier(symbol) > MOST_NAMED) return [];
  const subset = /** @type {import("../mechanisms/subset.js").Subset} */ (response);
  const own = Array.from({ length: cells }, (_, cell) => cell).filter((cell) => subset.isOwn(symbol, cell));
  return own.map((cell) => ({ codes: codesOf(view, cell), isDummy: false }));
}

/** The group of people of a symbol, with its unit: an option, a pair of options, or a missing category.
 * @type {(set: SetOfOptions, view: View, symbol: number) => Combination} */
function ofSet({ block, units, options, pairs }, view, symbol) {
  const unit = symbol % block;
  const isDummy = unit >= units;
  /** @type {(option: number, code?: number) => readonly [number, number]} */
  const chosen = (option, code = 1) => [view.options[option], code];
  /** @type {(readonly [number, number])[]} */
  let own = [];
  if (!isDummy && pairs) own = cellsOf(unit).map((option) => chosen(option));
  else if (!isDummy) own = [unit < options ? chosen(unit) : chosen(0, 2 + unit - options)];
  return { codes: [...codesOf(view, Math.floor(symbol / block)), ...own].sort(([a], [b]) => a - b), isDummy };
}

/** Codes of a cell, in row-major order.
 * @type {(view: View, cell: number) => (readonly [number, number])[]} */
function codesOf({ positions, shape, options }, cell) {
  /** @type {(readonly [number, number])[]} */
  const codes = [];
  let rest = cell;
  for (let i = positions.length - 1; i >= 0; i -= 1) {
    if (options.includes(positions[i])) continue;
    codes.unshift([positions[i], rest % shape[i]]);
    rest = Math.floor(rest / shape[i]);
  }
  return codes;
}

/** The answers that a symbol names, a list for each combination; each with its question if there is only one.
 * @type {(survey: Survey, code: number, collapsed: readonly number[], words: Wording) => string[][]} */
export function nameAnswers({ schema, mechanism }, code, collapsed, words) {
  const { attributes, sets } = schema;
  const combinations = combinationsOf(mechanism, code);
  return combinations.map(({ codes, isDummy }) => {
    const said = codes.map(([j, code]) => {
      const attribute = attributes[j];
      const set = sets.find(({ positions }) => positions.includes(j));
      if (set && code === 1) return words.say("namesOption", { option: words.label(attribute) });
      const label = (set ? questionOf(schema, set.name) : attribute).labelIn(words.language);
      const answer = collapsed.includes(j) ? words.groupNames(attribute)[code] : words.answers(attribute)[code];
      return combinations.length > 1 ? answer : `${label} – ${answer}`;
    });
    return isDummy ? [...said, words.say("namesNothing")] : said;
  });
}

/** @type {(schema: import("../schema.js").Schema, of: string) => import("../attribute.js").Question} */
export function questionOf({ questions }, of) {
  return /** @type {import("../attribute.js").Question} */ (questions.find(({ name }) => name === of));
}
