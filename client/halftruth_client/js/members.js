/** Objects that surveys and terms are made of. */

import { SurveyError } from "./errors.js";

/**
 * The members of an object, all of which this client knows: what it does not, it cannot keep to.
 *
 * @param {unknown} value
 * @param {readonly string[]} known
 * @param {string} field Its name, for the message.
 * @returns {Record<string, unknown>}
 * @throws {SurveyError}
 */
export function membersOf(value, known, field) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SurveyError(`${field}: expected an object`, field);
  }
  const unknown = Object.keys(value).find((member) => !known.includes(member));
  if (unknown !== undefined) {
    throw new SurveyError(`${field}: unknown member '${unknown}'`, unknown);
  }
  return /** @type {Record<string, unknown>} */ (value);
}
