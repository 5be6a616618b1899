/** Largest amplification that a caller accepts. */

import { ParameterError, SurveyRefused } from "./errors.js";
import { reveals } from "./protection.js";
import { ONE, Rational } from "./rational.js";

/**
 * The largest amplification that a caller accepts.
 *
 * @param {unknown} written
 * @returns {Rational}
 */
export function readMaxGamma(written) {
  const gamma = Rational.parse(written, "maxGamma");
  if (gamma.compare(ONE) <= 0) {
    throw new ParameterError("maxGamma: expected an amplification above 1", "maxGamma");
  }
  return gamma;
}

/**
 * Refuse a survey that protects less than the caller accepts.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {Rational} maxGamma
 * @param {ReadonlySet<string>} unprotected
 *   Attributes that may be sent as they are; of one whose design can prove one answer, this one.
 */
export function holdAgainst({ id, mechanism, schema }, maxGamma, unprotected) {
  // What is perturbed and asked after an answer tells of that, too.
  const allowed = new Set(unprotected);
  for (const { name, askIf } of schema.attributes) {
    if (askIf.size > 0 && !reveals(schema, mechanism, name)) allowed.delete(name);
  }
  // What a report never proves still counts.
  const gamma = [...(mechanism.provable?.() ?? [])]
    .filter(([name]) => unprotected.has(name))
    .reduce(
      (whole, [, { amplification }]) => whole && whole.times(amplification),
      mechanism.amplification(allowed),
    );
  if (gamma === null || gamma.compare(maxGamma) > 0) {
    const shown = gamma === null ? "infinite" : String(gamma.toNumber());
    throw new SurveyRefused(
      `survey '${id}': its amplification is ${shown}; expected at most ${maxGamma.toNumber()}`,
      "maxGamma",
    );
  }
}
