/** Controls for each kind of question. */

import { NO_NUMBER, offeredMissing, rangeOf } from "../questionnaire.js";
import { readNumber } from "./numbers.js";
import { element, surveyText } from "./views.js";

/** Largest number of categories that are shown as radio buttons; more are shown as a select. */
const FEW = 7;

/** Largest number of characters of answers side by side: of two answers, and of a scale. */
const SHORT = 14;
const TINY = 4;

/**
 * @typedef {import("../questionnaire.js").Asked} Asked
 * @typedef {Iterable<readonly [string, string | null]>} Changes Answers by attribute; null deletes
 * one.
 *
 * Parameters of a control.
 *
 * @typedef {object} Making
 * @property {Asked} asked
 * @property {string} id
 *   Id of the control, not derived from the name, which could end like the id of another element.
 * @property {import("../questionnaire.js").Questionnaire} questionnaire
 * @property {import("./wording.js").Wording} words
 * @property {(changes: Changes) => void} change
 */

/** The controls of a question, below its text.
 * @type {(making: Making) => HTMLElement[]} */
export function controls(making) {
  const { question, attributes } = making.asked;
  const made = new Controls(making);
  if (question.kind === "several") return made.several();
  if (attributes[0].number !== null) return made.number(attributes[0].number);
  if (question.kind === "scale") return made.scale();
  return isList(making.asked) ? made.list() : made.choice();
}

/** True for a question with a single control, which has the text of the question as label.
 * @type {(asked: Asked) => boolean} */
export function isOneControl(asked) {
  return isList(asked) || asked.attributes[0].number !== null;
}

/** @param {Asked} asked */
function isList({ question, attributes }) {
  return question.kind === "choice" && attributes[0].categories.length > FEW;
}

class Controls {
  /** @param {Making} making */
  constructor({ asked, id, questionnaire, words, change }) {
    this.attribute = asked.attributes[0];
    this.asked = asked;
    this.id = id;
    this.answers = questionnaire.answers;
    this.answer = this.answers.get(this.attribute.name);
    this.order = asked.order;
    this.words = words;
    this.texts = words.answers(this.attribute);
    /** Missing categories, which are shown apart from the answers. */
    this.missing = offeredMissing(this.attribute);
    this.change = change;
  }

  choice() {
    const { order, texts, words } = this;
    const isShort = order.length === 2 && order.every((code) => texts[code].length <= SHORT);
    const radios = order.map((code) => this.radio(code, surveyText(texts[code], words)));
    return [
      element("div", { class: isShort ? "options two" : "options" }, ...radios),
      ...this.missingRadios(),
    ];
  }

  scale() {
    const { attribute, order, texts, words } = this;
    const { categories } = attribute;
    // If the categories are as short as numbers, show their labels below the scale.
    const isTiny = order.every((code) => categories[code].length <= TINY);
    const meaning = order.filter((code) => isTiny && texts[code] !== categories[code]);
    const meaningOf = (/** @type {number} */ code) =>
      texts[code].startsWith(`${categories[code]} `)
        ? texts[code]
        : `${categories[code]}: ${texts[code]}`;
    const radios = order.map((code) => {
      const label = this.radio(code, isTiny ? categories[code] : surveyText(texts[code], words));
      if (meaning.includes(code)) inputOf(label).setAttribute("aria-label", meaningOf(code));
      return label;
    });
    const ends = meaning.map((code) => element("span", {}, surveyText(meaningOf(code), words)));
    return [
      element("div", { class: isTiny ? "scale tiny" : "scale" }, ...radios),
      ...(ends.length > 0 ? [element("p", { class: "ends", "aria-hidden": "true" }, ...ends)] : []),
      ...this.missingRadios(),
    ];
  }

  list() {
    const { id, answer, missing, order, texts, words } = this;
    const { name, categories, optional } = this.attribute;
    const change = (/** @type {Event} */ event) => {
      const { value } = /** @type {HTMLSelectElement} */ (event.target);
      this.change([[name, value || null]]);
    };
    const codes = [...order, ...missing.map((category) => categories.indexOf(category))];
    const lang = words.isForeign && words.language;
    return [
      element(
        "select",
        { id, name, required: !optional, change },
        element(
          "option",
          { value: "", disabled: !optional, selected: answer === undefined },
          words.say(optional ? "noAnswer" : "choose"),
        ),
        ...codes.map((code) => {
          const value = categories[code];
          return element("option", { value, lang, selected: answer === value }, texts[code]);
        }),
      ),
    ];
  }

  /** @param {import("../number.js").NumberRange} range */
  number(range) {
    const { id, answer = "", words } = this;
    const { name, categories, optional } = this.attribute;
    const isNumber = !categories.includes(answer) && answer !== NO_NUMBER;
    const readAs = element("output", { for: id, class: "help", id: `${id}-read` });
    const showReading = (/** @type {string | null} */ number) => {
      const isAnswer = number !== null && range.bin(number) >= 0;
      readAs.textContent = isAnswer ? words.say("readAs", { number: words.point(number) }) : "";
    };
    const field = /** @type {HTMLInputElement} */ (
      element("input", {
        // Number fields of browsers misread some notations.
        ...{ type: "text", class: "number", autocomplete: "off" },
        id,
        name,
        value: isNumber ? words.point(answer) : "",
        // Numeric keyboards of phones have no minus sign and, on some, no decimal sign.
        inputmode: range.minimum.sign() < 0 ? "text" : range.whole ? "numeric" : "decimal",
        required: !optional,
        // Update on every input: after leaving the field, the target of a click could move.
        input: () => {
          for (const other of others) inputOf(other).checked = false;
          const number = readNumber(field.value, words.locale);
          showReading(number);
          this.change([[name, field.value.trim() === "" ? null : (number ?? NO_NUMBER)]]);
        },
      })
    );
    showReading(isNumber ? answer : null);
    const others = this.missing.map((category) =>
      this.tick(`${name}-missing`, category, this.textOf(category), answer === category, (box) => {
        field.value = "";
        showReading(null);
        for (const other of others.map(inputOf)) if (other !== box) other.checked = false;
        this.change([[name, box.checked ? category : null]]);
      }),
    );
    const hint = words.say(range.whole ? "wholeNumber" : "number", rangeOf(range, words));
    return [
      element("p", { class: "help", id: `${id}-hint` }, hint),
      field,
      readAs,
      ...(others.length > 0 ? [element("div", { class: "options apart" }, ...others)] : []),
    ];
  }

  several() {
    const { answer, answers, id, words } = this;
    const { question, attributes } = this.asked;
    const boxes = () => [...options, ...apart].map(inputOf);
    const most = question.atMost ?? attributes.length;
    const full = element("p", { class: "help", role: "status" });
    // As many options as can be chosen: no other can be added before one is removed.
    const limit = () => {
      const inputs = options.map(inputOf);
      const isFull = question.atMost !== null && inputs.filter(({ checked }) => checked).length >= most;
      for (const input of inputs) input.disabled = isFull && !input.checked;
      const text = isFull && most < options.length ? words.say("severalFull", { most }) : "";
      if (full.textContent !== text) full.textContent = text;
    };
    const settle = (/** @type {HTMLInputElement} */ box) => {
      const alone = apart.map(inputOf);
      for (const other of boxes()) {
        const excludes = alone.includes(box) || alone.includes(other);
        if (other !== box && box.checked && excludes) other.checked = false;
      }
      const ticked = boxes().filter(({ checked }) => checked);
      const instead = ticked.find((other) => alone.includes(other))?.value;
      const chosen = new Set(ticked.map(({ value }) => value));
      limit();
      this.change(
        attributes.map(({ name }) => [
          name,
          chosen.size === 0 ? null : (instead ?? (chosen.has(name) ? "yes" : "no")),
        ]),
      );
    };
    const options = this.order.map((i) => {
      const option = attributes[i];
      const text = surveyText(option.optionIn(words.language), words);
      return this.tick(question.name, option.name, text, answers.get(option.name) === "yes", settle);
    });
    const isNone = attributes.every(({ name }) => answers.get(name) === "no");
    const apart = [
      this.tick(question.name, "no", words.say("none"), isNone, settle),
      ...this.missing.map((category) =>
        this.tick(question.name, category, this.textOf(category), answer === category, settle),
      ),
    ];
    limit();
    const hint = question.atMost === null ? words.say("severalHint") : words.say("severalAtMost", { most });
    return [
      element("p", { class: "help", id: `${id}-hint` }, hint),
      element("div", { class: "options" }, ...options),
      ...(question.atMost === null ? [] : [full]),
      element("div", { class: "options apart" }, ...apart),
    ];
  }

  missingRadios() {
    const { categories } = this.attribute;
    const radios = this.missing.map((category) =>
      this.radio(categories.indexOf(category), this.textOf(category)),
    );
    return radios.length > 0 ? [element("div", { class: "options apart" }, ...radios)] : [];
  }

  /** @param {string} category */
  textOf(category) {
    return surveyText(this.texts[this.attribute.categories.indexOf(category)], this.words);
  }

  /** @type {(code: number, text: Node | string) => HTMLElement} */
  radio(code, text) {
    const { name, categories, optional } = this.attribute;
    const value = categories[code];
    const checked = this.answer === value;
    const change = () => this.change([[name, value]]);
    const input = { type: "radio", name, value, required: !optional, checked, change };
    return element("label", { class: "option" }, element("input", input), element("span", {}, text));
  }

  /** @typedef {(box: HTMLInputElement) => void} Settle
   * @type {(name: string, value: string, text: Node | string, checked: boolean, settle: Settle) => HTMLElement} */
  tick(name, value, text, checked, settle) {
    const change = (/** @type {Event} */ event) =>
      settle(/** @type {HTMLInputElement} */ (event.target));
    const input = element("input", { type: "checkbox", name, value, checked, change });
    return element("label", { class: "option" }, input, element("span", {}, text));
  }
}

/** @param {HTMLElement} label */
function inputOf(label) {
  return /** @type {HTMLInputElement} */ (label.querySelector("input"));
}
