/** Series: surveys that ask the same people again, with one total amplification for all of them. */

import { SurveyError } from "./errors.js";
import { membersOf } from "./members.js";
import { Rational } from "./rational.js";

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const MOST_WAVES = 1_000;

/**
 * @typedef {object} Series
 * @property {string} id
 * @property {number} wave Number of this survey in the series, from 1.
 * @property {Rational} totalGamma Largest amplification of all reports of one person together.
 */

/**
 * @param {unknown} [written] As the survey has it.
 * @returns {Readonly<Series> | null}
 */
export function readSeries(written) {
  if (written === undefined) return null;
  const { id, wave, total_gamma } = membersOf(written, ["id", "wave", "total_gamma"], "series");
  if (typeof id !== "string" || !ID.test(id)) {
    throw fault("id", "lower-case letters, digits and hyphens, at most 64");
  }
  if (typeof wave !== "number" || !Number.isInteger(wave) || wave < 1 || wave > MOST_WAVES) {
    throw fault("wave", `a whole number from 1 to ${MOST_WAVES}`);
  }
  const totalGamma = Rational.parse(total_gamma, "series.total_gamma");
  if (totalGamma.numerator <= totalGamma.denominator) {
    throw fault("total_gamma", "an amplification above 1");
  }
  return Object.freeze({ id, wave, totalGamma });
}

/**
 * @param {string} member
 * @param {string} expected
 */
function fault(member, expected) {
  const field = `series.${member}`;
  return new SurveyError(`${field}: expected ${expected}`, field);
}
