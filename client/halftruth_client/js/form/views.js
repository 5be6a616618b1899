/** Parts that views are made of, from text alone: nothing that a survey says becomes markup. */

/** What pages style as `::part()`s of the form, by what it is. */
export const PARTS = Object.entries({
  heading: "h2, h3",
  button: "button",
  "main-button": "button.main",
  question: "fieldset",
  label: "legend, .label",
  help: ".help",
  problem: ".problem",
  option: ".option",
  control: "input, select",
  card: ".card",
  link: "a",
  progress: "progress",
});

/** @typedef {Node | string | false | null | undefined} Child False and none are left out.
 * @typedef {Record<string, string | boolean | ((event: Event) => void)>} Attributes */

/**
 * An element with its attributes and children. Functions listen to the event of their name; true is an
 * attribute without a value, false none.
 *
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  const parts = PARTS.filter(([, selector]) => made.matches(selector)).map(([part]) => part);
  if (parts.length > 0) made.part.add(...parts);
  made.append(...children.filter((child) => child != null && child !== false));
  return made;
}

/** @typedef {import("./wording.js").Wording} Wording
 * @typedef {{label: string, value: string}} Line */

/** A text of the survey, which says its language where that is not the one of the words around it.
 * @type {(text: string, words: Wording) => string | HTMLElement} */
export function surveyText(text, { isForeign, language, direction }) {
  return isForeign ? element("span", { lang: language, dir: direction }, text) : text;
}

/** A state of the form under its heading, which takes the focus.
 * @type {(heading: string, ...children: Child[]) => HTMLElement} */
export function view(heading, ...children) {
  return element(
    "section",
    { "aria-labelledby": "heading" },
    element("h2", { tabindex: "-1", id: "heading" }, heading),
    ...children,
  );
}

/** @param {...Child} made */
export function buttons(...made) {
  return element("div", { class: "buttons" }, ...made);
}

/** @type {(text: string, click: () => void, style?: string | false) => HTMLElement} */
export function button(text, click, style = false) {
  return element("button", { type: "button", class: style, click }, text);
}

/** The answers before sending. `isHidden`: no report can prove an answer; `lasts`: the report is still
 * stored after the page was closed.
 * @typedef {{answers: readonly Line[], isHidden: boolean, lasts: boolean, back: () => void, send: () => void}} Reviewing
 * @type {(step: Reviewing, words: Wording) => HTMLElement} */
export function review({ answers, isHidden, lasts, back, send }, words) {
  return view(
    words.say("review"),
    card(words.say("answers"), answers, "card", words),
    element("p", {}, words.say(isHidden ? "draw" : "drawProving")),
    lasts ? null : element("p", {}, words.say("forgetful")),
    buttons(button(words.say("back"), back), button(words.say("send"), send, "main")),
  );
}

/** @type {(heading: string, rows: readonly Line[], style: string, words: Wording) => HTMLElement} */
export function card(heading, rows, style, words) {
  const lines = rows.flatMap(({ label, value }) => [
    element("dt", {}, surveyText(label, words)),
    element("dd", {}, surveyText(value, words)),
  ]);
  return element("div", { class: style }, element("h3", {}, heading), element("dl", {}, ...lines));
}
