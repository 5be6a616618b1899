/** What a survey's amplification promises, and whether that is enough. */

import { ParameterError, SurveyRefused } from "./errors.js";
import { ONE, Rational } from "./rational.js";

/**
 * A privacy floor: the largest amplification that a caller accepts.
 *
 * @param {unknown} written
 * @returns {Rational}
 */
export function readFloor(written) {
  const gamma = Rational.parse(written, "maxGamma");
  if (gamma.compare(ONE) <= 0) {
    throw new ParameterError("maxGamma: expected an amplification above 1", "maxGamma");
  }
  return gamma;
}

/**
 * Refuse a survey that protects less than the floor.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {Rational} floor
 * @param {ReadonlySet<string>} unprotected Attributes that may be sent as they are.
 */
export function holdAgainst(survey, floor, unprotected) {
  const gamma = survey.mechanism.amplification(unprotected);
  if (gamma === null || gamma.compare(floor) > 0) {
    const shown = gamma === null ? "infinite" : String(gamma.toNumber());
    throw new SurveyRefused(
      `survey '${survey.id}': its amplification is ${shown}; expected at most ${floor.toNumber()}`,
      "maxGamma",
    );
  }
}

/**
 * The most that someone who thought something likely can come to think it.
 *
 * @param {number} prior Above 0 and below 1.
 * @param {Rational} gamma
 * @returns {number}
 */
export function worstCasePosterior(prior, gamma) {
  // Written so that an amplification beyond what a number holds gives 1.
  return 1 / (1 + (1 - prior) / prior / gamma.toNumber());
}
