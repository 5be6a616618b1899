/** Questions as surveys have them, and the attributes that they are perturbed as. */

import { RecordError, SurveyError } from "./errors.js";
import { membersOf } from "./members.js";
import { NumberRange } from "./number.js";
import { arranged, inLanguage } from "./texts.js";

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
  ["missing", "optional", "ask_if", "shuffle", "answers"],
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
 * @typedef {import("./texts.js").Text} Text
 * @typedef {Record<string, unknown> & {name: string, label?: Text, help?: Text, page?: Text}} Written
 */

/** One question with one answer, or one option of a question with several. */
export class Attribute {
  /**
   * @param {Written} written
   * @param {readonly string[]} languages Of the survey.
   * @param {{name: string, label: Text} | null} [question] What this is an option of.
   */
  constructor(written, languages, question = null) {
    const { name, label = "", help = "", page = "", missing = [] } = written;
    if (typeof name !== "string" || !NAME.test(name)) {
      throw new SurveyError("name: expected letters, digits, '_', '.' and '-'", "name");
    }
    this.name = name;
    this.question = question;
    this.label = arranged(label, languages);
    this.help = arranged(help, languages);
    this.page = arranged(page, languages);
    // Nothing but a plain false gives a protection up.
    this.sensitive = written.sensitive !== false;
    this.optional = written.optional === true;
    this.shuffle = written.shuffle === true;
    /** @type {ReadonlyMap<string, readonly string[]>} */
    this.askIf = new Map(conditions(name, written.ask_if));
    /** The numbers that are answers; null where these are the categories. */
    this.number = written.kind === "number" ? new NumberRange(written) : null;
    if (!isTexts(missing)) throw fault(name, "missing: expected categories");
    /** @type {readonly string[]} Categories that are no answer. */
    this.missing = unique(
      missing,
      this.optional ? [NO_ANSWER] : [],
      this.askIf.size > 0 ? [NOT_ASKED] : [],
    );
    const categories = this.number?.categories ?? written.categories;
    if (!isTexts(categories) || unique(categories).length < categories.length) {
      throw fault(name, "expected two or more different categories");
    }
    /** @type {readonly string[]} The possible answers; an answer's code is its position. */
    this.categories = unique(categories, this.missing);
    if (this.categories.length < 2) throw fault(name, "expected two or more different categories");
    /** @type {ReadonlyMap<string, Text>} What a form shows instead of a category. */
    this.answers = new Map(
      Object.entries(/** @type {Record<string, Text>} */ (written.answers ?? {})).map(
        ([category, text]) => [category, arranged(text, languages)],
      ),
    );
    Object.freeze(this);
  }

  /**
   * Its label, in the first of some languages that it is written in; that of an
   * option names its question too.
   *
   * @param {...string} languages
   */
  labelIn(...languages) {
    const { question } = this;
    const label = this.optionIn(...languages);
    if (!question) return label;
    return `${inLanguage(question.label || question.name, ...languages)} – ${label}`;
  }

  /**
   * The same below its question.
   *
   * @param {...string} languages
   */
  optionIn(...languages) {
    return inLanguage(this.label || this.option, ...languages);
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
    const code = typeof answer === "string" ? this.categories.indexOf(answer) : -1;
    const found = code < 0 && this.number !== null ? this.number.bin(answer) : code;
    if (found < 0) throw new RecordError(`'${this.name}': expected ${this.expected()}`, this.name);
    return found;
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
    const written = /** @type {Written} */ (membersOf(document, MEMBERS[kind], "attributes"));
    this.name = written.name;
    /** @type {string} */
    this.kind = kind;
    this.label = arranged(written.label ?? "", languages);
    this.help = arranged(written.help ?? "", languages);
    /** @type {readonly Attribute[]} */
    this.attributes =
      kind === "several"
        ? readOptions(written, languages)
        : [new Attribute(written, languages)];
    Object.freeze(this);
  }

  /** Title of the page that it is asked on, beside its neighbours of that title. */
  get page() {
    return this.attributes[0].page;
  }

  /** True if it may be left out. */
  get optional() {
    return this.attributes[0].optional;
  }

  /**
   * Its label.
   *
   * @param {...string} languages
   */
  labelIn(...languages) {
    return inLanguage(this.label || this.name, ...languages);
  }
}

/**
 * @param {Written} written
 * @param {readonly string[]} languages
 */
function readOptions({ options, label = "", help, ...common }, languages) {
  const { name } = common;
  const question = { name, label: arranged(label, languages) };
  if (!Array.isArray(options) || options.length === 0) {
    throw fault(name, "options: expected one or more");
  }
  return options.map((option) => {
    const own = /** @type {Written} */ (membersOf(option, ["name", "label"], "options"));
    const attribute = { ...common, ...own, name: `${name}.${own.name}`, kind: "choice" };
    return new Attribute({ ...attribute, categories: OPTION }, languages, question);
  });
}

/**
 * @param {string} name
 * @param {unknown} written
 * @returns {[string, readonly string[]][]}
 */
function conditions(name, written = {}) {
  const expected = fault(name, "ask_if: expected answers by attribute");
  if (typeof written !== "object" || written === null || Array.isArray(written)) throw expected;
  return Object.entries(written).map(([about, answers]) => {
    if (!isTexts(answers) || answers.length === 0) throw expected;
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

/**
 * @param {string} name
 * @param {string} said
 */
function fault(name, said) {
  return new SurveyError(`'${name}': ${said}`, name);
}

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
function isTexts(value) {
  return Array.isArray(value) && value.every((text) => typeof text === "string" && text !== "");
}
