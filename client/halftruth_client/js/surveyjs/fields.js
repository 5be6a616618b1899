/** Mapping between the questions of a SurveyJS model and the attributes of a survey. */

import { ParameterError } from "../errors.js";
import { rangeOf } from "../questionnaire.js";

/**
 * @import { Attribute } from "../attribute.js"
 * @import { Questionnaire } from "../questionnaire.js"
 *
 * Attributes by key in the SurveyJS form: a question `smoker`, an option `symptoms[cough]` or a row
 * `mood.morning`. An entry has the name of the attribute and its answers by SurveyJS value; those
 * of numeric questions are missing.
 *
 * @typedef {{readonly name: string, readonly answers: Readonly<Record<string, string>>}} Entry
 * @typedef {Readonly<Record<string, Entry>>} Names
 *
 * A question of SurveyJS with its parts, one for each attribute: its options or rows, or the
 * question itself.
 *
 * @typedef {Entry & {item: any, attribute: Attribute}} Part
 * @typedef {{question: any, type: string, parts: readonly Part[]}} Field
 */

/** Types of elements without an answer. */
const READ = ["html", "image", "expression"];

/** Conditions and limits of the SurveyJS form to disable: those of the survey apply instead. */
const OFF = Object.entries({
  ...{ visibleIf: "", enableIf: "", requiredIf: "", resetValueIf: "", setValueIf: "" },
  ...{ choicesVisibleIf: "", choicesEnableIf: "", rowsVisibleIf: "", columnsVisibleIf: "" },
  ...{ minSelectedChoices: 0, maxSelectedChoices: 0, showSelectAllItem: false, readOnly: false },
  ...{ showCommentArea: false, validators: [] },
});

export class Fields {
  /** Fields that are asked in this browser, by question.
   * @type {Map<any, Field>} */
  #fields = new Map();

  /**
   * Check the map, and then reduce a model to the questions that are asked in this browser.
   *
   * @param {any} model
   * @param {Names} map
   * @param {import("../schema.js").Schema} schema
   * @param {readonly string[]} asked
   * @throws {ParameterError} If the map does not fit the model or the survey. The model is
   * unchanged then.
   */
  constructor(model, map, schema, asked) {
    if (Object(map) !== map) throw wrong("expected names and values");
    const attributes = new Map(schema.attributes.map((attribute) => [attribute.name, attribute]));
    /** @type {Field[]} */
    const fields = model.getAllQuestions().map((/** @type {any} */ q) => fieldOf(q, map, attributes));
    for (const { parts } of fields) for (const { name } of parts) attributes.delete(name);
    const [missing] = attributes.keys();
    if (missing !== undefined) throw wrong(`expected a question of the model for '${missing}'`);
    for (const container of [...model.pages, ...model.getAllPanels()]) {
      switchOff(container);
      Object.assign(container, { isRequired: false, visible: true });
    }
    for (const { question, type, parts } of fields) {
      if (READ.includes(type)) continue;
      switchOff(question);
      question.visible = false;
      const drawn = parts.filter(({ name }) => asked.includes(name));
      if (drawn.length > 0) this.#fields.set(question, offered({ question, type, parts: drawn }));
    }
  }

  /** Copy the answers to the questionnaire, and show the questions whose conditions they satisfy.
   * @param {Questionnaire} questionnaire */
  update(questionnaire) {
    const fields = [...this.#fields.values()];
    const answers = fields.flatMap((field) => field.parts.map((part) => answerOf(field, part)));
    questionnaire.set(answers.map(([name, answer]) => [name, answer ?? null]));
    const names = questionnaire.schema.askedAfter(questionnaire.answers);
    for (const { question, parts } of fields) question.visible = names.has(parts[0].name);
  }

  /** Error message about an invalid answer; empty if the answer is valid or missing.
   * @type {(question: any, words: import("../form/wording.js").Wording) => string} */
  problem(question, words) {
    const field = this.#fields.get(question);
    for (const part of field?.parts ?? []) {
      const [, answer] = answerOf(/** @type {Field} */ (field), part);
      const { number } = part.attribute;
      if (answer === undefined) return words.say("missing");
      if (number === null || answer === null || number.bin(answer) >= 0) continue;
      return words.say(number.whole ? "missingWhole" : "missingNumber", rangeOf(number, words));
    }
    return "";
  }
}

/** @type {(question: any, map: Names, attributes: ReadonlyMap<string, Attribute>) => Field} */
function fieldOf(question, map, attributes) {
  const { name, rows, choices = [] } = question;
  const type = question.getType();
  /** @type {[key: string, item: any][]} */
  let places = [...choices, ...more(question, ["other"])].map((item) => [`${name}[${item.value}]`, item]);
  if (Object.hasOwn(map, name)) places = [[name, null]];
  else if (type === "matrix") places = rows.map((/** @type {any} */ row) => [`${name}.${row.value}`, row]);
  if (!places.some(([key]) => Object.hasOwn(map, key))) return { question, type, parts: [] };
  const parts = places.map(([key, item]) => {
    const attribute = Object.hasOwn(map, key) ? attributes.get(map[key].name) : undefined;
    if (attribute === undefined) throw wrong(`expected a question of the survey for '${key}'`);
    const { answers = {} } = map[key];
    const values = attribute.number === null ? valuesOf(question, type, item) : [];
    const value = values.find((each) => !attribute.categories.includes(answers[each]));
    if (value !== undefined) throw wrong(`expected an answer of the survey for '${value}' of '${key}'`);
    return { name: attribute.name, answers, item, attribute };
  });
  if (new Set(parts.map(({ attribute }) => JSON.stringify([...attribute.askIf]))).size > 1) {
    throw wrong(`expected one ask_if for all of '${name}', which is shown at once`);
  }
  return { question, type, parts };
}

/** The possible values of a question; for one option, its value and the values for missing answers.
 * @type {(question: any, type: string, item: any) => readonly string[]} */
function valuesOf(question, type, item) {
  const { valueFalse = false, valueTrue = true, columns, choices } = question;
  if (type === "boolean") return [String(valueFalse), String(valueTrue)];
  const names = ["none", "refuse", "dontKnow"];
  if (type === "rating") return ratesOf(question);
  let items = [...(choices ?? []), ...more(question, ["other"])];
  if (type === "matrix") items = columns;
  else if (item !== null) items = [item];
  return [...items, ...more(question, names)].map(({ value }) => String(value));
}

/** Values of a rating, listed or by minimum, maximum and step.
 * @type {(rating: any) => readonly string[]} */
function ratesOf({ autoGenerate, rateValues, rateMin, rateMax, rateStep }) {
  const listed = rateValues.map((/** @type {any} */ { value }) => String(value));
  if (listed.length > 0 && autoGenerate !== true) return listed;
  const count = Math.floor((rateMax - rateMin) / rateStep) + 1;
  return Array.from({ length: count }, (_, i) => String(rateMin + i * rateStep));
}

/** Special items of a question that are enabled, such as `other` or `none`.
 * @type {(question: any, names: readonly string[]) => readonly any[]} */
function more(question, names) {
  const shown = names.filter((name) => question[`show${name[0].toUpperCase()}${name.slice(1)}Item`]);
  return shown.map((name) => question[`${name}Item`]);
}

/** @param {any} element */
function switchOff(element) {
  for (const [member, value] of OFF) if (member in element) element[member] = value;
}

/** Reduce a question to the parts that are asked, without a text field for other answers.
 * @type {(field: Field) => Field} */
function offered(field) {
  const { question, type, parts } = field;
  const isRequired = parts.some(({ attribute }) => !attribute.optional);
  const items = parts.map(({ item }) => item);
  const isWhole = items[0] === null;
  if (type === "matrix") Object.assign(question, { eachRowRequired: isRequired, rows: items });
  else question.isRequired = isRequired;
  if (question.choices === undefined) return field;
  const most = parts[0].attribute.question?.atMost ?? null;
  if (most !== null && "maxSelectedChoices" in question) question.maxSelectedChoices = most;
  const [other] = more(question, ["other"]).filter((item) => isWhole || items.includes(item));
  question.choices = isWhole ? question.choices : items.filter((item) => item !== question.otherItem);
  if (other) {
    question.choices = [...question.choices, { value: other.value, text: other.text }];
  }
  question.showOtherItem = false;
  for (const item of question.choices) switchOff(item);
  return field;
}

/** The answer to an attribute: null if it is missing, undefined if its value is not in the map.
 * @type {(field: Field, part: Part) => [string, string | null | undefined]} */
function answerOf({ question, type }, { name, answers, item, attribute }) {
  const isSeveral = type !== "matrix" && item !== null;
  const value = type === "matrix" ? question.value?.[item.value] : question.value;
  if (value === undefined || value === null || value === "" || value.length === 0) return [name, null];
  if (attribute.number !== null) return [name, String(value)];
  if (!isSeveral) return [name, answers[String(value)]];
  const chosen = value.map(String).find((/** @type {string} */ each) => Object.hasOwn(answers, each));
  return [name, chosen === undefined ? "no" : answers[chosen]];
}

/** @param {string} why */
function wrong(why) {
  return new ParameterError(`map: ${why}`, "map");
}
