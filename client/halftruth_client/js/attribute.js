/** Questions as surveys have them, and the attributes that they are perturbed as. */

import { RecordError, SurveyError } from "./errors.js";
import { NumberRange, readNumber } from "./number.js";
import { arranged, inLanguage, isText } from "./texts.js";

/** The category of who passes over an optional question. */
export const NO_ANSWER = "no answer";
/** The category of who is not asked, since an earlier answer does not call for it. */
export const NOT_ASKED = "not asked";
/** What is chosen of an option: it is not, or it is. */
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
 * @typedef {Record<string, unknown> & {name: string}} Written
 */

/** One question with one answer, or one option of a question with several. */
export class Attribute {
  /**
   * @param {Written} written
   * @param {readonly string[]} languages Of the survey.
   * @param {{name: string, label: Text} | null} [question] What this is an option of.
   */
  constructor(written, languages, question = null) {
    const { name, label = "", help = "", page = "" } = written;
    const kind = /** @type {string} */ (written.kind ?? "choice");
    const { sensitive = true, optional = false, ordered = false, shuffle = false } = written;
    if (!NAME.test(name)) {
      throw new SurveyError("name: expected letters, digits, '_', '.' and '-'", "name");
    }
    if (!isText(label) || !isText(help) || !isText(page)) {
      throw fault(name, "label, help and page: expected text, or text by language");
    }
    if (![sensitive, optional, ordered, shuffle].every((flag) => typeof flag === "boolean")) {
      throw fault(name, "sensitive, optional, ordered and shuffle: expected true or false");
    }
    this.name = name;
    this.kind = kind;
    this.question = question;
    this.label = arranged(label, languages);
    this.help = arranged(help, languages);
    this.page = arranged(page, languages);
    this.sensitive = sensitive === true;
    this.optional = optional === true;
    this.shuffle = shuffle === true;
    this.ordered = ordered === true || kind !== "choice";
    if (this.ordered && this.shuffle) throw fault(name, "shuffle: expected false in an order");
    /** @type {ReadonlyMap<string, readonly string[]>} */
    this.askIf = new Map(conditions(name, written.ask_if));
    /** The numbers that are answers; null where these are the categories. */
    this.number = kind === "number" ? readRange(written) : null;
    /** @type {readonly string[]} Categories that are no answer. */
    this.missing = withImplied(name, written.missing, this.optional, this.askIf.size > 0);
    if (this.number !== null && this.missing.some((category) => readNumber(category) !== null)) {
      throw fault(name, "missing: expected words, since a number would be an answer");
    }
    const categories = this.number?.categories ?? written.categories;
    if (!isTexts(categories)) throw fault(name, "expected two or more different categories");
    /** @type {readonly string[]} The possible answers; an answer's code is its position. */
    this.categories = categories.concat(this.missing.filter((c) => !categories.includes(c)));
    const different = new Set(this.categories).size === this.categories.length;
    const allMissing = this.categories.length === this.missing.length;
    if (this.categories.length < 2 || !different || allMissing) {
      throw fault(name, "expected two or more different categories");
    }
    const { items, answers = {} } = written;
    if (items != null && !(isTexts(items) && items.every((i) => this.categories.includes(i)))) {
      throw fault(name, "items: expected categories");
    }
    /** @type {ReadonlyMap<string, Text>} What a form shows instead of a category. */
    this.answers = new Map(readAnswers(this, answers, languages));
    Object.freeze(this);
  }

  /**
   * What people read as its name, in the first of some languages that it is written in; that of an
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

  /** What is taken as an answer, for messages. */
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
   * @param {Written} written
   * @param {readonly string[]} languages
   */
  constructor(written, languages) {
    const { name, kind = "choice", label = "", help = "" } = written;
    if (typeof name !== "string" || !NAME.test(name)) {
      throw new SurveyError("name: expected letters, digits, '_', '.' and '-'", "name");
    }
    const members = typeof kind === "string" && Object.hasOwn(MEMBERS, kind) && MEMBERS[kind];
    if (!members) throw fault(name, `kind: expected one of: ${Object.keys(MEMBERS).join(", ")}`);
    for (const member of Object.keys(written)) {
      if (!members.includes(member)) throw fault(name, `unknown member '${member}'`);
    }
    this.name = name;
    this.kind = /** @type {string} */ (kind);
    if (!isText(label) || !isText(help)) {
      throw fault(name, "label, help and page: expected text, or text by language");
    }
    this.label = arranged(label, languages);
    this.help = arranged(help, languages);
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

  /** Whether it may be passed over. */
  get optional() {
    return this.attributes[0].optional;
  }

  /**
   * What people read as its name.
   *
   * @param {...string} languages
   */
  labelIn(...languages) {
    return inLanguage(this.label || this.name, ...languages);
  }
}

/**
 * @param {unknown} written
 * @param {readonly string[]} languages
 * @returns {Question}
 */
export function readQuestion(written, languages) {
  if (typeof written !== "object" || written === null || Array.isArray(written)) {
    throw new SurveyError("attributes: expected objects", "attributes");
  }
  return new Question(/** @type {Written} */ (written), languages);
}

/**
 * @param {Written} written
 * @param {readonly string[]} languages
 */
function readOptions({ options, label, help, ...common }, languages) {
  const { name } = common;
  const question = { name, label: arranged(/** @type {Text} */ (label ?? ""), languages) };
  if (!Array.isArray(options) || options.length === 0) {
    throw fault(name, "options: expected one or more");
  }
  return options.map((option) => {
    const { name: own, label: said = "", ...more } = Object(option);
    if (typeof own !== "string" || Object.keys(more).length > 0) {
      throw fault(name, "options: expected a name and a label of each");
    }
    const attribute = { ...common, name: `${name}.${own}`, kind: "choice", label: said };
    return new Attribute({ ...attribute, categories: OPTION, items: ["yes"] }, languages, question);
  });
}

/** @param {Written} written */
function readRange({ name, minimum, maximum, step, whole }) {
  try {
    return new NumberRange({ minimum, maximum, step, whole });
  } catch (error) {
    if (error instanceof SurveyError) throw fault(name, error.message);
    throw error;
  }
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
 * @param {string} name
 * @param {unknown} written
 * @param {boolean} optional
 * @param {boolean} conditional
 */
function withImplied(name, written = [], optional, conditional) {
  if (!isTexts(written)) throw fault(name, "missing: expected categories");
  const implied = [
    { category: NO_ANSWER, applies: optional },
    { category: NOT_ASKED, applies: conditional },
  ];
  if (implied.some(({ category, applies }) => !applies && written.includes(category))) {
    throw fault(name, "missing: expected what its question can lack");
  }
  const added = implied.filter((i) => i.applies && !written.includes(i.category));
  return written.concat(added.map(({ category }) => category));
}

/**
 * @param {Attribute} attribute
 * @param {unknown} answers
 * @param {readonly string[]} languages
 * @returns {[string, Text][]}
 */
function readAnswers({ name, categories }, answers, languages) {
  const expected = fault(name, "answers: expected text by category");
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) throw expected;
  return Object.entries(answers).map(([category, text]) => {
    if (!categories.includes(category) || !isText(text) || !text) throw expected;
    return [category, arranged(text, languages)];
  });
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
