/** Elements of views. Texts are inserted as text nodes, so texts of a survey cannot contain markup.
 * */

/** Parts of the form for `::part()`, each with a selector of its elements. */
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

/** @typedef {Node | string | false | null | undefined} Child False, null and undefined are left
 * out.
 * @typedef {Record<string, string | boolean | ((event: Event) => void)>} Attributes */

/**
 * Create an element with attributes and children. A function is added as a listener of the event of
 * its name. True sets an empty attribute, false none.
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
 * @typedef {{label: string, value: string, isDetail?: boolean}} Line
 *   `isDetail`: best shown only on demand. */

/** A text of the survey; with its language, if the form's texts are in another one.
 * @type {(text: string, words: Wording) => string | HTMLElement} */
export function surveyText(text, { isForeign, language, direction }) {
  return isForeign ? element("span", { lang: language, dir: direction }, text) : text;
}

/** A view of the form, with a heading that can be focused by script.
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

/** View of the answers for review, before sending. `exceptions`: sentences about answers
 * that are sent as answered, or that a report can prove; `lasts`: the report is still stored after the page was
 * closed; `collapsed`: attributes of which it has groups of answers.
 * @typedef {{answers: readonly Line[], exceptions: readonly string[], lasts: boolean,
 *   collapsed: readonly import("../attribute.js").Attribute[], back: () => void, send: () => void}} Reviewing
 * @type {(step: Reviewing, words: Wording) => HTMLElement} */
export function review({ answers, exceptions, lasts, collapsed, back, send }, words) {
  return view(
    words.say("review"),
    card(words.say("answers"), answers, "card", words),
    ...exceptions.map((text) => element("p", {}, text)),
    element("p", {}, words.say(exceptions.length === 0 ? "draw" : "drawProving")),
    ...words.collapsed(collapsed).map((text) => element("p", {}, text)),
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
