/**
 * The practice round: a demonstration of the survey's mechanism with a harmless question. It uses
 * no answers to the survey, and stores nothing.
 */

import { Columns } from "../mechanisms/columns.js";
import { Mixture } from "../mechanisms/mixture.js";
import { SetOfOptions } from "../mechanisms/set.js";
import { randomBelow } from "../sampling.js";
import { readNumber } from "./numbers.js";
import { button, buttons, element, view } from "./views.js";

/** Largest number of answers that are named, as colours; more are numbered. */
const NAMED = 8;

/** Number of latest rounds that are listed. */
const LISTED = 5;

/**
 * @import { Mechanism } from "../mechanisms/base.js"
 * @import { Rational } from "../rational.js"
 * @import { RandomBelow } from "../sampling.js"
 * @import { Subset } from "../mechanisms/subset.js"
 * @import { Wording } from "./wording.js"
 *
 * Demonstration of the mechanism with one harmless question, with the same probabilities as in the
 * survey: the report for an answer, whether it agrees with the answer, and the probability of that.
 *
 * @typedef {object} Practice
 * @property {number} size Number of answers.
 * @property {(code: number, below: RandomBelow) => number} draw
 * @property {(code: number, sent: number) => boolean} fits
 * @property {(code: number) => Rational} chance
 * @property {boolean} [isCode] Whether the report is a symbol, and not an answer.
 * @property {boolean} [isOne] Whether the survey has several questions that are perturbed independently.
 *
 * The chosen answer, and the answer and the code sent of each round so far.
 *
 * @typedef {{chosen: number | null, rounds: (readonly [own: number, sent: number])[]}} Tried
 */

/** The practice of a mechanism, perhaps of a view. Null if nothing is perturbed, if views have different
 * probabilities, if there are too many answers for one question, or if a question has several answers.
 * @type {(mechanism: Mechanism, view?: number | null) => Practice | null} */
export function practiceOf(mechanism, view) {
  const [response, ...others] = mechanism.responses(view);
  if (others.length > 0 || /** @type {unknown} */ (response) instanceof SetOfOptions) return null;
  const isSame = (/** @type {number} */ code, /** @type {number} */ sent) => code === sent;
  if (response instanceof Columns) {
    // One of the questions that are perturbed independently.
    const [axis, ...more] = response.perturbed;
    if (axis === undefined) return null;
    const column = response.columns[axis];
    return {
      size: column.size,
      draw: (code, below) => column.value(code, below(column.total)),
      fits: isSame,
      chance: (code) => response.chance(axis, code, code),
      isOne: more.length > 0,
    };
  }
  if (response instanceof Mixture) {
    if (response.size > BigInt(Number.MAX_SAFE_INTEGER)) return null;
    const whole = new Mixture([response.size], response.weights);
    return {
      size: Number(response.size),
      draw: (code, below) => whole.draw([code], below)[0],
      fits: isSame,
      chance: () => response.kept,
    };
  }
  const subset = /** @type {Subset} */ (/** @type {unknown} */ (response));
  return {
    size: subset.cells,
    draw: (code, below) => subset.draw([code], below)[0],
    fits: (code, sent) => subset.isOwn(sent, code),
    chance: () => subset.kept,
    isCode: subset.dimension > 0,
  };
}

/** Start a practice. The returned function creates its view in a language, with all rounds so far.
 * @type {(practice: Practice, back: () => void) => (words: Wording) => HTMLElement} */
export function practiceRound(practice, back) {
  const below = randomBelow();
  /** @type {Tried} */
  const tried = { chosen: null, rounds: [] };
  const { rounds } = tried;
  return (words) => {
    const answers = answersTo(practice, words);
    const result = element("div", { role: "status" });
    const listed = element("ol", { reversed: true });
    const show = () => {
      const lines = rounds.map(([own, sent]) => `${answers(own)} → ${practice.isCode ? sent : answers(sent)}`);
      result.replaceChildren(...explain(practice, rounds, words));
      listed.setAttribute("start", String(rounds.length));
      listed.replaceChildren(...lines.slice(-LISTED).reverse().map((line) => element("li", {}, line)));
    };
    const draw = () => {
      const { chosen } = tried;
      if (chosen === null) {
        const problem = words.say(practice.size > NAMED ? "missingWhole" : "missing", { minimum: "1", maximum: String(practice.size) });
        result.replaceChildren(element("p", { class: "problem" }, problem));
        return;
      }
      rounds.push([chosen, practice.draw(chosen, below)]);
      show();
    };
    if (rounds.length > 0) show();
    return view(
      words.say("practice"),
      element("p", {}, words.say("practiceLead")),
      (practice.size > NAMED ? numbers : names)(practice, tried, words),
      buttons(button(words.say("practiceDraw"), draw, "main"), button(words.say("back"), back)),
      result,
      listed,
    );
  };
}

/** Paragraphs about the last round, the rounds so far that agree with the answer, and their
 * probability.
 * @type {(practice: Practice, rounds: Tried["rounds"], words: Wording) => HTMLElement[]} */
function explain(practice, rounds, words) {
  const [own, sent] = rounds[rounds.length - 1];
  const shown = practice.isCode ? words.say("practiceCode", { code: sent }) : answersTo(practice, words)(sent);
  const key = practice.fits(own, sent) ? "practiceFits" : "practiceDiffers";
  const fits = rounds.filter(([own, sent]) => practice.fits(own, sent)).length;
  const chance = practice.chance(own);
  const figure = words.frequency({ least: chance, most: chance });
  return [
    element("p", {}, element("strong", {}, words.say(key, { sent: shown }))),
    element("p", {}, words.say("practiceTally", { fits, others: rounds.length - fits })),
    element("p", {}, words.say(practice.isOne ? "practiceChanceOne" : "practiceChance", { figure })),
    element("p", {}, words.say("practiceLesson")),
  ];
}

/** @type {(practice: Practice, words: Wording) => (code: number) => string} */
function answersTo({ size }, words) {
  if (size > NAMED) return (code) => words.decimal.format(code + 1);
  const names = size === 2 ? [words.say("no"), words.say("yes")] : words.list("practiceAnswers");
  return (code) => names[code];
}

/** @type {(practice: Practice, tried: Tried, words: Wording) => HTMLElement} */
function names(practice, tried, words) {
  const answers = answersTo(practice, words);
  const options = Array.from({ length: practice.size }, (_, code) => {
    const change = () => {
      tried.chosen = code;
    };
    const radio = element("input", { type: "radio", name: "practice", checked: tried.chosen === code, change });
    return element("label", { class: "option" }, radio, element("span", {}, answers(code)));
  });
  const question = words.say(practice.size === 2 ? "practiceYesNo" : "practiceQuestion");
  return element("fieldset", {}, element("legend", {}, question), element("div", { class: "two" }, ...options));
}

/** @type {(practice: Practice, tried: Tried, words: Wording) => HTMLElement} */
function numbers({ size }, tried, words) {
  const input = (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.target);
    const number = Number(readNumber(value, words.locale) ?? Number.NaN);
    tried.chosen = Number.isInteger(number) && number >= 1 && number <= size ? number - 1 : null;
  };
  const value = tried.chosen === null ? "" : String(tried.chosen + 1);
  const field = { type: "text", class: "number", autocomplete: "off", inputmode: "numeric", id: "practice", value, input };
  const label = element("label", { class: "label", for: "practice" }, words.say("practiceNumber", { size }));
  return element("div", { class: "question" }, label, element("input", field));
}
