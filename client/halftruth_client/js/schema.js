/** Schemas of surveys, and records as category codes. */

import { NO_ANSWER, NOT_ASKED, Question } from "./attribute.js";
import { RecordError, SurveyError } from "./errors.js";

/** Answers by attribute: a category, or a number for a numeric question. The answer to a
 * multiple-response question can be the list of chosen options, by the name of the question.
 * @typedef {Readonly<Record<string, string | number | readonly string[]>>} PersonRecord */

/** @typedef {{position: number, codes: ReadonlySet<number>}} Condition */

/** The attributes of a record, in order. */
export class Schema {
  /** @param {unknown} attributes Member of the survey document.
   * @param {readonly string[]} [languages] Languages of the survey. */
  constructor(attributes, languages = []) {
    if (!Array.isArray(attributes) || attributes.length === 0) {
      throw new SurveyError("attributes: expected one attribute or more", "attributes");
    }
    /** The questions as respondents see them. */
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
    /** For each attribute, the positions and codes in its condition. */
    this.conditions = this.attributes.map((attribute, j) => this.conditionsOf(attribute, j));
    /** Attributes with a condition, and attributes that a condition names. */
    this.conditional = new Set(
      this.attributes.flatMap(({ name, askIf }) => (askIf.size > 0 ? [name, ...askIf.keys()] : [])),
    );
    /** Positions of the options of each question that is perturbed as one set, with their largest number.
     * @type {readonly {name: string, atMost: number, positions: readonly number[]}[]} */
    this.sets = this.questions.flatMap(({ name, atMost, attributes }) => {
      const first = this.names.indexOf(attributes[0].name);
      return atMost === null ? [] : [{ name, atMost, positions: attributes.map((_, i) => first + i) }];
    });
    /** Number of possible records. */
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

  /** Some attributes and all attributes in their conditions, in order.
   * @param {readonly string[]} names */
  withConditions(names) {
    const needed = new Set(names.map((name) => this.positions.get(name)));
    for (let j = this.names.length - 1; j >= 0; j -= 1) {
      if (needed.has(j)) for (const { position } of this.conditions[j]) needed.add(position);
    }
    return this.names.filter((_, j) => needed.has(j));
  }

  /** An attribute and all attributes whose condition depends on it, directly or through attributes that
   * are not known. With `all`, all attributes that conditions connect with it.
   * @type {(name: string, known: ReadonlySet<string>, all?: boolean) => Set<string>} */
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

  /** Names of the attributes that are asked, given some answers, perhaps only the first ones.
   * @param {ReadonlyMap<string, string>} answers By attribute. */
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

  /** Codes of a record, which answers each attribute that is asked and not optional; NaN for attributes
   * without an answer. By default all attributes are asked.
   * @type {(record: PersonRecord, asked?: readonly string[]) => number[]}
   * @throws {RecordError} If the record is invalid; the message contains no answer. */
  encode(record, asked = this.names) {
    const known = new Set([...this.names, ...this.questions.map(({ name }) => name)]);
    const unknown = Object.keys(record).filter((key) => !known.has(key));
    if (unknown.length > 0) {
      // An unknown key can be a misplaced answer, so name only similar attributes.
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
    this.checkSets(codes);
    return codes;
  }

  /** @param {readonly number[]} codes */
  checkSets(codes) {
    for (const { name, atMost, positions } of this.sets) {
      const own = positions.map((j) => codes[j]).filter((code) => !Number.isNaN(code));
      if (own.some((code) => code > 1) && new Set(own).size > 1) {
        throw new RecordError(`'${name}': expected an answer to every option, or the same missing category of all`, name);
      }
      if (own.filter((code) => code === 1).length > atMost) {
        throw new RecordError(`'${name}': expected at most ${atMost} chosen options`, name);
      }
    }
  }

  /**
   * @param {import("./attribute.js").Attribute} attribute
   * @param {ReadonlyMap<string, unknown>} answers
   * @param {readonly number[]} codes Codes of all earlier attributes.
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

  /** The answers of a record, with lists of chosen options replaced by answers to each option.
   * @type {(record: PersonRecord) => Map<string, unknown>} */
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

/** A name without case, blanks and punctuation, to find similar names.
 * @type {(name: string) => string} */
function folded(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** The code of an answer; NaN if it is missing or not yet valid.
 * @type {(attribute: import("./attribute.js").Attribute, answer: string | undefined) => number} */
function codeSoFar(attribute, answer) {
  if (answer === undefined) return attribute.optional ? attribute.code(NO_ANSWER) : Number.NaN;
  try {
    return attribute.code(answer);
  } catch (error) {
    if (error instanceof RecordError) return Number.NaN;
    throw error;
  }
}
