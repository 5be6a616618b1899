/**
 * A practice round: what a survey's mechanism does to a harmless question, with nothing of the
 * survey's answers and nothing that is kept.
 */

import { randomBelow } from "../sampling.js";
import { readNumber } from "./numbers.js";
import { button, buttons, element, numberField, view } from "./views.js";

/** Answers up to which they have names: colours. */
const NAMED = 8;

/** Tries that are listed. */
const LISTED = 5;

/**
 * @import { Practice } from "../mechanisms/base.js"
 *
 * The answer that is chosen, and of each round so far the answer and what would be sent.
 *
 * @typedef {{chosen: number | null, rounds: [own: number, sent: number][]}} Tried
 */

/**
 * @param {object} step
 * @param {Practice} step.practice
 * @param {Tried} step.tried
 * @param {() => void} step.back
 * @param {import("./wording.js").Wording} words
 * @param {import("../sampling.js").RandomBelow} [below]
 */
export function practiceRound({ practice, tried, back }, words, below = randomBelow()) {
  const { rounds } = tried;
  const answers = answersTo(practice, words);
  const result = element("div", { role: "status" });
  const listed = element("ol", { class: "tries", reversed: true });
  const show = () => {
    if (rounds.length === 0) return;
    const fits = rounds.map(([own, sent]) => practice.fits(own, sent));
    const [own, sent] = rounds[rounds.length - 1];
    const key = practice.fits(own, sent) ? "practiceFits" : "practiceDiffers";
    const shown = practice.isCode ? words.say("practiceCode", { code: sent }) : answers(sent);
    const number = fits.filter(Boolean).length;
    const tally = { fits: number, others: rounds.length - number };
    const chance = practice.chance(own);
    const figure = words.frequency({ least: chance, most: chance });
    result.replaceChildren(
      element("p", { class: "result" }, words.say(key, { sent: shown })),
      element("p", {}, words.say("practiceTally", tally)),
      element("p", {}, words.say(practice.isOne ? "practiceChanceOne" : "practiceChance", { figure })),
      element("p", {}, words.say("practiceLesson")),
    );
    listed.setAttribute("start", String(rounds.length));
    listed.replaceChildren(
      ...rounds
        .slice(-LISTED)
        .map(([own, sent]) => `${answers(own)} → ${practice.isCode ? sent : answers(sent)}`)
        .map((line) => element("li", {}, line))
        .reverse(),
    );
  };
  const work = () => {
    if (tried.chosen === null) {
      const range = { minimum: "1", maximum: String(practice.size) };
      const problem = practice.size > NAMED ? words.say("missingWhole", range) : words.say("missing");
      result.replaceChildren(element("p", { class: "problem" }, problem));
      return;
    }
    rounds.push([tried.chosen, practice.draw(tried.chosen, below)]);
    show();
  };
  show();
  return view(
    words.say("practice"),
    element("p", {}, words.say("practiceLead")),
    practice.size > NAMED ? numbers(practice, tried, words) : names(practice, tried, words),
    buttons(
      button(words.say("practiceDraw"), work, "main"),
      button(words.say("back"), back),
    ),
    result,
    listed,
  );
}

/** @type {(practice: Practice, words: import("./wording.js").Wording) => (code: number) => string} */
function answersTo({ size }, words) {
  if (size > NAMED) return (code) => words.decimal.format(code + 1);
  const names = words.list(size === 2 ? "practiceYesNoAnswers" : "practiceAnswers");
  return (code) => names[code];
}

/** @type {(practice: Practice, tried: Tried, words: import("./wording.js").Wording) => HTMLElement} */
function names(practice, tried, words) {
  const answers = answersTo(practice, words);
  return element(
    "fieldset",
    { class: "inline" },
    element("legend", {}, words.say(practice.size === 2 ? "practiceYesNo" : "practiceQuestion")),
    ...Array.from({ length: practice.size }, (_, code) => {
      const change = () => {
        tried.chosen = code;
      };
      const checked = tried.chosen === code;
      const radio = element("input", { type: "radio", name: "practice", checked, change });
      return element("label", { class: "option" }, radio, element("span", {}, answers(code)));
    }),
  );
}

/** @type {(practice: Practice, tried: Tried, words: import("./wording.js").Wording) => HTMLElement} */
function numbers({ size }, tried, words) {
  const field = numberField({
    id: "practice",
    inputmode: "numeric",
    value: tried.chosen === null ? "" : String(tried.chosen + 1),
    input: (event) => {
      const { value } = /** @type {HTMLInputElement} */ (event.target);
      const number = Number(readNumber(value, words.locale) ?? Number.NaN);
      tried.chosen = Number.isInteger(number) && number >= 1 && number <= size ? number - 1 : null;
    },
  });
  const question = words.say("practiceNumber", { size });
  return element(
    "div",
    { class: "question" },
    element("label", { class: "label", for: "practice" }, question),
    field,
  );
}
