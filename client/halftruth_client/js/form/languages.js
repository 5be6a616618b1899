/** Choice of the language of a form. */

import { isLanguage } from "../documents.js";
import { element } from "./views.js";
import { directionOf, Wording } from "./wording.js";
import { LANGUAGES, wordsIn } from "./words.js";

/** Preferred languages: those named by the attribute `lang` of an element or the parameter `lang`
 * of the page's address, and those of the browser.
 * @param {Element} form */
export function wantedLanguages(form) {
  const named = [form.getAttribute("lang"), new URLSearchParams(location.search).get("lang")];
  return { named: named.filter(isLanguage), preferred: navigator.languages };
}

/**
 * Choose the language of a survey among those that it offers, in the same way as the collector's
 * pages.
 *
 * If the survey declares no languages, the value is a language named by the page or its address for
 * which the form has texts, or else empty: the language of the survey's texts is unknown.
 *
 * @type {(offered: readonly string[], wanted: {named: readonly string[], preferred: readonly string[]}) => string}
 */
export function chooseLanguage(offered, { named, preferred }) {
  if (offered.length === 0) return named.find((tag) => LANGUAGES.includes(primary(tag))) ?? "";
  for (const tag of [...named, ...preferred]) {
    const within = offered.filter((each) => isWithin(tag, each));
    const [nearest] = within.sort((a, b) => b.length - a.length);
    const kin = nearest ?? offered.find((each) => primary(each) === primary(tag));
    if (kin !== undefined) return kin;
  }
  return offered[0];
}

/** Load the texts of the form for a language, in English if there is no translation.
 * @param {string} language */
export async function loadWording(language) {
  const known = LANGUAGES.includes(primary(language));
  const words = await wordsIn(known ? primary(language) : "en");
  return new Wording(language, known ? localeOf(language) : "en", words);
}

/** Control for choosing among the languages of a survey.
 * @type {(offered: readonly string[], choose: (language: string) => void, words: Wording) => HTMLElement} */
export function languageChooser(offered, choose, words) {
  const change = (/** @type {Event} */ event) =>
    choose(/** @type {HTMLSelectElement} */ (event.target).value);
  return element(
    "label",
    { class: "language" },
    element("span", {}, words.say("language")),
    element(
      "select",
      { name: "language", change },
      ...offered.map((tag) => {
        const direction = directionOf(tag);
        const state = { value: tag, lang: tag, dir: direction, selected: tag === words.language };
        return element("option", state, nameOf(tag));
      }),
    ),
  );
}

/** The name of a language in this language.
 * @param {string} tag */
function nameOf(tag) {
  try {
    return new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
  } catch {
    // This browser does not accept the tag.
    return tag;
  }
}

/** @param {string} tag */
function localeOf(tag) {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return primary(tag);
  }
}

/** @param {string} tag */
function primary(tag) {
  return tag.toLowerCase().split("-")[0];
}

/** True if a tag is a language or one of its regions: de-AT is within de.
 * @type {(tag: string, language: string) => boolean} */
function isWithin(tag, language) {
  return `${tag}-`.toLowerCase().startsWith(`${language}-`.toLowerCase());
}
