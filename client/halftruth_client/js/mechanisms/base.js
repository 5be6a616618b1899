/** Interface of mechanisms, and the base of those whose report is a record. */

import { ONE, Rational } from "../rational.js";

/**
 * @import { RandomBelow } from "../sampling.js"
 *
 * Columns of a report: a name and a number of values for each of its columns.
 *
 * @typedef {{readonly names: readonly string[], readonly shape: readonly bigint[]}} ReportSpace
 *
 * Amplification of the least protected single answer, for someone who knows all other answers and
 * for someone who knows none, so that any of them are equally likely; null where it is infinite.
 *
 * @typedef {{known: Rational | null, unknown: Rational | null}} AnswerAmplification
 *
 * Contents of a report: codes by position of their attributes and, where it is about all others
 * together, a symbol of so many of these, which is γ times as likely for some combinations of codes.
 *
 * @typedef {object} Contents
 * @property {readonly (readonly [position: number, code: number])[]} codes
 * @property {{code: number, gamma: Rational, positions: readonly number[],
 *   likelier: readonly (readonly number[])[]}} [symbol]
 *
 * A way to perturb one record of a schema.
 *
 * @typedef {object} Mechanism
 * @property {ReportSpace} reportSpace
 * @property {(known: ReadonlySet<string>) => Rational | null} amplification
 *   Largest factor by which a report can be likelier under one record than under another that
 *   agrees with it on the known attributes; null where a report can rule a record out.
 * @property {(known: ReadonlySet<string>) => AnswerAmplification} answerAmplification
 *   Of the attributes that are not known.
 * @property {(codes: readonly number[], below: RandomBelow, view?: number) => number[]} perturb
 *   Perturbs one record, exactly; with a view that was drawn before, codes of what it does not ask
 *   for may be missing.
 * @property {(values: readonly number[], most: number) => Contents} contents
 *   What a report holds, with at most so many of the combinations that its symbol is likelier for.
 * @property {() => ReadonlyMap<string, import("./designs.js").Provable>} [provable]
 *   Answers that a report can prove where it never proves the other, by attribute; none without it.
 * @property {ReadonlyMap<string, import("./designs.js").Design>} [designs]
 *   What respondents are told of how reports are drawn, by attribute.
 * @property {(below: RandomBelow) => number} [drawView]
 *   Draws what to ask about, before anything is answered; without it, that is always everything.
 * @property {(view: number) => readonly string[]} [asked]
 *   Names of the attributes that a report about a view tells of.
 * @property {(size: number) => Rational[][] | null} single
 *   The channel of a single question with so many answers that is as strong, a row for each reported
 *   answer; null where there is none of this size.
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
    return { codes: values.map((code, j) => [j, code]) };
  }
}

/**
 * The channel of one answer that is γ times as likely to be reported as each other one.
 *
 * @param {number} size Number of answers.
 * @param {Rational} gamma
 */
export function uniformChannel(size, gamma) {
  const other = ONE.over(gamma.plus(new Rational(BigInt(size - 1))));
  const codes = Array.from({ length: size }, (_, code) => code);
  return codes.map((v) => codes.map((u) => (u === v ? gamma.times(other) : other)));
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
