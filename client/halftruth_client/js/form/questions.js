/** A page of questions. Questions appear and disappear when their conditions change. */

import { inLanguage } from "../documents.js";
import { rangeOf } from "../questionnaire.js";
import { controls, isOneControl } from "./controls.js";
import { button, buttons, element, surveyText } from "./views.js";

/**
 * @import { Asked, Questionnaire } from "../questionnaire.js"
 * @import { Wording } from "./wording.js"
 */

/** View of a page of questions. Answers are written to the questionnaire as they are entered;
 * `next` is called when the page is submitted and all its answers are valid.
 * @typedef {{questionnaire: Questionnaire, group: number, back: () => void, next: () => void}} Step
 * @type {(step: Step, words: Wording) => HTMLElement} */
export function questions({ questionnaire, group, back, next }, words) {
  const heading = element("h2", { tabindex: "-1" });
  const progress = element("progress", { "aria-hidden": "true" });
  const list = element("div");
  /** @type {Map<Asked, ReturnType<typeof question>>} */
  const blocks = new Map();

  const settle = () => {
    const now = questionnaire.asked(group);
    for (const [asked, { root }] of blocks) {
      if (now.includes(asked)) continue;
      root.remove();
      blocks.delete(asked);
    }
    /** @type {HTMLElement | null} */
    let after = null;
    for (const asked of [...now].reverse()) {
      const isNew = !blocks.has(asked);
      const id = `question-${questionnaire.all.indexOf(asked)}`;
      const block = blocks.get(asked) ?? question({ asked, id, questionnaire, words, settle });
      if (isNew) list.insertBefore(block.root, after);
      blocks.set(asked, block);
      after = block.root;
    }
    place(heading, progress, questionnaire, group, words);
  };
  settle();

  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const open = questionnaire.asked(group).filter((asked) => questionnaire.problem(asked));
    for (const asked of open) blocks.get(asked)?.mark();
    if (open.length === 0) next();
    else blocks.get(open[0])?.focus();
  };
  // A browser sends nothing of a form with this method, even without the script.
  const form = { method: "dialog", novalidate: true, autocomplete: "off", submit };
  return element(
    "form",
    form,
    heading,
    progress,
    list,
    buttons(
      button(words.say("back"), back),
      element("button", { class: "main" }, words.say("continue")),
    ),
  );
}

/**
 * Show the title, number and count of pages; the count can change with the answers.
 *
 * @param {HTMLElement} heading
 * @param {HTMLElement} progress
 * @param {Questionnaire} questionnaire
 * @param {number} group
 * @param {Wording} words
 */
function place(heading, progress, questionnaire, group, words) {
  const pages = questionnaire.pages();
  const [number, count] = [pages.indexOf(group) + 1, pages.length];
  const [{ question }] = questionnaire.groups[group];
  const title = inLanguage(question.page, words.language) || words.say("answers");
  heading.textContent = count > 1 ? words.say("place", { title, number, count }) : title;
  progress.hidden = count === 1;
  // Count the review after the last page, too.
  progress.setAttribute("max", String(count + 1));
  progress.setAttribute("value", String(number));
}

/** A question with its controls; `settle` is called after each answer. The id is not derived from
 * the name, which could end like the id of another element.
 * @param {{asked: Asked, id: string, questionnaire: Questionnaire, words: Wording, settle: () => void}} making */
function question({ asked, id, questionnaire, words, settle }) {
  const { question, attributes } = asked;
  const single = isOneControl(asked);
  const [{ name }] = attributes;
  const body = element("div");
  const label = [
    surveyText(question.labelIn(words.language), words),
    question.optional && element("span", { class: "aside" }, ` ${words.say("optional")}`),
  ];
  const help = inLanguage(question.help, words.language);
  const problem = element("p", { class: "problem", id: `${id}-problem` });
  const fill = () => body.replaceChildren(...controls({ asked, id, questionnaire, words, change }));
  const clear = () => {
    change(attributes.map((attribute) => [attribute.name, null]));
    fill();
    focus();
  };
  const takeBack = button(words.say("takeBack"), clear, "quiet");
  // Radio buttons cannot be unselected without a button.
  const canTakeBack = question.optional && !single && question.kind !== "several";
  const root = element(
    single ? "div" : "fieldset",
    { class: "question" },
    single
      ? element("label", { class: "label", for: id }, ...label)
      : element("legend", {}, ...label),
    help ? element("p", { class: "help", id: `${id}-help` }, surveyText(help, words)) : null,
    problem,
    body,
    canTakeBack ? takeBack : null,
  );

  /** @param {import("./controls.js").Changes} changes */
  function change(changes) {
    questionnaire.set(changes);
    if (!problem.hidden && questionnaire.problem(asked) === null) describe("");
    takeBack.hidden = !questionnaire.answers.has(name);
    settle();
  }

  /** @param {string} wrong Error message about the answer; empty if it is valid. */
  function describe(wrong) {
    problem.textContent = wrong;
    problem.hidden = wrong === "";
    const target = single ? body.querySelector("select, input") : root;
    const notes = ["help", "problem", "hint"].map((what) => `${id}-${what}`);
    const shown = notes.filter((note) => root.querySelector(`#${note}:not([hidden])`));
    if (shown.length > 0) target?.setAttribute("aria-describedby", shown.join(" "));
    else target?.removeAttribute("aria-describedby");
    if (wrong) target?.setAttribute("aria-invalid", "true");
    else target?.removeAttribute("aria-invalid");
  }

  function focus() {
    /** @type {HTMLElement | null} */ (body.querySelector("input, select"))?.focus();
  }

  fill();
  describe("");
  takeBack.hidden = !questionnaire.answers.has(name);
  return {
    root,
    focus,
    mark: () => describe(problemOf(asked, questionnaire.problem(asked), words)),
  };
}

/** @type {(asked: Asked, problem: ReturnType<Questionnaire["problem"]>, words: Wording) => string} */
function problemOf({ attributes: [{ number }] }, problem, words) {
  if (problem === "several") return words.say("missingSeveral");
  if (problem !== "number" || number === null) return words.say("missing");
  return words.say(number.whole ? "missingWhole" : "missingNumber", rangeOf(number, words));
}
