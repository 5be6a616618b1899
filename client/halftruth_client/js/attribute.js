/** Questions of a survey, and their attributes, the units of perturbation. */

import { inLanguage, membersOf, readText } from "./documents.js";
import { RecordError, SurveyError } from "./errors.js";
import { NumberRange } from "./number.js";

/** Category for respondents who skip an optional question. */
export const NO_ANSWER = "no answer";
/** Category for respondents who are not asked because of an earlier answer. */
export const NOT_ASKED = "not asked";
/** Categories of an option: not chosen, chosen. */
const OPTION = ["no", "yes"];

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const CHOICE = ["categories", "items", "ordered", "collapsed"];
const NUMBER = ["minimum", "maximum", "step", "whole", "items", "ordered", "collapsed"];
const COMMON = ["name", "kind", "sensitive", "label", "help", "page"].concat(
  ["missing", "optional", "ask_if", "shuffle", "answers", "short", "short_answers"],
);

/** Members of each kind of question.
 * @type {Record<string, readonly string[]>} */
const MEMBERS = {
  choice: [...COMMON, ...CHOICE],
  scale: [...COMMON, ...CHOICE],
  number: [...COMMON, ...NUMBER],
  several: [...COMMON, "options", "at_most"],
};

/**
 * @import { Text } from "./documents.js"
 * @typedef {Record<string, unknown> & {name: string}} Members
 *
 * Groups of answers: their names, and the code of the group of each answer.
 *
 * @typedef {{names: readonly string[], codes: readonly number[]}} Groups
 */

/** A question with a single answer, or one option of a multiple-response question. */
export class Attribute {
  /** @param {Members} members
   * @param {readonly string[]} languages Languages of the survey.
   * @param {{name: string, label: Text, atMost?: number | null} | null} [question] The question of which this is an option. */
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
    // Only results use the short texts: here they are only validated.
    readText(members.short, languages, `'${name}': short`);
    for (const text of Object.values(Object(members.short_answers))) {
      readText(text, languages, `'${name}': short_answers`);
    }
    // Only an explicit false turns the protection off.
    this.sensitive = members.sensitive !== false;
    this.optional = members.optional === true;
    this.shuffle = members.shuffle === true;
    /** @type {ReadonlyMap<string, readonly string[]>} */
    this.askIf = new Map(readConditions(name, members.ask_if));
    /** Range of a numeric question; null for other questions. */
    this.number = members.kind === "number" ? new NumberRange(members) : null;
    if (!isTexts(missing)) throw fault(name, "missing: expected categories");
    /** Categories for missing answers.
     * @type {readonly string[]} */
    this.missing = unique(
      missing,
      this.optional ? [NO_ANSWER] : [],
      this.askIf.size > 0 ? [NOT_ASKED] : [],
    );
    const categories = this.number?.categories ?? members.categories;
    if (!isTexts(categories) || unique(categories).length < categories.length) {
      throw fault(name, "expected two or more different categories");
    }
    /** The possible answers; the code of an answer is its index.
     * @type {readonly string[]} */
    this.categories = unique(categories, this.missing);
    if (this.categories.length < 2) throw fault(name, "expected two or more different categories");
    const isOrdered = members.ordered === true || (members.kind ?? "choice") !== "choice";
    /** Groups of its answers in reports about several questions; null if these have its answers.
     * @type {Groups | null} */
    this.groups = members.collapsed === undefined ? null : this.readGroups(members.collapsed, isOrdered);
    /** Labels of categories, and of groups, in a form.
     * @type {ReadonlyMap<string, Text>} */
    this.answers = new Map(
      Object.entries(Object(answers)).map(([category, text]) => [
        category,
        readText(text, languages, `'${name}': answers`),
      ]),
    );
    Object.freeze(this);
  }

  /** Read a partition of the categories, whose groups are in the order of their first answers.
   * @type {(written: unknown, isOrdered: boolean) => Groups} */
  readGroups(written, isOrdered) {
    const { categories, missing } = this;
    const groups = Object.entries(Object(written));
    const owners = categories.map((category) => groups.findIndex(([, answers]) => answers?.includes?.(category)));
    const order = [...new Set(owners)];
    const valid = owners.filter((_, code) => !missing.includes(categories[code]));
    const rest = new Set(valid).size;
    const isPartition =
      !order.includes(-1) &&
      groups.every(([, answers]) => isTexts(answers)) &&
      groups.flatMap(([, answers]) => answers).length === categories.length &&
      order.length === groups.length;
    const fits =
      isPartition &&
      rest + missing.length === groups.length &&
      groups.every(([name, [first, ...more]]) => !categories.includes(name) || (first === name && more.length === 0));
    const isInOrder = !isOrdered || valid.filter((owner, i) => owner !== valid[i - 1]).length === rest;
    if (!fits || !isInOrder || rest < 2 || rest >= valid.length) {
      throw fault(this.name, "collapsed: expected two or more groups of all answers");
    }
    return { names: order.map((owner) => groups[owner][0]), codes: owners.map((owner) => order.indexOf(owner)) };
  }

  /** The label; that of an option includes the label of its question.
   * @type {(language?: string) => string} */
  labelIn(language) {
    const { question } = this;
    const label = this.optionIn(language);
    if (!question) return label;
    return `${inLanguage(question.label || question.name, language)} – ${label}`;
  }

  /** The label; for an option, without that of its question.
   * @type {(language?: string) => string} */
  optionIn(language) {
    return inLanguage(this.label || this.option, language);
  }

  /** Name of the option; for other attributes, the name. */
  get option() {
    return this.question ? this.name.slice(this.question.name.length + 1) : this.name;
  }

  /** The code of an answer: a category, or a number for a numeric question.
   * @type {(answer: unknown) => number}
   * @throws {RecordError} If the answer is invalid; the message does not contain it. */
  code(answer) {
    let code = typeof answer === "string" ? this.categories.indexOf(answer) : -1;
    if (code < 0 && this.number !== null) code = this.number.bin(answer);
    if (code < 0) throw new RecordError(`'${this.name}': expected ${this.expected()}`, this.name);
    return code;
  }

  /** Description of the accepted answers, for messages. */
  expected() {
    const asked = (/** @type {string} */ c) => this.askIf.size === 0 || c !== NOT_ASKED;
    if (this.number === null) return `one of: ${this.categories.filter(asked).join(", ")}`;
    const missing = this.missing.filter(asked).join(", ");
    return missing ? `${this.number}, or one of: ${missing}` : `${this.number}`;
  }
}

/** A question as respondents see it: an attribute, or all options of a multiple-response question. */
export class Question {
  /** @param {unknown} document The question in the survey document.
   * @param {readonly string[]} languages */
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
    /** Largest number of options of a question that is perturbed as one set; null for others. */
    this.atMost = readMost(members);
    /** @type {readonly Attribute[]} */
    this.attributes =
      kind === "several"
        ? readOptions(members, this.label, languages)
        : [new Attribute(members, languages)];
    Object.freeze(this);
  }

  /** Title of the page; neighbouring questions with the same title share a page. */
  get page() {
    return this.attributes[0].page;
  }

  get help() {
    return this.attributes[0].help;
  }

  /** True if the question can be skipped. */
  get optional() {
    return this.attributes[0].optional;
  }

  /** @param {string} [language] */
  labelIn(language) {
    return inLanguage(this.label || this.name, language);
  }
}

/** @type {(members: Members, label: Text, languages: readonly string[]) => Attribute[]} */
function readOptions({ options, at_most: most, label: _, ...common }, label, languages) {
  const { name } = common;
  const question = { name, label, atMost: readMost({ name, options, at_most: most }) };
  if (!Array.isArray(options) || options.length === 0) {
    throw fault(name, "options: expected one or more");
  }
  return options.map((option) => {
    const own = /** @type {Members} */ (membersOf(option, ["name", "label", "short"], "options"));
    const attribute = { ...common, ...own, name: `${name}.${own.name}`, kind: "choice" };
    return new Attribute({ ...attribute, categories: OPTION }, languages, question);
  });
}

/** @param {Members} members */
function readMost({ name, options, at_most: most = null }) {
  const all = Array.isArray(options) ? options.length : 0;
  if (most !== null && !(Number.isInteger(most) && Number(most) >= 1 && Number(most) <= all)) {
    throw fault(name, "at_most: expected an integer from 1 to the number of options");
  }
  return most === null ? null : Number(most);
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

/** Items of several lists, each once.
 * @type {(...categories: (readonly string[])[]) => readonly string[]} */
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
