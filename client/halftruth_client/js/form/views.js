/** What the form shows, one function for each of its states. */

import { element } from "./dom.js";
import { guarantee, OUTCOMES, promise } from "./words.js";

/** Categories up to which all are shown at once. */
const FEW = 7;

/**
 * @typedef {import("../schema.js").Attribute} Attribute
 * @typedef {Map<string, string>} Answers Category by attribute.
 */

/**
 * The name of an attribute as people read it.
 *
 * @param {Attribute} attribute
 */
export function labelOf(attribute) {
  return attribute.label || attribute.name;
}

/**
 * Some questions, and the way on.
 *
 * @param {object} step
 * @param {string} step.heading
 * @param {readonly Attribute[]} step.questions
 * @param {Answers} step.answers Filled as answers are given.
 * @param {ReadonlySet<string>} step.missing Attributes that still need an answer.
 * @param {(() => void) | null} step.back
 * @param {() => void} step.next
 */
export function questions({ heading, questions, answers, missing, back, next }) {
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
    ...questions.map((attribute, place) =>
      question(attribute, `question-${place}`, answers, missing.has(attribute.name)),
    ),
    element(
      "div",
      { class: "buttons" },
      back && element("button", { type: "button", click: back }, "Back"),
      element("button", { class: "main" }, "Continue"),
    ),
  );
}

/**
 * @param {Attribute} attribute
 * @param {string} id Of the control; names could hold the ends of other ids.
 * @param {Answers} answers
 * @param {boolean} missing
 */
function question(attribute, id, answers, missing) {
  const { name, categories, help } = attribute;
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
    return element(
      "fieldset",
      {},
      element("label", { class: "label", for: id }, labelOf(attribute)),
      ...notes,
      element(
        "select",
        {
          id,
          name,
          required: true,
          ...state,
          change: (event) => {
            answers.set(name, /** @type {HTMLSelectElement} */ (event.target).value);
          },
        },
        element("option", { value: "", disabled: true, selected: !answers.has(name) }, "Choose …"),
        ...categories.map((category) =>
          element(
            "option",
            { value: category, selected: answers.get(name) === category },
            category,
          ),
        ),
      ),
    );
  }
  return element(
    "fieldset",
    { ...state },
    element("legend", {}, labelOf(attribute)),
    ...notes,
    ...categories.map((category) =>
      element(
        "label",
        { class: "option" },
        element("input", {
          type: "radio",
          name,
          value: category,
          required: true,
          checked: answers.get(name) === category,
          change: () => answers.set(name, category),
        }),
        element("span", {}, category),
      ),
    ),
  );
}

/**
 * The answers beside the report, before anything is sent.
 *
 * @param {object} step
 * @param {readonly Attribute[]} step.attributes
 * @param {Answers} step.answers
 * @param {Record<string, string>} step.report Category by attribute.
 * @param {import("../rational.js").Rational | null} step.gamma
 * @param {readonly string[]} step.asTheyAre Labels of the attributes that are not changed.
 * @param {() => void} step.back
 * @param {() => void} step.send
 */
export function review({ attributes, answers, report, gamma, asTheyAre, back, send }) {
  const ofAll = asTheyAre.length === 0;
  const sent = new Map(Object.entries(report));
  const stay = ofAll ? "Your answers stay here" : "Your answers";
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, "Nothing has been sent yet"),
    element(
      "div",
      { class: "beside" },
      card(stay, attributes, answers, "card"),
      card("This is what will be sent", attributes, sent, "card sent", answers),
    ),
    ofAll
      ? null
      : element("p", {}, `Sent as you answered, without any change: ${asTheyAre.join(", ")}.`),
    gamma && element("p", {}, guarantee(gamma, ofAll)),
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "button", click: back }, "Back"),
      element("button", { type: "button", class: "main", click: send }, "Send this report"),
    ),
  );
}

/**
 * @param {string} heading
 * @param {readonly Attribute[]} attributes
 * @param {Answers} values
 * @param {string} style
 * @param {Answers} [truth] To say where the values differ from it.
 */
function card(heading, attributes, values, style, truth = values) {
  return element(
    "div",
    { class: style },
    element("h3", {}, heading),
    element(
      "dl",
      {},
      ...attributes.flatMap((attribute) => [
        element(
          "dt",
          {},
          labelOf(attribute),
          values.get(attribute.name) === truth.get(attribute.name) ? "" : " (changed by chance)",
        ),
        element("dd", {}, values.get(attribute.name)),
      ]),
    ),
  );
}

/**
 * What became of the report.
 *
 * @param {import("../client.js").Submission["status"]} status
 * @param {boolean} ofAll Whether no answer is sent as it is.
 * @param {(() => void) | null} again Sends the same report once more.
 */
export function outcome(status, ofAll, again) {
  const { heading, text } = OUTCOMES[status];
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, heading),
    element("p", {}, `${text} ${promise(ofAll)}`),
    again &&
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", click: again }, "Send the same report again"),
      ),
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
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, heading),
    element("p", {}, text),
    retry &&
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", class: "main", click: retry }, "Try again"),
      ),
  );
}

/** While the survey is on its way. */
export function loading() {
  return element("p", { class: "muted", role: "status" }, "Loading the questions …");
}
