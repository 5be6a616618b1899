/** The questions, and the answers before they are sent. */

import { inLanguage } from "../texts.js";
import { element } from "./dom.js";

/** Categories up to which all are shown at once. */
const FEW = 7;

/**
 * @typedef {import("../attribute.js").Attribute} Attribute
 * @typedef {Map<string, string>} Answers Category by attribute.
 * @typedef {import("./wording.js").Wording} Wording
 * @typedef {{label: string, value: string}} Line
 */

/**
 * The name of an attribute as people read it.
 *
 * @param {Attribute} attribute
 */
export function labelOf(attribute) {
  return attribute.labelIn();
}

/**
 * Some questions, and the way on.
 *
 * @param {object} step
 * @param {string} step.heading
 * @param {string | null} step.note Said before the questions.
 * @param {readonly Attribute[]} step.questions
 * @param {Answers} step.answers Filled as answers are given.
 * @param {ReadonlySet<string>} step.missing Attributes that still need an answer.
 * @param {(() => void) | null} step.back
 * @param {() => void} step.next
 * @param {Wording} words
 */
export function questions({ heading, note, questions, answers, missing, back, next }, words) {
  return element(
    "form",
    {
      // Without the script below, a browser would close the form and send nothing.
      method: "dialog",
      novalidate: true,
      autocomplete: "off",
      submit: (event) => {
        event.preventDefault();
        next();
      },
    },
    element("h2", { tabindex: "-1" }, heading),
    note && element("p", { class: "muted" }, note),
    ...questions.map((attribute, place) =>
      question(attribute, `question-${place}`, answers, missing.has(attribute.name), words),
    ),
    buttons(
      back && element("button", { type: "button", click: back }, words.say("back")),
      element("button", { class: "main" }, words.say("continue")),
    ),
  );
}

/**
 * A state of the form under its heading, which takes the focus.
 *
 * @param {string} heading
 * @param {...import("./dom.js").Child} children
 */
export function view(heading, ...children) {
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, heading),
    ...children,
  );
}

/** @param {...import("./dom.js").Child} made */
export function buttons(...made) {
  return element("div", { class: "buttons" }, ...made);
}

/**
 * @param {Attribute} attribute
 * @param {string} id Of the control; names could hold the ends of other ids.
 * @param {Answers} answers
 * @param {boolean} missing
 * @param {Wording} words
 */
function question(attribute, id, answers, missing, words) {
  const { name, categories } = attribute;
  const help = inLanguage(attribute.help);
  const described = [help ? `${id}-help` : "", missing ? `${id}-problem` : ""].join(" ").trim();
  const notes = [
    help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
    missing
      ? element("p", { class: "problem", id: `${id}-problem` }, words.say("missing"))
      : null,
  ];
  const state = {
    "aria-describedby": described || false,
    "aria-invalid": missing ? "true" : false,
  };
  if (categories.length > FEW) {
    const change = (/** @type {Event} */ event) =>
      answers.set(name, /** @type {HTMLSelectElement} */ (event.target).value);
    return element(
      "fieldset",
      {},
      element("label", { class: "label", for: id }, labelOf(attribute)),
      ...notes,
      element(
        "select",
        { id, name, required: true, ...state, change },
        element("option", { value: "", disabled: true, selected: !answers.has(name) }, words.say("choose")),
        ...categories.map((value) =>
          element("option", { value, selected: answers.get(name) === value }, value),
        ),
      ),
    );
  }
  return element(
    "fieldset",
    state,
    element("legend", {}, labelOf(attribute)),
    ...notes,
    ...categories.map((value) => {
      const checked = answers.get(name) === value;
      const change = () => answers.set(name, value);
      const button = element("input", { type: "radio", name, value, required: true, checked, change });
      return element("label", { class: "option" }, button, element("span", {}, value));
    }),
  );
}

/**
 * The answers before anything is sent.
 *
 * @param {object} step
 * @param {readonly Line[]} step.answers
 * @param {boolean} step.ofAll Whether no answer is sent as it is.
 * @param {boolean} step.proves Whether a report can prove an answer.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {() => void} step.back
 * @param {() => void} step.send
 * @param {Wording} words
 */
export function review({ answers, ofAll, proves, lasts, back, send }, words) {
  return view(
    words.say("review"),
    card(words.say(ofAll ? "stayHere" : "answers"), answers, "card"),
    element("p", {}, words.say(proves ? "drawProving" : "draw")),
    lasts ? null : element("p", {}, words.say("forgetful")),
    buttons(
      element("button", { type: "button", click: back }, words.say("back")),
      element("button", { type: "button", class: "main", click: send }, words.say("send")),
    ),
  );
}

/**
 * @param {string} heading
 * @param {readonly Line[]} rows
 * @param {string} style
 */
export function card(heading, rows, style) {
  const lines = rows.flatMap(({ label, value }) => [
    element("dt", {}, label),
    element("dd", {}, value),
  ]);
  return element("div", { class: style }, element("h3", {}, heading), element("dl", {}, ...lines));
}
