/** Texts in one language or in several. */

/**
 * Text, or text by language, of which the first is fallen back to.
 *
 * @typedef {string | Readonly<Record<string, string>>} Text
 */

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;

/**
 * A text in the first of some languages that it is written in, else in its own first one. A
 * language serves for its regions: de-AT is read where there is de.
 *
 * @param {Text} text
 * @param {...string} languages
 * @returns {string}
 */
export function inLanguage(text, ...languages) {
  if (typeof text === "string") return text;
  const written = new Map(
    Object.entries(text).map(([language, words]) => [language.toLowerCase(), words]),
  );
  for (const language of languages) {
    for (let wanted = language.toLowerCase(); wanted; wanted = shorter(wanted)) {
      const words = written.get(wanted);
      if (words !== undefined) return words;
    }
  }
  return [...written.values()][0];
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
 * Text by language in the order of a survey's languages, in which JSON need not have it.
 *
 * @template {Text | undefined} T
 * @param {T} text
 * @param {readonly string[]} languages
 * @returns {T}
 */
export function arranged(text, languages) {
  if (typeof text !== "object") return text;
  const written = Object.entries(text);
  const place = (/** @type {string} */ language) => languages.indexOf(language);
  return /** @type {T} */ (
    Object.freeze(Object.fromEntries(written.sort(([a], [b]) => place(a) - place(b))))
  );
}
