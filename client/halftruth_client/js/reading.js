/** What people read of answers and reports, in one language. */

import { NO_ANSWER, NOT_ASKED } from "./attribute.js";
import { inLanguage } from "./texts.js";

/**
 * A text, or one by the categories of `Intl.PluralRules`, chosen by the value of `count`; or a list.
 *
 * @typedef {string | readonly string[] | Readonly<Record<string, string>>} Words
 */

/** What is said of answers and reports that no survey says. What stands in braces is put in. */
export const ENGLISH = {
  yes: "yes",
  no: "no",
  noAnswer: "No answer",
  wasNotAsked: "Not asked",
  fromTo: "{low} to {high}",
  fromUnder: "{low} to less than {high}",
  picked: "Your device picked {some} of the {all} questions at random",
  reportedOn: "Your device reported on",
  code: "It sent this code",
  likelierAnswers: {
    one: "The code is {gamma} times likelier for this answer than for any other",
    other: "The code is {gamma} times likelier for these answers than for others",
  },
  likelierCombinations: {
    one: "The code is {gamma} times likelier for this combination of answers than for any other",
    other: "The code is {gamma} times likelier for these combinations of answers than for others",
  },
  likelierSomeAnswers:
    "The code is {gamma} times likelier for some answers than for others; these are some of them",
  likelierSomeCombinations:
    "The code is {gamma} times likelier for some combinations of answers than for others; these" +
    " are some of them",
};

/** @typedef {Readonly<Record<string, Words>>} Vocabulary */

/** Reads surveys in one language, and says the rest in one that there are words in. */
export class Reading {
  /**
   * @param {string} [language] Of the survey's texts.
   * @param {string} [locale] Of the words.
   * @param {Vocabulary} [words]
   */
  constructor(language = "en", locale = "en", words = ENGLISH) {
    this.language = language;
    this.locale = locale;
    this.words = words;
    this.plural = new Intl.PluralRules(locale);
    this.decimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  }

  /**
   * A text with values in the places of their names.
   *
   * @param {string} key
   * @param {Readonly<Record<string, string | number>>} [values] Numbers are written as people do.
   * @returns {string}
   */
  say(key, values = {}) {
    const written = this.words[key];
    const text =
      typeof written === "string"
        ? written
        : (Object(written)[this.plural.select(Number(values.count))] ?? Object(written).other);
    return text.replace(/\{(\w+)\}/g, (/** @type {string} */ all, /** @type {string} */ name) => {
      const value = values[name];
      if (value === undefined) return all;
      return typeof value === "number" ? this.decimal.format(value) : value;
    });
  }

  /**
   * A number that was written with a point, with what the language has in its place.
   *
   * @param {string} number
   */
  point(number) {
    const parts = this.decimal.formatToParts(0.5);
    return number.replace(".", parts.find(({ type }) => type === "decimal")?.value ?? ".");
  }

  /** @param {import("./attribute.js").Attribute} attribute */
  label(attribute) {
    return attribute.labelIn(this.language);
  }

  /**
   * The categories of an attribute, in order; those that a survey has not named itself in our words.
   *
   * @param {import("./attribute.js").Attribute} attribute
   */
  answers(attribute) {
    return attribute.categories.map((category, code) => {
      const text = attribute.answers.get(category);
      return text ? inLanguage(text, this.language) : this.implied(attribute, category, code);
    });
  }

  /**
   * One of them.
   *
   * @param {import("./attribute.js").Attribute} attribute
   * @param {string} category
   */
  answer(attribute, category) {
    return this.answers(attribute)[attribute.categories.indexOf(category)];
  }

  /**
   * @param {import("./attribute.js").Attribute} attribute
   * @param {string} category
   * @param {number} code
   */
  implied({ optional, askIf, question, number }, category, code) {
    if (optional && category === NO_ANSWER) return this.say("noAnswer");
    if (askIf.size > 0 && category === NOT_ASKED) return this.say("wasNotAsked");
    if (question && (category === "yes" || category === "no")) return this.say(category);
    const ends = number?.ends(code);
    if (!ends) return category;
    const [low, high] = [this.point(ends.low), this.point(ends.high)];
    return low === high ? low : this.say(ends.isOpen ? "fromUnder" : "fromTo", { low, high });
  }
}
