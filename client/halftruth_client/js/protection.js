/**
 * Privacy guarantees of a survey, for all answers together and for a single one; the same
 * figures as in `halftruth_shared.protection`.
 */

import { SurveyError, SurveyRefused } from "./errors.js";
import { largest, product } from "./mechanisms/base.js";
import { ONE, Rational } from "./rational.js";

/**
 * @import { Mechanism } from "./mechanisms/base.js"
 * @import { Schema } from "./schema.js"
 * @import { Survey } from "./survey.js"
 */

/** Prior probability for posteriors. */
const PRIOR = new Rational(1n, 20n);

/** Prior probability of a more common secret. */
const COMMONER = new Rational(1n, 4n);

/** The first one in tenths of a percent. */
export const PRIOR_TENTHS = tenths(PRIOR);

const GAP = "\u202f";

/** Whole numbers below this one are formatted with all digits. */
const WRITTEN_OUT = 10n ** 6n;

/** Names of the attributes that are sent unperturbed: a report can reveal them, and the survey declares
 * them not sensitive, or the caller allows it.
 * @type {(survey: Survey, unprotected?: ReadonlySet<string>) => string[]} */
export function unperturbed({ schema, mechanism }, unprotected = new Set()) {
  const { provable } = mechanism;
  const isOpen = (/** @type {import("./attribute.js").Attribute} */ { name, sensitive }) =>
    (!sensitive || unprotected.has(name)) && !provable.has(name) && reveals(schema, mechanism, name);
  return schema.attributes.filter(isOpen).map(({ name }) => name);
}

/** True if no answer is sent unperturbed, and no report can prove an answer.
 * @type {(survey: Survey, unprotected: ReadonlySet<string>) => boolean} */
export function hidesAll(survey, unprotected) {
  return unperturbed(survey, unprotected).length + survey.mechanism.provable.size === 0;
}

/** Refuse a survey that protects less than the caller accepts. `maxAnswerGamma` is a limit of each answer,
 * instead of `maxGamma` if the survey promises by answer. An amplification that is only used for this is
 * without the attributes that the caller allows to be unprotected: a report spends `spentAmplification`.
 * @type {(survey: Survey, maxGamma: Rational, unprotected: ReadonlySet<string>, maxAnswerGamma?: Rational | null) => void} */
export function checkAmplification(survey, maxGamma, unprotected, maxAnswerGamma = null) {
  const { id, mechanism, promise, schema } = survey;
  // A perturbed answer also informs about the answer in its condition, so it always counts.
  const allowed = new Set(unprotected);
  for (const { name, askIf } of schema.attributes) {
    if (askIf.size > 0 && !reveals(schema, mechanism, name)) allowed.delete(name);
  }
  const ofAnswer = promise === "answer" && maxAnswerGamma;
  const limit = ofAnswer || maxGamma;
  const gamma = ofAnswer
    ? largest([...singleAmplifications(survey, allowed).values()])
    : withProofs(survey, mechanism.amplification(allowed), schema.names, allowed);
  if (gamma === null || gamma.compare(limit) > 0) {
    const field = ofAnswer ? "maxAnswerGamma" : "maxGamma";
    const shown = gamma ? gamma.toNumber() : "infinite";
    const message = `its amplification is ${shown}; expected at most ${limit.toNumber()} (${field})`;
    throw new SurveyRefused(`survey '${id}': ${message}`, field);
  }
}

/**
 * Amplification that one report spends of any privacy budget. All perturbed attributes count, whether or
 * not they are declared sensitive; for an attribute with a provable answer, the other answer counts.
 * Promise, ledger and audit all use this number. Null if it is infinite, because a report can reveal a
 * sensitive answer that the caller does not allow to be unprotected.
 *
 * @param {Survey} survey
 * @param {ReadonlySet<string>} [unprotected]
 */
export function spentAmplification(survey, unprotected) {
  const { mechanism, schema } = survey;
  const open = openOf(survey, unprotected);
  return withProofs(survey, mechanism.amplification(open), schema.names, open);
}

/** Names of the attributes that are sent unperturbed, or have a provable answer.
 * @type {(survey: Survey, unprotected?: ReadonlySet<string>) => ReadonlySet<string>} */
function openOf(survey, unprotected) {
  return new Set([...unperturbed(survey, unprotected), ...survey.mechanism.provable.keys()]);
}

/** Amplification times that of the answers that cannot be proved to some open attributes.
 * @type {(survey: Survey, gamma: Rational | null, names: readonly string[], open: ReadonlySet<string>) => Rational | null} */
function withProofs({ mechanism }, gamma, names, open) {
  const proofs = names.flatMap((name) => (open.has(name) && mechanism.provable.get(name)) || []);
  return product([gamma, ...proofs.map(({ amplification }) => amplification)]);
}

/** True if a report can rule out an answer to one attribute, given all other answers.
 * @type {(schema: Schema, mechanism: Mechanism, name: string) => boolean} */
function reveals({ names }, mechanism, name) {
  return mechanism.amplification(new Set(names.filter((other) => other !== name))) === null;
}

/** Check that no question whose answer a report can reveal has a protected answer in its condition:
 * whether the question was asked would reveal it.
 * @type {(schema: Schema, mechanism: Mechanism) => void} */
export function checkConditions(schema, mechanism) {
  for (const { name, askIf } of schema.attributes) {
    for (const about of reveals(schema, mechanism, name) ? askIf.keys() : []) {
      const { sensitive } = schema.attributes[schema.positions.get(about) ?? 0];
      if (sensitive || mechanism.provable.has(about) || !reveals(schema, mechanism, about)) {
        throw new SurveyError(
          `'${name}': ask_if: would reveal the protected answer to '${about}'; expected none`,
          name,
        );
      }
    }
  }
}

/** Check that no report can prove an answer or rule out a record, since this would split the batch of a
 * relay into distinguishable groups.
 * @type {(schema: Schema, mechanism: Mechanism) => void} */
export function checkHidden(schema, mechanism) {
  const { provable } = mechanism;
  if (provable.size === 0 && mechanism.amplification(new Set()) !== null) return;
  const name = schema.names.find((each) => provable.has(each) || reveals(schema, mechanism, each));
  const what = name === undefined ? "rule out a record" : `reveal the answer to '${name}'`;
  throw new SurveyError(`relay: a report can ${what}; expected every question perturbed, or none`, "relay");
}

/**
 * A bound: the amplification as text, its logarithm, and the largest posterior of a property with prior
 * probability 5 %, in tenths of a percent.
 *
 * @typedef {{gamma: string, epsilon: number, posterior: number}} Bound
 *
 * Guarantees of a survey; null means no bound. They compare people with the same unperturbed answers, and
 * with the same answers where a report proves them.
 *
 * @typedef {object} Protection
 * @property {number} prior In tenths of a percent.
 * @property {readonly import("./attribute.js").Attribute[]} unperturbed Attributes sent unchanged.
 * @property {ReadonlyMap<string, import("./mechanisms/designs.js").Design>} designs By attribute.
 * @property {readonly {name: string, answer: string, other: string, bound: Bound | null, isLess: boolean}[]} provable
 *   Attributes with an answer that a report can prove, and the bound for the other answer, to someone
 *   who knows all other answers; and whether it is less than the bound for all.
 * @property {number} hidden Number of attributes that are perturbed.
 * @property {Bound | null} whole
 *   Bound for all answers together that are neither sent unperturbed nor proved.
 * @property {Bound | null} single
 *   Bound for the least protected question, to someone who knows all other answers; also null if it is
 *   no better than the bound for all.
 * @property {{prior: number, posterior: number} | null} commoner
 *   The same bound for a property with a larger prior probability, in tenths of a percent.
 * @property {boolean} isByAnswer
 *   Whether that bound is what the survey promises; no statement has it without the bound for all.
 * @property {{wave: number, origin: string, bound: Bound | null} | null} series
 *   Bound for all reports of its series together, at the web address that asks it, if it is in one.
 * @property {boolean} timed Whether response times can reveal an answer.
 */

/** Compute the guarantees of a survey.
 * @type {(survey: Survey, unprotected: ReadonlySet<string>) => Protection} */
export function protection(survey, unprotected) {
  const { schema, mechanism, series } = survey;
  const open = new Set(unperturbed(survey, unprotected));
  const provable = [...survey.mechanism.provable];
  const all = spentAmplification(survey, unprotected);
  const singles = singleAmplifications(survey, openOf(survey, unprotected));
  const single = largest([...singles.values()]);
  const isLess = (/** @type {Rational | null} */ gamma) => Boolean(gamma && all && gamma.compare(all) < 0);
  return {
    prior: PRIOR_TENTHS,
    designs: mechanism.designs,
    unperturbed: schema.attributes.filter(({ name }) => open.has(name)),
    provable: provable.map(([name, { answer, other }]) => {
      const { question } = schema.attributes[/** @type {number} */ (schema.positions.get(name))];
      const gamma = singles.get(question?.name ?? name) ?? null;
      return { name, answer, other, bound: bound(gamma), isLess: isLess(gamma) };
    }),
    hidden: schema.names.length - open.size,
    whole: bound(all),
    single: isLess(single) ? bound(single) : null,
    commoner: all && { prior: tenths(COMMONER), posterior: tenths(posterior(all, COMMONER)) },
    isByAnswer: survey.promise === "answer",
    series: series && { wave: series.wave, origin: series.origin, bound: bound(series.totalGamma) },
    timed: schema.attributes.some(({ askIf }) => askIf.size > 0),
  };
}

/**
 * Amplification of each question to someone who knows all other answers: between feasible records that
 * differ only in its answer and in the questions asked after it. All options of a multiple-response
 * question are one question. For a provable answer, the other answer counts if the attribute is open.
 * Questions that are sent unperturbed are left out. Null if it is infinite.
 *
 * @param {Survey} survey
 * @param {ReadonlySet<string>} [open]
 *   Attributes that may be unprotected; by default those sent unperturbed, and those with a provable answer.
 * @param {ReadonlySet<string>} [reported] Attributes that the report is about; by default all.
 * @returns {Map<string, Rational | null>}
 */
export function singleAmplifications(survey, open = openOf(survey), reported) {
  const { mechanism, schema } = survey;
  return new Map(
    schema.questions.flatMap((question) => {
      const names = question.attributes.map(({ name }) => name);
      if (names.every((name) => open.has(name) && !mechanism.provable.has(name))) return [];
      const changed = new Set(names.flatMap((name) => [...schema.related(name, open)]));
      const isKept = (/** @type {string} */ name) =>
        open.has(name) || !changed.has(name) || reported?.has(name) === false;
      const gamma = mechanism.amplification(new Set(schema.names.filter(isKept)));
      return [/** @type {const} */ ([question.name, withProofs(survey, gamma, names, open)])];
    }),
  );
}

/** @type {(gamma: Rational | null) => Bound | null} */
export function bound(gamma) {
  if (gamma === null) return null;
  const epsilon = Number(logarithm(gamma).toPrecision(3));
  return { gamma: inDigits(gamma), epsilon, posterior: tenths(posterior(gamma)) };
}

/** Largest posterior of a property, by default with prior 5 %: ργ / (ργ + 1 − ρ).
 * @type {(gamma: Rational, prior?: Rational) => Rational} */
function posterior(gamma, prior = PRIOR) {
  const weight = prior.times(gamma);
  return weight.over(weight.plus(ONE.minus(prior)));
}

/** A share in tenths of a percent, rounded up so that the bound holds.
 * @type {(share: Rational) => number} */
function tenths({ numerator, denominator }) {
  return Number((numerator * 1000n + denominator - 1n) / denominator);
}

/** A share in percent, rounded up so that the bound holds.
 * @type {(tenths: number) => number} */
export function inHundred(tenths) {
  return Math.ceil(tenths / 10);
}

/** Format an amplification: small whole numbers exactly, others with three digits, rounded up.
 * @param {Rational} gamma At least 1. */
function inDigits({ numerator, denominator }) {
  if (denominator === 1n && numerator < WRITTEN_OUT) {
    return String(numerator).replace(/\B(?=(\d{3})+$)/g, GAP);
  }
  // The power of ten of the first digit, and of the third, which is rounded up.
  let power = BigInt(String(numerator / denominator).length - 1);
  const at = (/** @type {bigint} */ third) =>
    third < 0n ? [numerator * 10n ** -third, denominator] : [numerator, denominator * 10n ** third];
  const [above, below] = at(power - 2n);
  let digits = (above + below - 1n) / below;
  if (digits === 1000n) [digits, power] = [100n, power + 1n];
  if (power > 2n) return `${(Number(digits) / 100).toFixed(2)}e+${power}`;
  const text = (Number(digits) / 10 ** Number(2n - power)).toFixed(Number(2n - power));
  // Remove trailing zeros of exact numbers.
  return above % below === 0n ? String(Number(text)) : text;
}

/** @param {Rational} gamma */
function logarithm({ numerator, denominator }) {
  const of = (/** @type {bigint} */ integer) => {
    const digits = String(integer);
    return Math.log(Number(`0.${digits}`)) + digits.length * Math.LN10;
  };
  return of(numerator) - of(denominator);
}
