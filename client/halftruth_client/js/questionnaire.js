/** The questions of one respondent, and the answers so far. */

import { NO_ANSWER, NOT_ASKED } from "./attribute.js";
import { inLanguage } from "./documents.js";
import { decimals } from "./number.js";
import { randomBelow } from "./sampling.js";

/**
 * @import { Attribute, Question } from "./attribute.js"
 * @import { Line } from "./form/views.js"
 * @import { Wording } from "./form/wording.js"
 *
 * A question with the options that are asked, and the codes of its categories (or the indices of
 * these options) in the order shown.
 *
 * @typedef {{question: Question, attributes: readonly Attribute[], order: readonly number[]}} Asked
 */

/** Placeholder for an entered text that is not a number. */
export const NO_NUMBER = "?";

/**
 * The questions and their answers.
 *
 * If a changed answer means that a question is not asked any more, its answer is deleted.
 */
export class Questionnaire {
  /** @param {import("./schema.js").Schema} schema
   * @param {readonly string[]} [names] Attributes to ask; by default all.
   * @param {import("./sampling.js").RandomBelow} [below] For tests. */
  constructor(schema, names = schema.names, below = randomBelow()) {
    this.schema = schema;
    this.names = names;
    const needed = new Set(names);
    /** Random orders are drawn once, before the first answer.
     * @type {readonly Asked[]} */
    this.all = schema.questions.flatMap((question) => {
      const attributes = question.attributes.filter(({ name }) => needed.has(name));
      if (attributes.length === 0) return [];
      return [{ question, attributes, order: orderOf(question, attributes, below) }];
    });
    /** Category, or entered number, by attribute.
     * @type {Map<string, string>} */
    this.answers = new Map();
    /** Questions that share a page.
     * @type {readonly (readonly Asked[])[]} */
    this.groups = groupsOf(this.all);
  }

  /** Forget all answers. */
  clear() {
    this.answers.clear();
  }

  /** Set or delete answers; questions that are not asked any more lose their answers.
   * @param {Iterable<readonly [string, string | null]>} answers */
  set(answers) {
    for (const [name, answer] of answers) {
      if (answer === null) this.answers.delete(name);
      else this.answers.set(name, answer);
    }
    const asked = this.schema.askedAfter(this.answers);
    for (const name of [...this.answers.keys()]) if (!asked.has(name)) this.answers.delete(name);
  }

  /** Questions of a group that are asked, given the answers so far.
   * @type {(group: number) => Asked[]} */
  asked(group) {
    const names = this.schema.askedAfter(this.answers);
    return this.groups[group].filter(({ attributes }) => names.has(attributes[0].name));
  }

  /** Indices of the groups with questions that are asked, given the answers so far. */
  pages() {
    return this.groups.map((_, i) => i).filter((i) => this.asked(i).length > 0);
  }

  /** The problem with the answer to a question; null if the answer is valid.
   * @type {(asked: Asked) => "choose" | "several" | "number" | null} */
  problem({ question, attributes }) {
    const [{ name, number, categories }] = attributes;
    const answer = this.answers.get(name);
    if (answer === undefined) {
      if (question.optional) return null;
      return number !== null ? "number" : question.kind === "several" ? "several" : "choose";
    }
    if (number === null || categories.includes(answer)) return null;
    return number.bin(answer) < 0 ? "number" : null;
  }

  /** The answers as a record, without unasked and skipped questions. */
  record() {
    return Object.fromEntries(this.answers);
  }

  /** Questions and answers as text.
   * @type {(words: Wording) => Line[]} */
  lines(words) {
    return this.pages()
      .flatMap((group) => this.asked(group))
      .map((asked) => ({
        label: asked.question.labelIn(words.language),
        value: this.valueOf(asked, words),
      }));
  }

  /** @type {(asked: Asked, words: Wording) => string} */
  valueOf({ question, attributes }, words) {
    const [first] = attributes;
    const answer = this.answers.get(first.name);
    if (answer === undefined) return words.say("noAnswer");
    if (question.kind !== "several" || first.missing.includes(answer)) {
      return first.categories.includes(answer) ? words.answer(first, answer) : words.point(answer);
    }
    const chosen = attributes.filter(({ name }) => this.answers.get(name) === "yes");
    return chosen.map((option) => option.optionIn(words.language)).join(", ") || words.say("none");
  }
}

/** Missing categories that a form offers as answers.
 * @type {(attribute: Attribute) => string[]} */
export function offeredMissing({ missing, optional, askIf }) {
  return missing.filter(
    (category) =>
      !(optional && category === NO_ANSWER) && !(askIf.size > 0 && category === NOT_ASKED),
  );
}

/** @type {(range: import("./number.js").NumberRange, words: Wording) => Record<string, string>} */
export function rangeOf({ minimum, maximum }, words) {
  return { minimum: words.point(decimals(minimum)), maximum: words.point(decimals(maximum)) };
}

/** @type {(question: Question, attributes: readonly Attribute[], below: import("./sampling.js").RandomBelow) => number[]} */
function orderOf({ kind }, attributes, below) {
  const [{ categories, missing, shuffle }] = attributes;
  const shown = kind === "several" ? attributes : categories.filter((c) => !missing.includes(c));
  const order = shown.map((each, i) => (typeof each === "string" ? categories.indexOf(each) : i));
  if (!shuffle) return order;
  for (let i = order.length - 1; i > 0; i -= 1) {
    const j = Number(below(BigInt(i + 1)));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** @param {readonly Asked[]} all */
function groupsOf(all) {
  /** @type {Asked[][]} */
  const groups = [];
  const pageOf = (/** @type {Asked} */ asked) => inLanguage(asked.question.page);
  for (const asked of all) {
    const last = groups[groups.length - 1];
    if (last && pageOf(last[0]) === pageOf(asked)) last.push(asked);
    else groups.push([asked]);
  }
  return groups;
}
