/**
 * What a survey promises its respondents, for all answers together and for a single one; the same
 * statement as `halftruth_shared.protection` makes everywhere else.
 */

import { designsInWords } from "./form/designs.js";
import { ONE, Rational } from "./rational.js";
import { inLanguage } from "./texts.js";

/** How likely someone thought what the promise is told of. */
const PRIOR = new Rational(1n, 20n);

const GAP = "\u202f";

/** Whole numbers up to here are written with every digit. */
const WRITTEN_OUT = 10n ** 6n;

/**
 * Names of the attributes that are sent as they are, of those that the caller allows.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {ReadonlySet<string>} unprotected
 */
export function asTheyAre({ schema, mechanism }, unprotected) {
  const reveals = (/** @type {string} */ name) =>
    !mechanism.provable?.().has(name) &&
    mechanism.amplification(new Set(schema.names.filter((other) => other !== name))) === null;
  return schema.names.filter((name) => unprotected.has(name) && reveals(name));
}

/**
 * The promise in plain words, a sentence each.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {ReadonlySet<string>} unprotected Attributes that may be sent as they are.
 */
export function protection(survey, unprotected) {
  const { schema, mechanism } = survey;
  const bare = new Set(asTheyAre(survey, unprotected));
  const labels = new Map(
    schema.attributes.map(({ name, label }) => [name, inLanguage(label, "en") || name]),
  );
  const said = designsInWords(mechanism.designs ?? new Map(), labels);
  if (bare.size > 0) {
    const shown = [...bare].map((name) => labels.get(name)).join(", ");
    // A label may be a question.
    said.push(`Sent as answered, without protection: ${shown}.`.replace("?.", "?"));
  }
  const provable = [...(mechanism.provable?.() ?? [])].filter(([name]) => unprotected.has(name));
  for (const [name, { answer, other, amplification }] of provable) {
    said.push(
      `Of “${labels.get(name)}”, a report can prove the answer “${answer}”, which this survey takes` +
        ` not to be sensitive. It never proves “${other}”: ${bound(amplification)}.`,
    );
  }
  const apart = new Set([...bare, ...provable.map(([name]) => name)]);
  const hidden = schema.names.length - apart.size;
  if (hidden === 0) return said;
  const whole = mechanism.amplification(apart);
  if (whole === null) {
    return [...said, "There is no bound: a report can prove an answer (γ is infinite)."];
  }
  const what = apart.size > 0 ? "All other answers together" : "The whole record";
  said.push(
    `${what}: whatever someone thought ${percent(PRIOR)} likely, a report can at most make` +
      ` ${percent(posterior(whole))} likely, whoever they are and whatever else they know` +
      ` (γ = ${written(whole)}, ε = ${Number(logarithm(whole).toPrecision(3))}).`,
  );
  if (hidden > 1) {
    const { known, unknown } = mechanism.answerAmplification(apart);
    const [most, least] = [bound(known), bound(unknown)];
    said.push(
      most === least
        ? `A single answer: ${most}, whether or not the other answers are known.`
        : `A single answer: ${most} for someone who knows all other answers, and ${least} for` +
            " someone who knows none of them.",
    );
  }
  return said;
}

/** @param {Rational | null} gamma */
function bound(gamma) {
  if (gamma === null) return "no bound, since a report can prove an answer (γ infinite)";
  const most = percent(posterior(gamma));
  return `from ${percent(PRIOR)} to at most ${most} (γ = ${written(gamma)})`;
}

/**
 * How likely a report can at most make what someone thought 5 % likely: ργ / (ργ + 1 − ρ).
 *
 * @param {Rational} gamma
 */
function posterior(gamma) {
  const weight = PRIOR.times(gamma);
  return weight.over(weight.plus(ONE.minus(PRIOR)));
}

/**
 * A share as a percentage, rounded up so that nothing is promised that does not hold.
 *
 * @param {Rational} share
 */
function percent({ numerator, denominator }) {
  const tenths = (numerator * 1000n + denominator - 1n) / denominator;
  const tenth = tenths % 10n;
  return `${tenths / 10n}${tenth > 0n ? `.${tenth}` : ""}${GAP}%`;
}

/**
 * An amplification: whole numbers as they are, others with three digits, rounded up.
 *
 * @param {Rational} gamma At least 1.
 */
function written({ numerator, denominator }) {
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
  // What is exact needs no zeros at its end.
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
