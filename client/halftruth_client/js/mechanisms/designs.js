/** Randomized response designs for a question with two answers, as distortion matrices. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";

/**
 * A design of one attribute.
 *
 * @typedef {object} Design
 * @property {string} name
 * @property {Readonly<Record<string, Rational>>} chances Parameters by name.
 * @property {string} yes The category that the design calls yes.
 * @property {string} no The other category.
 * @property {Rational[][]} matrix One row for each reported value, one column for each true one.
 * @property {Provable | null} provable
 *
 * An answer that a report can prove, declared as not sensitive; the only other answer; and the largest
 * likelihood ratio of a report for the other answer over this one.
 *
 * @typedef {{answer: string, other: string, amplification: Rational}} Provable
 *
 * A design from the literature: names of its parameters, and a function of them that returns
 * P(report yes | yes) and P(report yes | no).
 *
 * @typedef {readonly [readonly string[],
 *   (...chances: Rational[]) => readonly [Rational, Rational]]} Kind
 */

/** @param {Rational} chance */
const opposite = (chance) => ONE.minus(chance);

/** @type {Readonly<Record<string, Kind>>} */
const DESIGNS = {
  warner: [["p"], (p) => [p, opposite(p)]],
  "forced-response": [["yes", "no"], (yes, no) => [opposite(no), yes]],
  "unrelated-question": [
    ["p", "prevalence"],
    (p, prevalence) => {
      const unrelated = opposite(p).times(prevalence);
      return [p.plus(unrelated), unrelated];
    },
  ],
  kuk: [["theta1", "theta2"], (theta1, theta2) => [theta1, theta2]],
  crosswise: [["prevalence"], (prevalence) => [prevalence, opposite(prevalence)]],
  triangular: [["prevalence"], (prevalence) => [ONE, prevalence]],
  mangat: [["p"], (p) => [ONE, opposite(p)]],
};

/** Read the design of an attribute.
 * @type {(written: unknown, field: string, attribute: import("../attribute.js").Attribute) => Design} */
export function readDesign(written, field, { categories }) {
  const name = String(Object(written).design);
  if (!Object.hasOwn(DESIGNS, name)) {
    const names = Object.keys(DESIGNS).join(", ");
    throw new SurveyError(`${field}: expected a design, one of: ${names}`, field);
  }
  const [parameters, reported] = DESIGNS[name];
  const members = membersOf(written, ["design", "answer", "not_sensitive", ...parameters], field);
  const { answer = "yes", not_sensitive: notSensitive } = members;
  const place = categories.indexOf(String(answer));
  if (categories.length !== 2 || place < 0) {
    throw new SurveyError(`${field}.answer: expected one of two categories`, field);
  }
  const [yes, no] = [categories[place], categories[1 - place]];
  const values = parameters.map((parameter) => readChance(members[parameter], `${field}.${parameter}`));
  const [fromYes, fromNo] = reported(...values);
  // If the probabilities of forced answers sum to 1, the true answer is never reported.
  const order = fromYes.compare(fromNo);
  if (name === "forced-response" ? order <= 0 : order === 0) {
    throw new SurveyError(`${field}: expected a report that depends on the answer`, field);
  }
  const proves = fromYes.compare(ONE) === 0;
  if (notSensitive !== (proves ? no : undefined)) {
    const expected = proves ? `"${no}", which a report can prove` : "none";
    throw new SurveyError(`${field}.not_sensitive: expected ${expected}`, field);
  }
  const row = [fromNo, fromNo];
  row[place] = fromYes;
  const matrix = [row.map(opposite), row.map(opposite)];
  matrix[place] = row;
  return {
    name,
    chances: Object.fromEntries(parameters.map((parameter, i) => [parameter, values[i]])),
    yes,
    no,
    matrix,
    provable: proves ? { answer: no, other: yes, amplification: ONE.over(fromNo) } : null,
  };
}

/** @type {(written: unknown, field: string) => Rational} */
function readChance(written, field) {
  const chance = Rational.parse(written, field);
  if (chance.sign() <= 0 || chance.compare(ONE) >= 0) {
    throw new SurveyError(`${field}: expected a probability above 0 and below 1`, field);
  }
  return chance;
}
