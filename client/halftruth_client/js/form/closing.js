/** Views after sending, or in place of the questions. */

import { element } from "./dom.js";
import { button, buttons, card, ofSurvey, view } from "./views.js";

/**
 * @import { Line } from "./views.js"
 * @import { Key, Wording } from "./wording.js"
 *
 * Outcome of sending a report: counted, counted for somebody who may not be the one in front of the
 * page, or waiting; "open" where it waits and the browser keeps nothing.
 *
 * @typedef {"counted" | "before" | "shared" | "waiting" | "open"} Outcome
 *
 * Where to go on to: an address, and after how many seconds by itself.
 *
 * @typedef {{address: URL, seconds: number | null, stay: () => void}} Onward
 */

/** @type {Record<Outcome, [heading: Key, text: Key]>} */
const OUTCOMES = {
  counted: ["thanks", "counted"],
  before: ["answeredHere", "answeredHereText"],
  shared: ["answeredHere", "answeredHereShared"],
  waiting: ["keptForLater", "waiting"],
  open: ["keptForLater", "open"],
};

/**
 * View of the outcome, and where to go from here.
 *
 * @param {object} step
 * @param {Outcome} step.outcome
 * @param {number} step.moment Before which the report is not sent, if it waits for that; or 0.
 * @param {string} step.thanks The asker's own words, if there are any.
 * @param {readonly Line[]} step.answers As far as they are this person's.
 * @param {readonly Line[] | null} step.report In words, once it is there.
 * @param {boolean} step.isHidden Whether nobody can be certain of any answer.
 * @param {Onward | null} step.onward
 * @param {(() => void) | null} step.again Sends the same report once more.
 * @param {(() => void) | null} step.another Lets another person answer.
 * @param {HTMLElement | null} step.counted What was counted so far.
 * @param {Wording} words
 */
export function outcome(step, words) {
  const { outcome, moment, thanks, answers, report, isHidden, onward, again, another, counted } = step;
  const [heading, text] = OUTCOMES[outcome];
  // Of somebody else nothing is promised here.
  const isOwn = outcome !== "before" && outcome !== "shared";
  const promise = isOwn ? ` ${words.say("nothingElse")}` : "";
  const held = moment ? `${words.say("held", { moment: words.moment(moment) })} ` : "";
  return view(
    words.say(heading),
    thanks ? element("p", {}, ofSurvey(thanks, words)) : null,
    element("p", {}, `${held}${words.say(text)}${promise}`),
    report &&
      element(
        "div",
        { class: "pair" },
        card(words.say("sent"), report, "card sent", words),
        answers.length > 0 ? card(words.say("answers"), answers, "card", words) : null,
      ),
    report && element("p", {}, words.say(isHidden ? "receipt" : "receiptProving")),
    onward && further(onward, words),
    again && buttons(button(words.say("again"), again)),
    another && buttons(button(words.say("another"), another)),
    counted,
  );
}

/**
 * Where a survey goes on to, if it does.
 *
 * @param {import("../framing.js").Framing} framing
 * @param {() => void} stay Once a person wants to.
 * @returns {Onward | null}
 */
export function onwardOf({ redirect, redirectAfter }, stay) {
  if (!redirect) return null;
  const onward = {
    address: new URL(redirect, location.origin),
    seconds: redirectAfter ?? null,
    stay: () => {
      stay();
      onward.seconds = null;
    },
  };
  return onward;
}

/** @type {(onward: Onward, words: Wording) => HTMLElement} */
function further({ address, seconds, stay }, words) {
  const link = element(
    "a",
    { href: address.href, rel: "noreferrer", class: "onward" },
    words.say("goOn", { host: address.host }),
  );
  if (seconds === null) return element("p", {}, link);
  const remain = () => {
    stay();
    soon.remove();
    link.focus();
  };
  const soon = element(
    "div",
    {},
    element("p", {}, words.say("goesOn", { count: seconds })),
    buttons(button(words.say("stay"), remain)),
  );
  return element("div", {}, element("p", {}, link), soon);
}

/** @type {(step: {back: () => void, go: () => void}, words: Wording) => HTMLElement} */
export function anotherPerson({ back, go }, words) {
  return view(
    words.say("anotherHeading"),
    element("p", {}, words.say("anotherText")),
    buttons(button(words.say("back"), back), button(words.say("anotherYes"), go, "main")),
  );
}

/** @type {(survey: import("../survey.js").Survey, words: Wording) => HTMLElement} */
export function closed({ closedBecause, terms }, words) {
  const text =
    closedBecause === "quota"
      ? words.say("closedQuota")
      : closedBecause === "deadline" && terms.closesAt !== null
        ? words.say("closedDeadline", { moment: words.moment(terms.closesAt) })
        : words.say("closedOperator");
  return view(words.say("closed"), element("p", {}, text));
}

/**
 * @param {string} heading
 * @param {string | readonly import("./dom.js").Child[]} text
 * @param {(() => void) | null} retry
 * @param {Wording} words
 */
export function problem(heading, text, retry, words) {
  return view(
    heading,
    element("p", {}, ...text),
    retry && buttons(button(words.say("retry"), retry, "main")),
  );
}

/** @param {Wording} words */
export function loading(words) {
  return element("p", { class: "muted", role: "status" }, words.say("loading"));
}
