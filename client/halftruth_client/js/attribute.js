/** Questions as surveys have them, and the attributes that they are perturbed as. */

import { inLanguage, membersOf, readText } from "./documents.js";
import { RecordError, SurveyError } from "./errors.js";
import { NumberRange } from "./number.js";

/** The category of who passes over an optional question. */
export const NO_ANSWER = "no answer";
/** The category of who is not asked, since an earlier answer does not call for it. */
export const NOT_ASKED = "not asked";
/** Categories of an option: not chosen, chosen. */
const OPTION = ["no", "yes"];

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const CHOICE = ["categories", "items", "ordered"];
const NUMBER = ["minimum", "maximum", "step", "whole"];
const COMMON = ["name", "kind", "sensitive", "label", "help", "page"].concat(
  ["missing", "optional", "ask_if", "shuffle", "answers", "short", "short_answers"],
);

/**
 * Members of each kind of question.
 *
 * @type {Record<string, readonly string[]>}
 */
const MEMBERS = {
  choice: [...COMMON, ...CHOICE],
  scale: [...COMMON, ...CHOICE],
  number: [...COMMON, ...NUMBER, "items", "ordered"],
  several: [...COMMON, "options"],
};

/**
 * @import { Text } from "./documents.js"
 * @typedef {Record<string, unknown> & {name: string}} Members
 */

/** One question with one answer, or one option of a question with several. */
export class Attribute {
  /**
   * @param {Members} members
   * @param {readonly string[]} languages Of the survey.
   * @param {{name: string, label: Text} | null} [question] What this is an option of.
   */
  constructor(members, languages, question = null) {
    const { name, missing = [], answers = {} } = members;
    if (typeof name !== "string" || !NAME.test(name)) {
      throw new SurveyError("name: expected letters, digits, '_', '.' and '-'", "name");
    }
    this.name = name;
    this.question = question;
    this.label = readText(members.label, languages, `'${name}': label`);
    this.help = readText(members.help, languages, `'${name}': help`);
    this.page = readText(members.page, languages, `'${name}': page`);
    // Results alone have it: it is read to be checked.
    readText(members.short, languages, `'${name}': short`);
    for (const text of Object.values(Object(members.short_answers))) {
      readText(text, languages, `'${name}': short_answers`);
    }
    // Nothing but a plain false gives a protection up.
    this.sensitive = members.sensitive !== false;
    this.optional = members.optional === true;
    this.shuffle = members.shuffle === true;
    /** @type {ReadonlyMap<string, readonly string[]>} */
    this.askIf = new Map(readConditions(name, members.ask_if));
    /** The numbers that are answers; null where these are the categories. */
    this.number = members.kind === "number" ? new NumberRange(members) : null;
    if (!isTexts(missing)) throw fault(name, "missing: expected categories");
    /** @type {readonly string[]} Categories that are no answer. */
    this.missing = unique(
      missing,
      this.optional ? [NO_ANSWER] : [],
      this.askIf.size > 0 ? [NOT_ASKED] : [],
    );
    const categories = this.number?.categories ?? members.categories;
    if (!isTexts(categories) || unique(categories).length < categories.length) {
      throw fault(name, "expected two or more different categories");
    }
    /** @type {readonly string[]} The possible answers; an answer's code is its position. */
    this.categories = unique(categories, this.missing);
    if (this.categories.length < 2) throw fault(name, "expected two or more different categories");
    /** @type {ReadonlyMap<string, Text>} What a form shows instead of a category. */
    this.answers = new Map(
      Object.entries(Object(answers)).map(([category, text]) => [
        category,
        readText(text, languages, `'${name}': answers`),
      ]),
    );
    Object.freeze(this);
  }

  /**
   * Its label; that of an option names its question too.
   *
   * @param {string} [language]
   */
  labelIn(language) {
    const { question } = this;
    const label = this.optionIn(language);
    if (!question) return label;
    return `${inLanguage(question.label || question.name, language)} – ${label}`;
  }

  /**
   * The same below its question.
   *
   * @param {string} [language]
   */
  optionIn(language) {
    return inLanguage(this.label || this.option, language);
  }

  /** Name of the option that this is; of others, the name. */
  get option() {
    return this.question ? this.name.slice(this.question.name.length + 1) : this.name;
  }

  /**
   * The code of an answer: of a category or, where these are bins, of a number.
   *
   * @param {unknown} answer
   * @returns {number}
   * @throws {RecordError} That names the attribute and never the answer.
   */
  code(answer) {
    let code = typeof answer === "string" ? this.categories.indexOf(answer) : -1;
    if (code < 0 && this.number !== null) code = this.number.bin(answer);
    if (code < 0) throw new RecordError(`'${this.name}': expected ${this.expected()}`, this.name);
    return code;
  }

  /** Accepted answers in words, for messages. */
  expected() {
    const asked = (/** @type {string} */ c) => this.askIf.size === 0 || c !== NOT_ASKED;
    if (this.number === null) return `one of: ${this.categories.filter(asked).join(", ")}`;
    const missing = this.missing.filter(asked).join(", ");
    return missing ? `${this.number}, or one of: ${missing}` : `${this.number}`;
  }
}

/** A question as people see it: an attribute, or all options of a question with several answers. */
export class Question {
  /**
   * @param {unknown} document As a survey has it.
   * @param {readonly string[]} languages
   */
  constructor(document, languages) {
    const { kind = "choice" } = Object(document);
    if (!Object.hasOwn(MEMBERS, kind)) {
      throw new SurveyError(`kind: expected one of: ${Object.keys(MEMBERS).join(", ")}`, "kind");
    }
    const members = /** @type {Members} */ (membersOf(document, MEMBERS[kind], "attributes"));
    this.name = members.name;
    /** @type {string} */
    this.kind = kind;
    this.label = readText(members.label, languages, `'${this.name}': label`);
    /** @type {readonly Attribute[]} */
    this.attributes =
      kind === "several"
        ? readOptions(members, this.label, languages)
        : [new Attribute(members, languages)];
    Object.freeze(this);
  }

  /** Title of the page that it is asked on, beside its neighbours of that title. */
  get page() {
    return this.attributes[0].page;
  }

  get help() {
    return this.attributes[0].help;
  }

  /** True if it may be left out. */
  get optional() {
    return this.attributes[0].optional;
  }

  /** @param {string} [language] */
  labelIn(language) {
    return inLanguage(this.label || this.name, language);
  }
}

/**
 * @param {Members} members
 * @param {Text} label
 * @param {readonly string[]} languages
 */
function readOptions({ options, label: _, ...common }, label, languages) {
  const { name } = common;
  const question = { name, label };
  if (!Array.isArray(options) || options.length === 0) {
    throw fault(name, "options: expected one or more");
  }
  return options.map((option) => {
    const own = /** @type {Members} */ (membersOf(option, ["name", "label", "short"], "options"));
    const attribute = { ...common, ...own, name: `${name}.${own.name}`, kind: "choice" };
    return new Attribute({ ...attribute, categories: OPTION }, languages, question);
  });
}

/** @type {(name: string, document: unknown) => [string, readonly string[]][]} */
function readConditions(name, document = {}) {
  return Object.entries(Object(document)).map(([about, answers]) => {
    if (!isTexts(answers) || answers.length === 0) {
      throw fault(name, "ask_if: expected answers by attribute");
    }
    return [about, answers];
  });
}

/**
 * @param {...readonly string[]} categories
 * @returns {readonly string[]} Each once.
 */
function unique(...categories) {
  return [...new Set(categories.flat())];
}

/** @type {(name: string, why: string) => SurveyError} */
function fault(name, why) {
  return new SurveyError(`'${name}': ${why}`, name);
}

/** @type {(value: unknown) => value is string[]} */
function isTexts(value) {
  return Array.isArray(value) && value.every((text) => typeof text === "string" && text !== "");
}
