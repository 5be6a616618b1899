/** Parts of survey documents: objects with known members, and texts in one or several languages. */

import { SurveyError } from "./errors.js";

/** Text, or text by language; the first language is the fallback.
 * @typedef {string | Readonly<Record<string, string>>} Text */

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;

/** A text in a language if available, or else in its first language. A region falls back to its
 * language: de-AT to de.
 * @type {(text: Text, language?: string) => string} */
export function inLanguage(text, language = "") {
  if (typeof text === "string") return text;
  const texts = new Map(Object.entries(text).map(([tag, words]) => [tag.toLowerCase(), words]));
  for (let tag = language.toLowerCase(); tag; tag = withoutLastSubtag(tag)) {
    const words = texts.get(tag);
    if (words !== undefined) return words;
  }
  return [...texts.values()][0];
}

/** @param {string} language */
function withoutLastSubtag(language) {
  return language.slice(0, Math.max(language.lastIndexOf("-"), 0));
}

/** True for a language tag, such as de or pt-BR.
 * @type {(value: unknown) => value is string} */
export function isLanguage(value) {
  return typeof value === "string" && LANGUAGE.test(value);
}

/** Read a text of a survey document. Texts by language are sorted in the order of the survey's
 * languages, since JSON objects have no order.
 * @type {(document: unknown, languages: readonly string[], field: string) => Text} */
export function readText(document = "", languages, field) {
  if (typeof document === "string") return document;
  const place = (/** @type {string} */ language) => languages.indexOf(language);
  const texts = Object.entries(Object(document)).sort(([a], [b]) => place(a) - place(b));
  if (texts.length === 0 || texts.some(([, words]) => typeof words !== "string")) {
    throw new SurveyError(`${field}: expected text, or text by language`, field);
  }
  return Object.freeze(Object.fromEntries(texts));
}

/** The members of an object. Unknown members are refused, since this client could not comply with them.
 * @type {(value: unknown, known: readonly string[], field: string) => Record<string, unknown>} */
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
