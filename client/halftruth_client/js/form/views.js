/** Parts of views, and the view of the answers before they are sent. */

import { element } from "./dom.js";

/**
 * @typedef {import("./wording.js").Wording} Wording
 * @typedef {{label: string, value: string}} Line
 */

/**
 * A text of the survey, which says its language where that is not the one of the words around it.
 *
 * @param {string} text
 * @param {Wording} words
 */
export function ofSurvey(text, { isForeign, language, direction }) {
  return isForeign ? element("span", { lang: language, dir: direction }, text) : text;
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
 * @param {string} text
 * @param {() => void} click
 * @param {string | false} [style] `main` for the one that leads on.
 */
export function button(text, click, style = false) {
  return element("button", { type: "button", class: style, click }, text);
}

/**
 * @param {object} step
 * @param {readonly Line[]} step.answers
 * @param {boolean} step.isHidden Whether nobody can be certain of any answer.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {() => void} step.back
 * @param {() => void} step.send
 * @param {Wording} words
 */
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
    element("dt", {}, ofSurvey(label, words)),
    element("dd", {}, ofSurvey(value, words)),
  ]);
  return element("div", { class: style }, element("h3", {}, heading), element("dl", {}, ...lines));
}
