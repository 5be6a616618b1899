/** Terms under which a collector accepts reports; pinned keys and invitations of the caller. */

import { membersOf } from "./documents.js";
import { ParameterError, SurveyError, SurveyRefused } from "./errors.js";

const HEX = /^[0-9a-f]{64}$/;
const INVITATION = /^[0-9a-f]{32}$/;
const MEMBERS = ["invitations", "sealing_key", "opens_at", "closes_at", "max_reports", "shared_devices"];

/**
 * Terms under which a collector accepts the reports of a survey.
 *
 * @typedef {object} Terms
 * @property {boolean} invitations Whether each report needs an invitation.
 * @property {string | null} sealingKey Public key for encrypting reports; null for plain reports.
 * @property {string | null} opensAt Opening time in UTC; null without one.
 * @property {string | null} closesAt Closing time in UTC; null without one.
 * @property {number | null} maxReports Largest number of accepted reports; null without a limit.
 * @property {boolean} sharedDevices Whether several people may answer on one device.
 */

/** Read published terms. Without terms, reports are plain and need no invitation.
 * @type {(document?: unknown) => Terms} */
export function readTerms(document = {}) {
  const { invitations = false, shared_devices: sharedDevices = false, ...others } = /** @type {any} */ (
    membersOf(document, MEMBERS, "terms")
  );
  const { sealing_key: sealingKey = null, opens_at: opensAt = null, closes_at: closesAt = null } = others;
  const { max_reports: maxReports = null } = others;
  const check = (/** @type {boolean} */ fits, /** @type {string} */ name, expected = "true or false") => {
    if (!fits) throw new SurveyError(`${name}: expected ${expected}`, name);
  };
  check(typeof invitations === "boolean", "invitations");
  check(typeof sharedDevices === "boolean", "shared_devices");
  const isKeyOrNone = sealingKey === null || isHex(sealingKey);
  check(isKeyOrNone, "sealing_key", "64 lower-case hexadecimal digits, or null");
  check(opensAt === null || Date.parse(opensAt) > 0, "opens_at", "a moment, or null");
  check(closesAt === null || Date.parse(closesAt) > 0, "closes_at", "a moment, or null");
  check(maxReports === null || maxReports > 0, "max_reports", "a number, or null");
  return Object.freeze({ invitations, sealingKey, opensAt, closesAt, maxReports, sharedDevices });
}

/** Check the digests, or the operators' public keys, that a caller pins; null without any.
 * @type {(pins: unknown, field?: string) => readonly string[] | null} */
export function readPins(pins, field = "operatorKeys") {
  if (pins === undefined) return null;
  // An empty list is more likely a mistake than the wish to accept every survey.
  if (Array.isArray(pins) && pins.length > 0 && pins.every(isHex)) return [...pins];
  throw new ParameterError(`${field}: expected a list, each of 64 lower-case hexadecimal digits`, field);
}

/** Check that an invitation is well-formed, and given if one is required; messages do not contain
 * it.
 * @type {(survey: import("./survey.js").Survey, invitation: unknown) => void} */
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

/** Refuse terms that make the reports of a relay's batch distinguishable, or limit their number.
 * @type {(survey: import("./survey.js").Survey) => void} */
export function checkRelayTerms({ relay, terms }) {
  if (relay === null) return;
  const { invitations, sealingKey, opensAt, maxReports } = terms;
  const given = { sealing_key: sealingKey !== null, invitations, opens_at: opensAt !== null, max_reports: maxReports !== null };
  const field = Object.entries(given).find(([, isGiven]) => isGiven)?.[0];
  if (field === undefined) return;
  throw new SurveyRefused(`${field}: expected none, since the survey has a relay`, field);
}

/** Refuse a shared device if a total bounds all reports of one person.
 * @type {(survey: import("./survey.js").Survey, hasTotal: boolean) => void} */
export function checkSharedDevices({ series, terms }, hasTotal) {
  if (!terms.sharedDevices || (series === null && !hasTotal)) return;
  const what = series === null ? "maxTotalGamma is" : "the survey is of a series, which has";
  throw new SurveyRefused(
    `shared_devices: several people answer on one device, and ${what} the total of one person; expected false`,
    "shared_devices",
  );
}

/** @type {(value: unknown) => value is string} */
export function isHex(value) {
  return typeof value === "string" && HEX.test(value);
}
