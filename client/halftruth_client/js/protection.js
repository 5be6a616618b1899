/**
 * Privacy guarantees of a survey, for all answers together and for a single one; the same
 * figures as in `halftruth_shared.protection`.
 */

import { SurveyError, SurveyRefused } from "./errors.js";
import { largest } from "./mechanisms/base.js";
import { ONE, Rational } from "./rational.js";

/**
 * @import { Mechanism } from "./mechanisms/base.js"
 * @import { Provable } from "./mechanisms/designs.js"
 * @import { Schema } from "./schema.js"
 * @import { Survey } from "./survey.js"
 */

/** Prior probability for posteriors. */
const PRIOR = new Rational(1n, 20n);

/** The same in tenths of a percent. */
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

/** Refuse a survey that protects less than the caller accepts.
 * @type {(survey: Survey, maxGamma: Rational, unprotected: ReadonlySet<string>) => void} */
export function checkAmplification(survey, maxGamma, unprotected) {
  const gamma = acceptedAmplification(survey, unprotected);
  if (gamma === null || gamma.compare(maxGamma) > 0) {
    const shown = gamma === null ? "infinite" : String(gamma.toNumber());
    throw new SurveyRefused(
      `survey '${survey.id}': its amplification is ${shown}; expected at most ${maxGamma.toNumber()}`,
      "maxGamma",
    );
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
  const provable = survey.mechanism.provable;
  const open = new Set([...unperturbed(survey, unprotected), ...provable.keys()]);
  return times(survey.mechanism.amplification(open), ...proofsOf(provable.values()));
}

/** @param {Iterable<Provable>} provable */
function proofsOf(provable) {
  return [...provable].map(({ amplification }) => amplification);
}

/**
 * Amplification of one question to someone who knows all other answers: between feasible records that
 * differ only in its answer and in the questions asked after it. All options of a multiple-response
 * question are one question. Null if it is infinite.
 *
 * @param {Survey} survey
 * @param {import("./attribute.js").Question} question
 * @param {ReadonlySet<string>} [known] Attributes whose true answers are known.
 * @param {ReadonlySet<string>} [reported] Attributes that the report is about; by default all.
 */
export function questionAmplification({ schema, mechanism }, { attributes }, known = new Set(), reported) {
  const changed = new Set(attributes.flatMap(({ name }) => [...schema.related(name, known)]));
  const isKept = (/** @type {string} */ name) =>
    known.has(name) || !changed.has(name) || reported?.has(name) === false;
  return mechanism.amplification(new Set(schema.names.filter(isKept)));
}

/** Amplification without the attributes that the caller allows to be unprotected; null if it is
 * infinite. It is only used to accept or refuse a survey: a report spends `spentAmplification`.
 * @type {(survey: Survey, unprotected: ReadonlySet<string>) => Rational | null} */
function acceptedAmplification(survey, unprotected) {
  const { mechanism, schema } = survey;
  // A perturbed answer also informs about the answer in its condition, so it always counts.
  const allowed = new Set(unprotected);
  for (const { name, askIf } of schema.attributes) {
    if (askIf.size > 0 && !reveals(schema, mechanism, name)) allowed.delete(name);
  }
  // The answer that cannot be proved still counts.
  const proofs = [...survey.mechanism.provable].filter(([name]) => unprotected.has(name));
  return times(mechanism.amplification(allowed), ...proofsOf(proofs.map(([, proof]) => proof)));
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
 * @property {readonly {name: string, answer: string, other: string, bound: Bound | null}[]} provable
 *   Attributes with an answer that a report can prove, and the bound for the other answer, to someone
 *   who knows all other answers.
 * @property {number} hidden Number of attributes that are perturbed.
 * @property {Bound | null} whole
 *   Bound for all answers together that are neither sent unperturbed nor proved.
 * @property {Bound | null} single
 *   Bound for the least protected question, to someone who knows all other answers; also null if it is
 *   no better than the bound for all.
 * @property {{wave: number, origin: string, bound: Bound | null} | null} series
 *   Bound for all reports of its series together, on the page address that asks it, if it is in one.
 * @property {boolean} timed Whether response times can reveal an answer.
 */

/** Compute the guarantees of a survey.
 * @type {(survey: Survey, unprotected: ReadonlySet<string>) => Protection} */
export function protection(survey, unprotected) {
  const { schema, mechanism, series } = survey;
  const open = new Set(unperturbed(survey, unprotected));
  const provable = [...survey.mechanism.provable];
  const all = spentAmplification(survey, unprotected);
  const singles = singleAmplifications(survey, open);
  const single = largest([...singles.values()]);
  return {
    prior: PRIOR_TENTHS,
    designs: mechanism.designs,
    unperturbed: schema.attributes.filter(({ name }) => open.has(name)),
    provable: provable.map(([name, { answer, other }]) => {
      return { name, answer, other, bound: bound(singles.get(name) ?? null) };
    }),
    hidden: schema.names.length - open.size,
    whole: bound(all),
    single: single && all && single.compare(all) < 0 ? bound(single) : null,
    series: series && { wave: series.wave, origin: series.origin, bound: bound(series.totalGamma) },
    timed: schema.attributes.some(({ askIf }) => askIf.size > 0),
  };
}

/** By attribute, the amplification of its question to someone who knows all other answers. For a
 * provable answer, the other answer counts. Questions that are sent unperturbed are left out.
 * @type {(survey: Survey, open: ReadonlySet<string>) => Map<string, Rational | null>} */
function singleAmplifications(survey, open) {
  const provable = survey.mechanism.provable;
  const known = new Set([...open, ...provable.keys()]);
  return new Map(
    survey.schema.questions.flatMap((question) => {
      const names = question.attributes.map(({ name }) => name);
      if (names.every((name) => open.has(name))) return [];
      const proofs = proofsOf(names.flatMap((name) => provable.get(name) ?? []));
      const gamma = times(questionAmplification(survey, question, known), ...proofs);
      return names.map((name) => /** @type {const} */ ([name, gamma]));
    }),
  );
}

/** Product of amplifications; the first one can be infinite (null).
 * @type {(gamma: Rational | null, ...others: Rational[]) => Rational | null} */
function times(gamma, ...others) {
  return gamma && others.reduce((product, other) => product.times(other), gamma);
}

/** @type {(gamma: Rational | null) => Bound | null} */
export function bound(gamma) {
  if (gamma === null) return null;
  const epsilon = Number(logarithm(gamma).toPrecision(3));
  return { gamma: inDigits(gamma), epsilon, posterior: tenths(posterior(gamma)) };
}

/** Largest posterior of a property with prior 5 %: ργ / (ργ + 1 − ρ).
 * @type {(gamma: Rational) => Rational} */
function posterior(gamma) {
  const weight = PRIOR.times(gamma);
  return weight.over(weight.plus(ONE.minus(PRIOR)));
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
