/** Schemas, and records as category codes. */

import { NO_ANSWER, NOT_ASKED, Question } from "./attribute.js";
import { RecordError, SurveyError } from "./errors.js";

/**
 * Answers by attribute: a category or, of a number, the number; those to a question with several
 * answers may be one list of the options chosen, by the name of the question.
 *
 * @typedef {Readonly<Record<string, string | number | readonly string[]>>} PersonRecord
 */

/** @typedef {{position: number, codes: ReadonlySet<number>}} Condition */

/** The attributes of a record, in order. */
export class Schema {
  /**
   * @param {unknown} attributes As a published survey has them.
   * @param {readonly string[]} [languages] Of the survey.
   */
  constructor(attributes, languages = []) {
    if (!Array.isArray(attributes) || attributes.length === 0) {
      throw new SurveyError("attributes: expected one attribute or more", "attributes");
    }
    /** The questions as people see them. */
    this.questions = attributes.map((document) => new Question(document, languages));
    /** @type {readonly import("./attribute.js").Attribute[]} */
    this.attributes = this.questions.flatMap((question) => question.attributes);
    this.names = this.attributes.map((attribute) => attribute.name);
    this.shape = this.attributes.map((attribute) => BigInt(attribute.categories.length));
    const all = new Set([...this.names, ...this.questions.map(({ name }) => name)]);
    const several = this.questions.filter(({ kind }) => kind === "several");
    if (all.size < this.names.length + several.length) {
      throw new SurveyError("attributes: expected different names", "attributes");
    }
    this.positions = new Map(this.names.map((name, j) => [name, j]));
    /** Of each attribute, the positions and codes that it is asked after. */
    this.conditions = this.attributes.map((attribute, j) => this.conditionsOf(attribute, j));
    /** Attributes with a condition, and those named in one. */
    this.conditional = new Set(
      this.attributes.flatMap(({ name, askIf }) => (askIf.size > 0 ? [name, ...askIf.keys()] : [])),
    );
    /** Number of different records. */
    this.size = this.shape.reduce((product, size) => product * size, 1n);
  }

  /** @type {(attribute: import("./attribute.js").Attribute, j: number) => Condition[]} */
  conditionsOf({ name, askIf }, j) {
    return [...askIf].map(([about, answers]) => {
      const i = this.positions.get(about) ?? j;
      const codes = i < j ? answers.map((a) => this.attributes[i].categories.indexOf(a)) : [-1];
      if (codes.includes(-1)) {
        throw new SurveyError(`'${name}': ask_if: expected answers to earlier attributes`, name);
      }
      return { position: i, codes: new Set(codes) };
    });
  }

  /**
   * Some attributes and all that these are asked after, in order.
   *
   * @param {readonly string[]} names
   */
  withConditions(names) {
    const needed = new Set(names.map((name) => this.positions.get(name)));
    for (let j = this.names.length - 1; j >= 0; j -= 1) {
      if (needed.has(j)) for (const { position } of this.conditions[j]) needed.add(position);
    }
    return this.names.filter((_, j) => needed.has(j));
  }

  /**
   * An attribute and those asked after it, directly or over others that are not known: its answer
   * says of each whether it was asked. With `all`, every one that conditions connect with it.
   *
   * @param {string} name
   * @param {ReadonlySet<string>} known
   * @param {boolean} [all]
   */
  related(name, known, all = false) {
    const related = new Set([name]);
    for (let before = 0; before < related.size; ) {
      before = related.size;
      for (const { name: own, askIf } of this.attributes) {
        const both = [own, ...askIf.keys()];
        if (!both.some((each, i) => (all || i > 0) && related.has(each))) continue;
        for (const each of all ? both : [own]) if (!known.has(each)) related.add(each);
      }
    }
    return related;
  }

  /**
   * Names of the attributes that are asked after some answers, which may be the first ones only.
   *
   * @param {ReadonlyMap<string, string>} answers By attribute.
   */
  askedAfter(answers) {
    /** @type {number[]} */
    const codes = [];
    const asked = this.names.filter((name, j) => {
      const attribute = this.attributes[j];
      const applies = this.conditions[j].every((each) => each.codes.has(codes[each.position]));
      codes.push(applies ? codeSoFar(attribute, answers.get(name)) : attribute.code(NOT_ASKED));
      return applies;
    });
    return new Set(asked);
  }

  /**
   * Codes of a record.
   *
   * @param {PersonRecord} record
   *   An answer for each attribute but those that are optional or not asked of such a person.
   * @param {readonly string[]} [asked] Those that a report is about; by default all.
   * @returns {number[]} NaN where there is no answer, so that nothing can be made of it.
   * @throws {RecordError} That names the attribute and never the answer.
   */
  encode(record, asked = this.names) {
    const known = new Set([...this.names, ...this.questions.map(({ name }) => name)]);
    const unknown = Object.keys(record).filter((key) => !known.has(key));
    if (unknown.length > 0) {
      // An unknown key may be an answer in the wrong place: only what it may have meant is named.
      const meant = [...known].filter((name) => unknown.some((key) => folded(key) === folded(name)));
      const perhaps = meant.length > 0 ? `, perhaps ${meant.join(", ")}` : "";
      throw new RecordError(
        `record: ${unknown.length} unknown attribute(s)${perhaps}; expected only: ${this.names.join(", ")}`,
      );
    }
    const answers = this.byAttribute(record);
    const needed = new Set(this.withConditions(asked));
    /** @type {number[]} */
    const codes = [];
    this.attributes.forEach((attribute, j) => {
      codes.push(this.codeOf(attribute, answers, codes, needed.has(this.names[j])));
    });
    return codes;
  }

  /**
   * @param {import("./attribute.js").Attribute} attribute
   * @param {ReadonlyMap<string, unknown>} answers
   * @param {readonly number[]} codes Those of all earlier attributes.
   * @param {boolean} needed
   */
  codeOf(attribute, answers, codes, needed) {
    const { name, askIf, categories } = attribute;
    const isAnswered = answers.has(name);
    const conditions = this.conditions[codes.length];
    const isOpen = conditions.some(({ position }) => Number.isNaN(codes[position]));
    if (!needed && (!isAnswered || isOpen)) {
      if (isAnswered) attribute.code(answers.get(name));
      return Number.NaN;
    }
    if (!conditions.every(({ position, codes: wanted }) => wanted.has(codes[position]))) {
      if (isAnswered && answers.get(name) !== NOT_ASKED) {
        throw new RecordError(`'${name}': not asked after the earlier answers; leave it out`, name);
      }
      return attribute.code(NOT_ASKED);
    }
    if (!isAnswered) {
      if (attribute.optional) return attribute.code(NO_ANSWER);
      throw new RecordError(`'${name}': missing; expected ${attribute.expected()}`, name);
    }
    const code = attribute.code(answers.get(name));
    if (askIf.size > 0 && categories[code] === NOT_ASKED) {
      throw new RecordError(`'${name}': asked after the earlier answers`, name);
    }
    return code;
  }

  /**
   * The answers of a record, those to each option instead of lists of them.
   *
   * @param {PersonRecord} record
   * @returns {Map<string, unknown>}
   */
  byAttribute(record) {
    /** @type {Map<string, unknown>} */
    const answers = new Map(Object.entries(record));
    for (const { name, kind, attributes } of this.questions) {
      if (kind !== "several" || !answers.has(name)) continue;
      const chosen = answers.get(name);
      answers.delete(name);
      if (attributes.some((option) => answers.has(option.name))) {
        throw new RecordError(`'${name}': expected a list or answers to each option`, name);
      }
      const options = attributes.map(({ option }) => option);
      const isMissing = typeof chosen === "string" && attributes[0].missing.includes(chosen);
      const isList = Array.isArray(chosen) && chosen.every((option) => options.includes(option));
      if (!isMissing && !isList) {
        throw new RecordError(`'${name}': expected a list of: ${options.join(", ")}`, name);
      }
      attributes.forEach((option, i) => {
        const answer = isList && chosen.includes(options[i]) ? "yes" : "no";
        answers.set(option.name, isMissing ? chosen : answer);
      });
    }
    return answers;
  }
}

/**
 * A name without case, blanks and marks, which are easily written in another way.
 *
 * @param {string} name
 */
function folded(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/**
 * The code of what may be no answer yet: NaN then.
 *
 * @param {import("./attribute.js").Attribute} attribute
 * @param {string | undefined} answer
 */
function codeSoFar(attribute, answer) {
  if (answer === undefined) return attribute.optional ? attribute.code(NO_ANSWER) : Number.NaN;
  try {
    return attribute.code(answer);
  } catch (error) {
    if (error instanceof RecordError) return Number.NaN;
    throw error;
  }
}
