/** How a collector takes the reports of a survey, and what a caller brings for that. */

import { ParameterError, SurveyError } from "./errors.js";

const KEY = /^[0-9a-f]{64}$/;
const INVITATION = /^[0-9a-f]{32}$/;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const MEMBERS = new Set([
  "invitations",
  "sealing_key",
  "closes_at",
  "max_reports",
  "shared_devices",
]);

/**
 * How a collector takes the reports of a survey.
 *
 * @typedef {object} Terms
 * @property {boolean} invitations Whether each report needs an invitation.
 * @property {string | null} sealingKey The key that reports are encrypted to, if to any.
 * @property {string | null} closesAt Moment of the last report, in UTC.
 * @property {number | null} maxReports How many reports are taken at most.
 * @property {boolean} sharedDevices Whether several people may answer on one device.
 */

/**
 * Terms as a collector publishes them; without any, reports are plain and need no invitation.
 *
 * @param {unknown} [written]
 * @returns {Terms}
 */
export function readTerms(written = {}) {
  if (typeof written !== "object" || written === null || Array.isArray(written)) {
    throw new SurveyError("terms: expected an object", "terms");
  }
  const members = /** @type {Record<string, unknown>} */ (written);
  for (const member of Object.keys(members)) {
    if (!MEMBERS.has(member)) throw new SurveyError(`terms: unknown member '${member}'`, member);
  }
  const { invitations = false, sealing_key: sealingKey = null } = members;
  const { closes_at: closesAt = null, max_reports: maxReports = null } = members;
  const { shared_devices: sharedDevices = false } = members;
  if (typeof invitations !== "boolean") {
    throw new SurveyError("invitations: expected true or false", "invitations");
  }
  if (sealingKey !== null && !isKey(sealingKey)) {
    throw new SurveyError(
      "sealing_key: expected 64 lower-case hexadecimal digits, or null",
      "sealing_key",
    );
  }
  if (closesAt !== null && !(typeof closesAt === "string" && isMoment(closesAt))) {
    throw new SurveyError("closes_at: expected a moment in UTC, or null", "closes_at");
  }
  if (maxReports !== null && !(Number.isSafeInteger(maxReports) && Number(maxReports) > 0)) {
    throw new SurveyError("max_reports: expected an integer above 0, or null", "max_reports");
  }
  if (typeof sharedDevices !== "boolean") {
    throw new SurveyError("shared_devices: expected true or false", "shared_devices");
  }
  return Object.freeze({
    invitations,
    sealingKey,
    closesAt,
    maxReports: /** @type {number | null} */ (maxReports),
    sharedDevices,
  });
}

/**
 * The operators' public keys that a caller pins, or null where none are.
 *
 * @param {unknown} written
 * @returns {readonly string[] | null}
 */
export function readPins(written) {
  if (written === undefined) return null;
  // None at all is more likely an oversight than a wish to trust everyone.
  if (!Array.isArray(written) || written.length === 0 || !written.every(isKey)) {
    throw new ParameterError(
      "operatorKeys: expected a list of public keys, each of 64 lower-case hexadecimal digits",
      "operatorKeys",
    );
  }
  return [...written];
}

/**
 * Refuse what is no invitation, and none where one is needed.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {unknown} invitation Undefined where there is none.
 * @throws {ParameterError} That does not quote it.
 */
export function checkInvitation(survey, invitation) {
  if (invitation === undefined && !survey.terms.invitations) return;
  if (typeof invitation !== "string" || !INVITATION.test(invitation)) {
    const why = invitation === undefined ? `survey '${survey.id}' needs one; ` : "";
    throw new ParameterError(
      `invitation: ${why}expected 32 lower-case hexadecimal digits`,
      "invitation",
    );
  }
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
function isKey(value) {
  return typeof value === "string" && KEY.test(value);
}

/** @param {string} text */
function isMoment(text) {
  return MOMENT.test(text) && !Number.isNaN(Date.parse(text));
}
