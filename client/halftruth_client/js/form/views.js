/** What the form shows, one function for each of its states. */

import { inLanguage } from "../texts.js";
import { element } from "./dom.js";
import { draw, FORGETFUL, OUTCOMES, promise, RECEIPT } from "./words.js";

/** Categories up to which all are shown at once. */
const FEW = 7;

/**
 * @typedef {import("../attribute.js").Attribute} Attribute
 * @typedef {Map<string, string>} Answers Category by attribute.
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
 */
export function questions({ heading, note, questions, answers, missing, back, next }) {
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
      question(attribute, `question-${place}`, answers, missing.has(attribute.name)),
    ),
    buttons(
      back && element("button", { type: "button", click: back }, "Back"),
      element("button", { class: "main" }, "Continue"),
    ),
  );
}

/**
 * A state of the form under its heading, which takes the focus.
 *
 * @param {string} heading
 * @param {...import("./dom.js").Child} children
 */
function view(heading, ...children) {
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, heading),
    ...children,
  );
}

/** @param {...import("./dom.js").Child} made */
function buttons(...made) {
  return element("div", { class: "buttons" }, ...made);
}

/**
 * @param {Attribute} attribute
 * @param {string} id Of the control; names could hold the ends of other ids.
 * @param {Answers} answers
 * @param {boolean} missing
 */
function question(attribute, id, answers, missing) {
  const { name, categories } = attribute;
  const help = inLanguage(attribute.help);
  const described = [help ? `${id}-help` : "", missing ? `${id}-problem` : ""].join(" ").trim();
  const notes = [
    help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
    missing
      ? element("p", { class: "problem", id: `${id}-problem` }, "Please choose an answer.")
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
        element("option", { value: "", disabled: true, selected: !answers.has(name) }, "Choose …"),
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
 * The answers before anything is sent, and what is promised.
 *
 * @param {object} step
 * @param {readonly Attribute[]} step.attributes
 * @param {Answers} step.answers
 * @param {readonly string[]} step.promises
 * @param {boolean} step.ofAll Whether no answer is sent as it is.
 * @param {boolean} step.proves Whether a report can prove an answer.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {() => void} step.back
 * @param {() => void} step.send
 */
export function review({ attributes, answers, promises, ofAll, proves, lasts, back, send }) {
  const rows = attributes.map((attribute) => ({
    label: labelOf(attribute),
    value: answers.get(attribute.name) ?? "",
  }));
  return view(
    "Nothing has been sent yet",
    card(ofAll ? "Your answers stay here" : "Your answers", rows, "card"),
    element("p", {}, draw(proves)),
    ...promises.map((promise) => element("p", {}, promise)),
    lasts ? null : element("p", {}, FORGETFUL),
    buttons(
      element("button", { type: "button", click: back }, "Back"),
      element("button", { type: "button", class: "main", click: send }, "Send a report"),
    ),
  );
}

/**
 * @param {string} heading
 * @param {readonly {label: string, value: string}[]} rows
 * @param {string} style
 */
function card(heading, rows, style) {
  const lines = rows.flatMap(({ label, value }) => [
    element("dt", {}, label),
    element("dd", {}, value),
  ]);
  return element("div", { class: style }, element("h3", {}, heading), element("dl", {}, ...lines));
}

/**
 * What became of the report.
 *
 * @param {object} step
 * @param {import("../client.js").Submission["status"]} step.status
 * @param {readonly {label: string, value: string}[] | null} step.report In words, once it is there.
 * @param {boolean} step.ofAll Whether no answer is sent as it is.
 * @param {boolean} step.proves Whether a report can prove an answer.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {(() => void) | null} step.again Sends the same report once more.
 */
export function outcome({ status, report, ofAll, proves, lasts, again }) {
  const { heading, text } = OUTCOMES[status === "waiting" && !lasts ? "open" : status];
  return view(
    heading,
    element("p", {}, `${text} ${promise(ofAll, proves)}`),
    report && card("This is what was sent", report, "card sent"),
    report && element("p", {}, RECEIPT),
    again &&
      buttons(element("button", { type: "button", click: again }, "Send the same report again")),
  );
}

/**
 * Something that went wrong, and perhaps another try.
 *
 * @param {string} heading
 * @param {string} text
 * @param {(() => void) | null} retry
 */
export function problem(heading, text, retry) {
  return view(
    heading,
    element("p", {}, text),
    retry &&
      buttons(element("button", { type: "button", class: "main", click: retry }, "Try again")),
  );
}

/** While the survey is on its way. */
export function loading() {
  return element("p", { class: "muted", role: "status" }, "Loading the questions …");
}
