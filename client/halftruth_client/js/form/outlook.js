/** What a report can tell others, in natural frequencies, and what happens once it was sent. */

import { deciding } from "./receipt.js";

/**
 * @import { Fit } from "../mechanisms/base.js"
 * @import { Protection } from "../protection.js"
 * @import { Wording } from "./wording.js"
 */

/**
 * A share that may be held for more than it is, never for less: nothing is promised that does not hold.
 *
 * @param {number} tenths Of a percent.
 */
export function inHundred(tenths) {
  return Math.ceil(tenths / 10);
}

/**
 * Of 100 people, how many have a secret that 5 of 100 have: before anything was sent, after what this
 * survey sends, and after answers that are sent unperturbed.
 *
 * The largest share holds for every secret, and whatever else somebody knows; the one below it holds for
 * a single answer, to someone who already knows all others; and one for all waves of a series.
 *
 * @param {Protection} protection With a bound.
 * @param {Wording} words
 * @returns {{label: string, value: string, count: number}[]}
 */
export function outlook({ prior, whole, single, series }, words) {
  const before = inHundred(prior);
  const after = inHundred(whole?.posterior ?? 1_000);
  const ofOne = single && inHundred(single.posterior);
  const line = (/** @type {"after" | "afterSingle" | "afterSeries"} */ key, /** @type {number} */ count) => ({
    label: words.say(key),
    value: words.say("atMost", { count }),
    count,
  });
  return [
    { label: words.say("before"), value: String(before), count: before },
    line("after", after),
    ...(ofOne !== null && ofOne < after ? [line("afterSingle", ofOne)] : []),
    ...(series ? [line("afterSeries", inHundred(series.bound?.posterior ?? 1_000))] : []),
    { label: words.say("ordinary"), value: "100", count: 100 },
  ];
}

/** @type {(protection: Protection, fit: Fit, words: Wording) => string[]} */
export function happening({ bare, provable, series }, fit, words) {
  const isAll = bare.length + provable.length === 0;
  return [
    words.say(isAll ? "chance" : "chanceOthers", { figure: words.frequency(fit) }),
    words.say(isAll ? "certain" : "certainMostly"),
    words.say("lasting"),
    ...(series ? [words.say("series", { wave: series.wave })] : []),
  ];
}

/**
 * Why only some questions are asked, if so.
 *
 * @param {import("../survey.js").Survey} survey
 * @param {import("./questionnaire.js").Questionnaire} questionnaire
 * @param {number | undefined} view As it was drawn.
 * @param {Wording} words
 * @returns {string[]}
 */
export function selection({ schema, mechanism }, { all: asked }, view, words) {
  const [some, all] = [asked.length, schema.questions.length];
  if (some === all) return [];
  const { length: count } = deciding(schema, mechanism.asked?.(view ?? 0) ?? schema.names);
  const drawn = words.say("drawn", { some, all });
  return count > 0 ? [drawn, words.say("decides", { count })] : [drawn];
}
