/** Interface of mechanisms, and the base class of mechanisms whose report is a record. */

import { ONE } from "../rational.js";

/**
 * @import { Rational } from "../rational.js"
 * @import { RandomBelow } from "../sampling.js"
 *
 * Columns of a report: names, and numbers of values.
 *
 * @typedef {{readonly names: readonly string[], readonly shape: readonly bigint[]}} ReportSpace
 *
 * Contents of a report: codes by position of the attribute, each with the probability that another
 * answer is reported by this code; and, for a report about several attributes together, a symbol that is
 * γ times as likely for some of their combinations.
 *
 * @typedef {object} Contents
 * @property {readonly (readonly [position: number, code: number, others: Fit | null])[]} codes
 *   `others` is null if no other answer is reported by this code.
 * @property {{code: number, positions: readonly number[], likelier: number, combinations: number}} [symbol]
 *
 * Probability of a report given some answers, and its smallest and largest probability given other
 * answers with the same unperturbed values; null if there are no others.
 *
 * @typedef {{own: Rational, others: {least: Rational, most: Rational} | null}} Likelihoods
 *
 * Smallest and largest probability, over all answers, that a report agrees with the answers.
 *
 * @typedef {{least: Rational, most: Rational}} Fit
 *
 * Demonstration of the mechanism with one harmless question, with the same probabilities as in the
 * survey: the report for an answer, whether it agrees with the answer, and the probability of that.
 *
 * @typedef {object} Practice
 * @property {number} size Number of answers.
 * @property {(code: number, below: RandomBelow) => number} draw
 * @property {(code: number, sent: number) => boolean} fits
 * @property {(code: number) => Rational} chance
 * @property {boolean} [isCode] Whether the report is a symbol, and not an answer.
 * @property {boolean} [isOne] Whether the survey has several questions that are perturbed independently.
 *
 * Perturbation of records of a schema.
 *
 * @typedef {object} Mechanism
 * @property {ReportSpace} reportSpace
 * @property {(known: ReadonlySet<string>) => Rational | null} amplification
 *   Largest likelihood ratio of a report between two records that agree on the known attributes; null if
 *   a report can rule a record out.
 * @property {(codes: readonly number[], below: RandomBelow, view?: number) => number[]} perturb
 *   Perturb one record with exact sampling. With a view that was drawn before, codes of attributes
 *   outside the view can be missing.
 * @property {(values: readonly number[]) => Contents} contents
 * @property {() => ReadonlyMap<string, import("./designs.js").Provable>} [provable] By attribute.
 * @property {ReadonlyMap<string, import("./designs.js").Design>} [designs] By attribute, for respondents.
 * @property {(below: RandomBelow) => number} [drawView] Before the answers; without it, all is asked.
 * @property {(view: number) => readonly string[]} [asked] Names of the attributes of a report about a view.
 * @property {(values: readonly number[], codes: readonly number[], known?: ReadonlySet<string>) => Likelihoods} likelihoods
 *   Given its view; other answers agree on the known attributes.
 * @property {(view?: number) => Fit} fit Probability of agreement, perhaps for reports about a view.
 * @property {(view?: number) => Practice | null} practice
 *   Null if nothing is perturbed, or there are too many answers for one question.
 */

/** Base class of mechanisms whose report is itself a record of the schema. */
export class RecordMechanism {
  /** @param {import("../schema.js").Schema} schema */
  constructor(schema) {
    this.schema = schema;
    /** @type {ReportSpace} */
    this.reportSpace = { names: schema.names, shape: schema.shape };
  }

  /** @type {Mechanism["contents"]} */
  contents(values) {
    return { codes: values.map((code, j) => [j, code, this.chanceOfOthers(j, code)]) };
  }

  /** Probability that a code is reported for another answer to the attribute; null if it never is.
   * @type {(j: number, code: number) => Fit | null} */
  chanceOfOthers(j, code) {
    throw new TypeError(`attribute ${j}: expected a mechanism that says how often others report ${code}`);
  }
}

/** Likelihoods of a report that is γ times as likely given some answers as given the others.
 * @type {(fits: boolean, kinds: readonly boolean[], gamma: Rational, chance: Rational) => Likelihoods} */
export function twoLikelihoods(fits, kinds, gamma, chance) {
  const of = (/** @type {boolean} */ isLikelier) => (isLikelier ? gamma.times(chance) : chance);
  const others = kinds.map(of);
  return { own: of(fits), others: others.length > 0 ? { least: least(others), most: most(others) } : null };
}

/** @param {readonly Rational[]} numbers At least one. */
export function least(numbers) {
  return numbers.reduce((smallest, next) => (next.compare(smallest) < 0 ? next : smallest));
}

/** @param {readonly Rational[]} numbers At least one. */
export function most(numbers) {
  return numbers.reduce((greatest, next) => (next.compare(greatest) > 0 ? next : greatest));
}

/** The largest of some amplifications; null, which means infinity, if one of them is infinite.
 * @param {readonly (Rational | null)[]} amplifications */
export function largest(amplifications) {
  return amplifications.reduce(
    (most, next) => (most === null || next === null ? null : next.compare(most) > 0 ? next : most),
    ONE,
  );
}
