/** Interface of mechanisms, and the base of those whose report is a record. */

import { ONE } from "../rational.js";

/**
 * @import { Rational } from "../rational.js"
 * @import { RandomBelow } from "../sampling.js"
 *
 * Columns of a report: a name and a number of values for each of its columns.
 *
 * @typedef {{readonly names: readonly string[], readonly shape: readonly bigint[]}} ReportSpace
 *
 * Contents of a report: codes by position of their attributes, each with the chance that it is reported
 * of another answer, and, where the report is about all others together, a symbol of so many of these,
 * which is γ times as likely for some of their combinations.
 *
 * @typedef {object} Contents
 * @property {readonly (readonly [position: number, code: number, others: Fit | null])[]} codes
 *   With null where no other answer is reported so.
 * @property {{code: number, positions: readonly number[], likelier: number, combinations: number}} [symbol]
 *
 * Chances of a report: under some answers, and at least and at most under any others that agree with
 * these in what is sent as it is; null where there are no others.
 *
 * @typedef {{own: Rational, others: {least: Rational, most: Rational} | null}} Likelihoods
 *
 * Chance that a report fits the answers that it was made of, by these at least and at most.
 *
 * @typedef {{least: Rational, most: Rational}} Fit
 *
 * What the mechanism does to one harmless question with so many answers, exactly as to a survey's
 * own: what would be sent for an answer, whether that fits it, and the chance that it does.
 *
 * @typedef {object} Practice
 * @property {number} size
 * @property {(code: number, below: RandomBelow) => number} draw
 * @property {(code: number, sent: number) => boolean} fits
 * @property {(code: number) => Rational} chance
 * @property {boolean} isCode Whether what is sent is a symbol of its own, and no answer.
 * @property {boolean} isOne Whether it stands for one of several questions, perturbed each by itself.
 *
 * A way to perturb one record of a schema.
 *
 * @typedef {object} Mechanism
 * @property {ReportSpace} reportSpace
 * @property {(known: ReadonlySet<string>) => Rational | null} amplification
 *   Largest factor by which a report can be likelier under one record than under another that
 *   agrees with it on the known attributes; null where a report can rule a record out.
 * @property {(codes: readonly number[], below: RandomBelow, view?: number) => number[]} perturb
 *   Perturbs one record, exactly; with a view that was drawn before, codes of what it does not ask
 *   for may be missing.
 * @property {(values: readonly number[]) => Contents} contents
 * @property {() => ReadonlyMap<string, import("./designs.js").Provable>} [provable]
 *   Answers that a report can prove where it never proves the other, by attribute; none without it.
 * @property {ReadonlyMap<string, import("./designs.js").Design>} [designs]
 *   What respondents are told of how reports are drawn, by attribute.
 * @property {(below: RandomBelow) => number} [drawView]
 *   Draws what to ask about, before anything is answered; without it, that is always everything.
 * @property {(view: number) => readonly string[]} [asked]
 *   Names of the attributes that a report about a view tells of.
 * @property {(values: readonly number[], codes: readonly number[]) => Likelihoods} likelihoods
 *   Of a report, given what was drawn to be asked about.
 * @property {(view?: number) => Fit} fit With a view, of its reports.
 * @property {(view?: number) => Practice | null} practice
 *   Null where nothing is perturbed, or there are too many answers for one question.
 */

/** A mechanism whose report is itself a record of the schema. */
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

  /**
   * Chance that a code is reported of another answer to the attribute; null where it never is.
   *
   * @param {number} j
   * @param {number} code
   * @returns {Fit | null}
   */
  chanceOfOthers(j, code) {
    throw new TypeError(`attribute ${j}: expected a mechanism that says how often others report ${code}`);
  }
}

/**
 * Likelihoods of a report that is γ times as likely under some answers as under the others.
 *
 * @param {boolean} fits Whether it is under the own ones.
 * @param {readonly boolean[]} kinds What it is under others: likelier, or not, or either.
 * @param {Rational} gamma
 * @param {Rational} chance Of the report under answers that it is not likelier under.
 * @returns {Likelihoods}
 */
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

/**
 * The largest of some amplifications; null, which stands for infinity, where one of them is.
 *
 * @param {readonly (Rational | null)[]} amplifications
 */
export function largest(amplifications) {
  return amplifications.reduce(
    (most, next) => (most === null || next === null ? null : next.compare(most) > 0 ? next : most),
    ONE,
  );
}
