/** Introduction and ending of a form; part of what the digest names. */

import { SurveyError } from "./errors.js";
import { membersOf } from "./members.js";
import { readText } from "./texts.js";

const MEMBERS = [
  "asked_by", "purpose", "contact", "privacy_notice", "consent", "thanks", "redirect", "redirect_after",
];

/** Nothing that would add a subject or another recipient to a message. */
const MAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/;
const MOST_CHARACTERS = 2_000;

/**
 * @import { Text } from "./texts.js"
 *
 * @typedef {object} Framing
 * @property {Text} askedBy Who asks.
 * @property {Text} purpose What for.
 * @property {string | null} contact Whom to ask: a mail address, or an address with https.
 * @property {string | null} privacyNotice Where the privacy notice is: an address with https, or a path.
 * @property {Text} consent What has to be agreed to before the first question, if anything has.
 * @property {Text} thanks Said once a report was counted.
 * @property {string | null} redirect Where to go on to then: an address with https, or a path.
 * @property {number | null} redirectAfter Seconds after which that happens by itself.
 */

/**
 * @param {unknown} [written] As the survey has it.
 * @param {readonly string[]} languages Of the survey.
 * @returns {Framing}
 */
export function readFraming(written = {}, languages = []) {
  const members = membersOf(written, MEMBERS, "form");
  const address = (/** @type {string} */ member, fits = isAddress, or = "a path of the site") => {
    const written = members[member] ?? null;
    if (written === null || fits(written)) return written;
    const field = `form.${member}`;
    throw new SurveyError(`${field}: expected an address with https://, or ${or}`, field);
  };
  const text = (/** @type {string} */ member) =>
    readText(members[member], languages, `form.${member}`);
  return Object.freeze({
    askedBy: text("asked_by"),
    purpose: text("purpose"),
    contact: address("contact", isContact, "a mail address"),
    privacyNotice: address("privacy_notice"),
    consent: text("consent"),
    thanks: text("thanks"),
    redirect: address("redirect"),
    redirectAfter: Number(members.redirect_after) || null,
  });
}

/**
 * True for an address with https, or a path of the site where the form is.
 *
 * @param {unknown} written
 * @returns {written is string}
 */
function isAddress(written) {
  if (typeof written !== "string" || !/^(https:\/\/[^/]|\/(?![/\\]))[!-[\]-~]*$/.test(written)) {
    return false;
  }
  if (!URL.canParse(written, "https://site.invalid")) return false;
  const { protocol, username, password } = new URL(written, "https://site.invalid");
  return protocol === "https:" && username === "" && password === "";
}

/**
 * True for an address with https, or of mail.
 *
 * @param {unknown} written
 * @returns {written is string}
 */
function isContact(written) {
  if (typeof written !== "string" || written.length > MOST_CHARACTERS) return false;
  return MAIL.test(written) || (written.startsWith("https://") && isAddress(written));
}
