/** Parts of what collectors publish: objects whose members are all known, and texts in one language or in several. */

import { SurveyError } from "./errors.js";

/**
 * Text, or text by language, of which the first is fallen back to.
 *
 * @typedef {string | Readonly<Record<string, string>>} Text
 */

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;

/**
 * A text in a language where it is written in that, else in its own first one. A language serves
 * for its regions: de-AT is read where there is de.
 *
 * @param {Text} text
 * @param {string} [language]
 * @returns {string}
 */
export function inLanguage(text, language = "") {
  if (typeof text === "string") return text;
  const texts = new Map(Object.entries(text).map(([tag, words]) => [tag.toLowerCase(), words]));
  for (let wanted = language.toLowerCase(); wanted; wanted = shorter(wanted)) {
    const words = texts.get(wanted);
    if (words !== undefined) return words;
  }
  return [...texts.values()][0];
}

/** @param {string} language */
function shorter(language) {
  return language.slice(0, Math.max(language.lastIndexOf("-"), 0));
}

/**
 * True for the tag of a language, such as de or pt-BR.
 *
 * @param {unknown} value
 * @returns {value is string}
 */
export function isLanguage(value) {
  return typeof value === "string" && LANGUAGE.test(value);
}

/**
 * A text that a survey may have; those by language in the order of its languages, in which JSON
 * need not have them.
 *
 * @param {unknown} document Undefined for none.
 * @param {readonly string[]} languages
 * @param {string} field For the message.
 * @returns {Text}
 * @throws {SurveyError}
 */
export function readText(document = "", languages, field) {
  if (typeof document === "string") return document;
  const place = (/** @type {string} */ language) => languages.indexOf(language);
  const texts = Object.entries(Object(document)).sort(([a], [b]) => place(a) - place(b));
  if (texts.length === 0 || texts.some(([, words]) => typeof words !== "string")) {
    throw new SurveyError(`${field}: expected text, or text by language`, field);
  }
  return Object.freeze(Object.fromEntries(texts));
}

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
