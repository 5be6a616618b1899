/** Terms on which a collector accepts reports; pins and invitations of the caller. */

import { ParameterError, SurveyError } from "./errors.js";
import { membersOf } from "./members.js";

const KEY = /^[0-9a-f]{64}$/;
const INVITATION = /^[0-9a-f]{32}$/;
const MEMBERS = ["invitations", "sealing_key", "closes_at", "max_reports", "shared_devices"];

/**
 * Terms on which a collector accepts the reports of a survey.
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
  const members = membersOf(written, MEMBERS, "terms");
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
  if (typeof sharedDevices !== "boolean") {
    throw new SurveyError("shared_devices: expected true or false", "shared_devices");
  }
  return Object.freeze({
    invitations,
    sealingKey,
    closesAt: /** @type {string | null} */ (closesAt),
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
