/** Introduction and ending of a form; part of what the digest names. */

import { SurveyError } from "./errors.js";
import { membersOf } from "./members.js";
import { readText } from "./texts.js";

const MEMBERS = ["asked_by", "purpose", "consent", "thanks", "redirect", "redirect_after"];

/**
 * @import { Text } from "./texts.js"
 *
 * @typedef {object} Framing
 * @property {Text} askedBy Who asks.
 * @property {Text} purpose What for.
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
  const { redirect = null, redirect_after: after = null } = members;
  if (redirect !== null && !isRedirect(redirect)) {
    throw new SurveyError(
      "form.redirect: expected an address with https://, or a path of the site",
      "form.redirect",
    );
  }
  const text = (/** @type {string} */ member) =>
    readText(members[member], languages, `form.${member}`);
  return Object.freeze({
    askedBy: text("asked_by"),
    purpose: text("purpose"),
    consent: text("consent"),
    thanks: text("thanks"),
    redirect,
    redirectAfter: Number(after) || null,
  });
}

/**
 * True for an address with https, or a path of the site where the form is.
 *
 * @param {unknown} written
 * @returns {written is string}
 */
function isRedirect(written) {
  if (typeof written !== "string" || !/^(https:\/\/[^/]|\/(?![/\\]))[!-[\]-~]*$/.test(written)) {
    return false;
  }
  if (!URL.canParse(written, "https://site.invalid")) return false;
  const { protocol, username, password } = new URL(written, "https://site.invalid");
  return protocol === "https:" && username === "" && password === "";
}
