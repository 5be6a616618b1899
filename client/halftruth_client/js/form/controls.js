/** Controls for each kind of question, and the answers entered. */

import { element } from "./dom.js";
import { NO_NUMBER, offeredMissing, rangeOf } from "./questionnaire.js";
import { ofSurvey } from "./views.js";

/** Categories up to which all are shown at once. */
const FEW = 7;

/** Characters up to which answers have room beside each other: two of them, or those of a scale. */
const SHORT = 14;
const TINY = 4;

/**
 * @typedef {import("./questionnaire.js").Asked} Asked
 * @typedef {import("./questionnaire.js").Questionnaire} Questionnaire
 * @typedef {import("./wording.js").Wording} Wording
 * @typedef {Iterable<readonly [string, string | null]>} Changes Answers by attribute, null for none.
 *
 * Parameters of a control.
 *
 * @typedef {object} Making
 * @property {Asked} asked
 * @property {string} id Of the control; names could hold the ends of other ids.
 * @property {Questionnaire} questionnaire
 * @property {Wording} words
 * @property {(changes: Changes) => void} change
 */

/**
 * Everything below the text of a question.
 *
 * @param {Making} making
 * @returns {HTMLElement[]}
 */
export function controls(making) {
  const { question, attributes } = making.asked;
  if (question.kind === "several") return several(making);
  if (attributes[0].number !== null) return number(making);
  if (question.kind === "scale") return scale(making);
  return isList(making.asked) ? list(making) : choice(making);
}

/**
 * True for a question with one control, which its text labels.
 *
 * @param {Asked} asked
 */
export function isOneControl(asked) {
  return isList(asked) || asked.attributes[0].number !== null;
}

/** @param {Asked} asked */
function isList({ question, attributes }) {
  return question.kind === "choice" && attributes[0].categories.length > FEW;
}

/** @param {Making} making */
function choice({ asked, questionnaire, words, change }) {
  const [attribute] = asked.attributes;
  const texts = words.answers(attribute);
  const codes = questionnaire.order(asked);
  const short = codes.length === 2 && codes.every((code) => texts[code].length <= SHORT);
  return [
    element(
      "div",
      { class: short ? "options two" : "options" },
      ...codes.map((code) => radio(attribute, code, ofSurvey(texts[code], words), questionnaire, change)),
    ),
    ...missing(asked, questionnaire, words, change),
  ];
}

/** @param {Making} making */
function scale({ asked, questionnaire, words, change }) {
  const [attribute] = asked.attributes;
  const texts = words.answers(attribute);
  const codes = questionnaire.order(asked);
  const { categories } = attribute;
  // Where answers are as short as numbers, what they mean is written below.
  const isTiny = codes.every((code) => categories[code].length <= TINY);
  const meaning = codes.filter((code) => isTiny && texts[code] !== categories[code]);
  return [
    element(
      "div",
      { class: isTiny ? "scale tiny" : "scale" },
      ...codes.map((code) => {
        const label = radio(
          attribute,
          code,
          isTiny ? categories[code] : ofSurvey(texts[code], words),
          questionnaire,
          change,
        );
        if (meaning.includes(code)) {
          inputOf(label).setAttribute("aria-label", `${categories[code]}: ${texts[code]}`);
        }
        return label;
      }),
    ),
    ...(meaning.length === 0
      ? []
      : [
          element(
            "p",
            { class: "ends", "aria-hidden": "true" },
            ...meaning.map((code) => element("span", {}, ofSurvey(`${categories[code]}: ${texts[code]}`, words))),
          ),
        ]),
    ...missing(asked, questionnaire, words, change),
  ];
}

/** @param {Making} making */
function list({ asked, id, questionnaire, words, change }) {
  const [attribute] = asked.attributes;
  const { name, categories, optional } = attribute;
  const texts = words.answers(attribute);
  const answer = questionnaire.answers.get(name);
  const apart = offeredMissing(attribute).map((category) => categories.indexOf(category));
  const input = (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLSelectElement} */ (event.target);
    change([[name, value === "" ? null : value]]);
  };
  return [
    element(
      "select",
      { id, name, required: !optional, change: input },
      element(
        "option",
        { value: "", disabled: !optional, selected: answer === undefined },
        words.say(optional ? "noAnswer" : "choose"),
      ),
      ...[...questionnaire.order(asked), ...apart].map((code) => {
        const value = categories[code];
        const lang = words.isForeign && words.language;
        return element("option", { value, lang, selected: answer === value }, texts[code]);
      }),
    ),
  ];
}

/** @param {Making} making */
function number({ asked, id, questionnaire, words, change }) {
  const [attribute] = asked.attributes;
  const { name, categories, optional } = attribute;
  const range = /** @type {import("../number.js").NumberRange} */ (attribute.number);
  const answer = questionnaire.answers.get(name) ?? "";
  const isNumber = !categories.includes(answer) && answer !== NO_NUMBER;
  const [minimum, maximum] = [range.minimum, range.maximum].map((end) => String(end.toNumber()));
  /** @type {HTMLElement[]} */
  const others = [];
  const input = element("input", {
    type: "number",
    id,
    name,
    value: isNumber ? answer : "",
    min: minimum,
    max: maximum,
    step: range.whole ? "1" : "any",
    inputmode: range.whole && range.minimum.sign() >= 0 ? "numeric" : "decimal",
    required: !optional,
    // At once: what is under a pointer would move if it waited until the field is left.
    input: (event) => {
      const { value, validity } = /** @type {HTMLInputElement} */ (event.target);
      for (const other of others) inputOf(other).checked = false;
      change([[name, validity.badInput ? NO_NUMBER : value || null]]);
    },
  });
  const texts = words.answers(attribute);
  for (const category of offeredMissing(attribute)) {
    const text = texts[categories.indexOf(category)];
    const chosen = (/** @type {HTMLInputElement} */ { checked }) => {
      /** @type {HTMLInputElement} */ (input).value = "";
      for (const other of others) {
        if (inputOf(other).value !== category) inputOf(other).checked = false;
      }
      change([[name, checked ? category : null]]);
    };
    others.push(tick(`${name}-missing`, category, ofSurvey(text, words), answer === category, chosen));
  }
  const hint = words.say(range.whole ? "wholeNumber" : "number", rangeOf(range, words));
  return [
    element("p", { class: "help", id: `${id}-hint` }, hint),
    input,
    ...(others.length > 0 ? [element("div", { class: "options apart" }, ...others)] : []),
  ];
}

/** @param {Making} making */
function several({ asked, id, questionnaire, words, change }) {
  const { question, attributes } = asked;
  const [first] = attributes;
  const { answers } = questionnaire;
  const texts = words.answers(first);
  const answer = answers.get(first.name);
  const isChosen = attributes.some((option) => answers.get(option.name) === "yes");
  /** @type {HTMLElement[]} */
  const ticks = [];
  /** @type {(chosen: HTMLInputElement) => void} */
  const settle = (chosen) => {
    const alone = chosen.dataset.alone !== undefined;
    for (const other of ticks.map(inputOf)) {
      if (other !== chosen && chosen.checked && (alone || other.dataset.alone !== undefined)) {
        other.checked = false;
      }
    }
    change(severalAnswers(attributes, new Set(ticks.map(inputOf).filter((t) => t.checked))));
  };
  for (const i of questionnaire.order(asked)) {
    const option = attributes[i];
    const checked = answers.get(option.name) === "yes";
    const label = ofSurvey(option.optionIn(words.language), words);
    ticks.push(tick(question.name, option.name, label, checked, settle));
  }
  const none = tick(question.name, "no", words.say("none"), answer === "no" && !isChosen, settle);
  const apart = [none].concat(
    offeredMissing(first).map((category) => {
      const text = texts[first.categories.indexOf(category)];
      return tick(question.name, category, ofSurvey(text, words), answer === category, settle);
    }),
  );
  for (const one of apart) inputOf(one).dataset.alone = "";
  ticks.push(...apart);
  return [
    element("p", { class: "help", id: `${id}-hint` }, words.say("severalHint")),
    element("div", { class: "options" }, ...ticks.slice(0, -apart.length)),
    element("div", { class: "options apart" }, ...apart),
  ];
}

/**
 * Answers to the options of a question, of the boxes that are ticked.
 *
 * @param {readonly import("../attribute.js").Attribute[]} attributes
 * @param {ReadonlySet<HTMLInputElement>} ticked
 * @returns {[string, string | null][]}
 */
function severalAnswers(attributes, ticked) {
  const alone = [...ticked].find((box) => box.dataset.alone !== undefined);
  const chosen = new Set([...ticked].map((box) => box.value));
  return attributes.map(({ name }) => {
    if (ticked.size === 0) return [name, null];
    if (alone) return [name, alone.value];
    return [name, chosen.has(name) ? "yes" : "no"];
  });
}

/**
 * Answers that are none, apart from the others.
 *
 * @param {Asked} asked
 * @param {Questionnaire} questionnaire
 * @param {Wording} words
 * @param {(changes: Changes) => void} change
 */
function missing({ attributes: [attribute] }, questionnaire, words, change) {
  const texts = words.answers(attribute);
  const codes = offeredMissing(attribute).map((c) => attribute.categories.indexOf(c));
  if (codes.length === 0) return [];
  const made = codes.map((code) =>
    radio(attribute, code, ofSurvey(texts[code], words), questionnaire, change),
  );
  return [element("div", { class: "options apart" }, ...made)];
}

/**
 * @param {import("../attribute.js").Attribute} attribute
 * @param {number} code
 * @param {Node | string} text
 * @param {Questionnaire} questionnaire
 * @param {(changes: Changes) => void} change
 */
function radio({ name, categories, optional }, code, text, questionnaire, change) {
  const value = categories[code];
  const checked = questionnaire.answers.get(name) === value;
  const choose = () => change([[name, value]]);
  const input = { type: "radio", name, value, required: !optional, checked, change: choose };
  return element("label", { class: "option" }, element("input", input), element("span", {}, text));
}

/**
 * @param {string} name
 * @param {string} value
 * @param {Node | string} text
 * @param {boolean} checked
 * @param {(box: HTMLInputElement) => void} chosen
 */
function tick(name, value, text, checked, chosen) {
  const change = (/** @type {Event} */ event) =>
    chosen(/** @type {HTMLInputElement} */ (event.target));
  const input = element("input", { type: "checkbox", name, value, checked, change });
  return element("label", { class: "option" }, input, element("span", {}, text));
}

/** @param {HTMLElement} label */
function inputOf(label) {
  return /** @type {HTMLInputElement} */ (label.querySelector("input"));
}
