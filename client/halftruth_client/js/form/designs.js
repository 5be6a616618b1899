/** What the device does under a named design, for respondents; the same as everywhere else. */

import { ONE } from "../rational.js";

const HARMLESS =
  "the device draws the answer to a harmless question that nobody is asked, “{Yes}” with chance" +
  " {prevalence}. It reports";

/** With both answers and the design's chances in braces; `not_p` is the chance of the opposite. */
const WORDS = new Map([
  [
    "warner",
    "with chance {p} the device reports the answer, and with chance {not_p} the other one.",
  ],
  [
    "forced-response",
    "with chance {yes} the device reports “{Yes}” whatever the answer is, with chance {no}" +
      " “{No}”, and else the answer.",
  ],
  [
    "unrelated-question",
    "with chance {p} the device reports the answer. Else it reports the answer to a harmless" +
      " question that nobody is asked: the device draws “{Yes}” with chance {prevalence}.",
  ],
  [
    "kuk",
    "the device draws a card from one of two decks and reports its colour alone, “{Yes}” for red" +
      " and “{No}” for black. Of the deck for “{Yes}” {theta1} are red, of that for “{No}”" +
      " {theta2}.",
  ],
  ["crosswise", `${HARMLESS} “{Yes}” if both answers are the same, and else “{No}”.`],
  ["triangular", `${HARMLESS} “{No}” if both answers are “{No}”, and else “{Yes}”.`],
  [
    "mangat",
    "the device reports “{Yes}” if that is the answer. If it is “{No}”, it reports “{No}” with" +
      " chance {p}, and else “{Yes}”.",
  ],
]);

/**
 * What is told of some questions' designs, each with the labels of the questions that have it.
 *
 * @param {ReadonlyMap<string, import("../mechanisms/designs.js").Design>} designs By attribute.
 * @param {ReadonlyMap<string, string>} labels
 * @returns {string[]}
 */
export function designsInWords(designs, labels) {
  /** @type {Map<string, string[]>} */
  const told = new Map();
  for (const [attribute, design] of designs) {
    const words = inWords(design);
    told.set(words, [...(told.get(words) ?? []), `“${labels.get(attribute)}”`]);
  }
  return [...told].map(([words, shown]) => `For ${shown.join(", ")}, ${words}`);
}

/** @param {import("../mechanisms/designs.js").Design} design */
function inWords({ name, yes, no, chances }) {
  /** @type {Record<string, string>} */
  const put = { Yes: yes, No: no };
  for (const [parameter, chance] of Object.entries(chances)) {
    put[parameter] = said(chance);
    put[`not_${parameter}`] = said(ONE.minus(chance));
  }
  return (WORDS.get(name) ?? "").replace(/\{(\w+)\}/g, (_, key) => put[key]);
}

/** @param {import("../rational.js").Rational} chance */
function said({ numerator, denominator }) {
  return `${numerator} in ${denominator}`;
}
