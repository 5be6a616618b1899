/** What those who ask say around the questions; part of what the digest names. */

import { SurveyError } from "./errors.js";
import { arranged, isText } from "./texts.js";

const TEXTS = { asked_by: "askedBy", purpose: "purpose", consent: "consent", thanks: "thanks" };
const LEAST_SECONDS = 5;
const MOST_SECONDS = 120;

/**
 * @typedef {import("./texts.js").Text} Text
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
  const members = /** @type {Record<string, unknown>} */ (written);
  if (typeof written !== "object" || written === null || Array.isArray(written)) {
    throw new SurveyError("form: expected an object", "form");
  }
  /** @type {Framing} */
  const framing = {
    askedBy: "",
    purpose: "",
    consent: "",
    thanks: "",
    redirect: null,
    redirectAfter: null,
  };
  for (const [member, value] of Object.entries(members)) {
    if (Object.hasOwn(TEXTS, member)) {
      if (!isText(value)) throw wrong(member, "text, or text by language");
      const name = /** @type {"thanks"} */ (TEXTS[/** @type {"thanks"} */ (member)]);
      framing[name] = arranged(value, languages);
    } else if (member === "redirect") {
      if (!isRedirect(value)) throw wrong(member, "an address with https://, or a path of the site");
      framing.redirect = value;
    } else if (member === "redirect_after") {
      const seconds = Number(value);
      if (!Number.isInteger(value) || seconds < LEAST_SECONDS || seconds > MOST_SECONDS) {
        throw wrong(member, `an integer from ${LEAST_SECONDS} to ${MOST_SECONDS}`);
      }
      framing.redirectAfter = seconds;
    } else {
      throw new SurveyError(`form: unknown member '${member}'`, "form");
    }
  }
  return Object.freeze(framing);
}

/**
 * Whether it leads over https, or stays on the site where the form is.
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

/**
 * @param {string} member
 * @param {string} expected
 */
function wrong(member, expected) {
  return new SurveyError(`form.${member}: expected ${expected}`, `form.${member}`);
}
