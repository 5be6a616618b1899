/** Views before the first question: who asks, how answers are protected, and a practice round. */

import { inLanguage } from "../texts.js";
import { element } from "./dom.js";
import { button, buttons, ofSurvey, view } from "./views.js";

/**
 * @import { Protection } from "../protection.js"
 * @import { Attributes, Key, Wording } from "./wording.js"
 */

/** Tries of the practice round that are listed. */
const LISTED = 10;

/**
 * Who asks and why, how answers are protected, and what has to be agreed to.
 *
 * @param {object} step
 * @param {import("../framing.js").Framing} step.framing
 * @param {Protection} step.protection
 * @param {Attributes} step.attributes
 * @param {import("../terms.js").Terms} step.terms
 * @param {string | null} step.drawn Why only some questions are asked.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {boolean} step.agreed
 * @param {boolean} step.missing Whether consent was passed over.
 * @param {(agreed: boolean) => void} step.agree
 * @param {(() => void) | null} step.practise
 * @param {() => void} step.begin
 * @param {Wording} words
 */
export function opening(step, words) {
  const { framing, protection, terms, drawn, lasts, practise, begin } = step;
  const [askedBy, purpose, agreement] = [framing.askedBy, framing.purpose, framing.consent].map(
    (text) => inLanguage(text, words.language),
  );
  return element(
    "form",
    {
      method: "dialog",
      novalidate: true,
      autocomplete: "off",
      submit: (event) => {
        event.preventDefault();
        begin();
      },
    },
    element("h2", { tabindex: "-1" }, words.say("opening")),
    askedBy || purpose
      ? element(
          "dl",
          { class: "asker" },
          ...defined(words.say("askedBy"), askedBy, words),
          ...defined(words.say("purpose"), purpose, words),
        )
      : null,
    ...protectionSection(protection, step.attributes, practise, words),
    ...[
      drawn,
      terms.closesAt && words.say("closesAt", { moment: words.moment(terms.closesAt) }),
      terms.maxReports && words.say("maxReports", { count: terms.maxReports }),
      lasts ? null : words.say("forgetful"),
    ].map((note) => (note ? element("p", { class: "muted" }, note) : null)),
    agreement ? consent(agreement, step, words) : null,
    buttons(element("button", { class: "main" }, words.say("begin"))),
  );
}

/** @type {(term: string, text: string, words: Wording) => HTMLElement[]} */
function defined(term, text, words) {
  return text ? [element("dt", {}, term), element("dd", {}, ofSurvey(text, words))] : [];
}

/**
 * @param {Protection} protection
 * @param {Attributes} attributes
 * @param {(() => void) | null} practise
 * @param {Wording} words
 */
function protectionSection(protection, attributes, practise, words) {
  const { bare, provable, hidden, whole, timed } = protection;
  const exact = words.promises(protection, attributes).map((text) => element("p", {}, text));
  const heading = element("h3", {}, words.say("protection"));
  if (hidden === 0 || whole === null) return [heading, ...exact];
  /** @type {Key[]} */
  const plainly = [
    bare.length > 0 ? "staysMostly" : "stays",
    "chance",
    provable.length > 0 ? "togetherProving" : "together",
  ];
  return [
    heading,
    element(
      "ol",
      { class: "steps" },
      ...plainly.map((key) => element("li", {}, words.say(key))),
    ),
    // What is not protected is said where nobody has to open anything.
    bare.length > 0 ? element("p", {}, words.bare(bare)) : null,
    practise && buttons(button(words.say("practise"), practise)),
    element("h3", {}, words.say("learn")),
    element("p", {}, words.say("suppose", { prior: words.percent(protection.prior) })),
    figures(protection, words),
    element(
      "details",
      { open: provable.length > 0 || timed },
      element("summary", {}, words.say("exactly")),
      ...exact,
    ),
  ];
}

/** @type {(protection: Protection, words: Wording) => HTMLElement} */
function figures({ prior, hidden, whole, single }, words) {
  const { known, unknown } = single;
  /** @type {[Key, number | undefined][]} */
  const lines = [["before", prior], ["afterWhole", whole?.posterior]];
  if (hidden > 1 && known?.posterior === unknown?.posterior) {
    lines.push(["afterSingle", known?.posterior]);
  } else if (hidden > 1) {
    lines.push(["afterKnown", known?.posterior], ["afterUnknown", unknown?.posterior]);
  }
  return element(
    "ul",
    { class: "figures" },
    ...lines.map(([key, tenths]) =>
      tenths === undefined
        ? null
        : element(
            "li",
            {},
            element("strong", {}, words.percent(tenths)),
            element("span", {}, words.say(key)),
            bar(tenths),
          ),
    ),
  );
}

/** @param {number} tenths Of a percent. */
function bar(tenths) {
  const length = element("span");
  // A strict policy for styles forbids the attribute, and allows this.
  length.style.inlineSize = `${tenths / 10}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, length);
}

/**
 * @param {string} text What is to be agreed to.
 * @param {{agreed: boolean, missing: boolean, agree: (agreed: boolean) => void}} step
 * @param {Wording} words
 */
function consent(text, { agreed, missing, agree }, words) {
  const change = (/** @type {Event} */ event) =>
    agree(/** @type {HTMLInputElement} */ (event.target).checked);
  const box = element("input", {
    type: "checkbox",
    name: "consent",
    required: true,
    checked: agreed,
    change,
    "aria-describedby": missing ? "consent-problem" : false,
    "aria-invalid": missing ? "true" : false,
  });
  return element(
    "fieldset",
    {},
    element("legend", {}, words.say("consent")),
    missing
      ? element("p", { class: "problem", id: "consent-problem" }, words.say("consentMissing"))
      : null,
    element("label", { class: "option" }, box, element("span", {}, ofSurvey(text, words))),
  );
}

/**
 * A harmless question, on which chance works as it will on the answers.
 *
 * @param {object} step
 * @param {import("./practice.js").Practice} step.practice
 * @param {{chosen: number | null, rounds: [own: number, sent: number][]}} step.tried
 *   The answer that is chosen, and of each round so far the answer and its report.
 * @param {() => void} step.back
 * @param {Wording} words
 */
export function practiceRound({ practice: { size, draw }, tried, back }, words) {
  const { rounds } = tried;
  const answers = words.list(size === 2 ? "practiceYesNoAnswers" : "practiceAnswers");
  const result = element("div", { role: "status" });
  const listed = element("ol", { class: "tries", reversed: true });
  const tell = () => {
    if (rounds.length === 0) return;
    const [own, sent] = rounds[rounds.length - 1];
    const fits = rounds.filter((round) => round[0] === round[1]).length;
    result.replaceChildren(
      element(
        "p",
        { class: "result" },
        words.say(own === sent ? "practiceFits" : "practiceDiffers", { sent: answers[sent] }),
      ),
      element("p", {}, words.say("practiceTally", { fits, tries: rounds.length })),
    );
    listed.setAttribute("start", String(rounds.length));
    listed.replaceChildren(
      ...rounds
        .slice(-LISTED)
        .map((round) => element("li", {}, round.map((code) => answers[code]).join(" → ")))
        .reverse(),
    );
  };
  const work = () => {
    if (tried.chosen === null) {
      result.replaceChildren(element("p", { class: "problem" }, words.say("missing")));
      return;
    }
    rounds.push([tried.chosen, draw(tried.chosen)]);
    tell();
  };
  tell();
  return view(
    words.say("practice"),
    element("p", {}, words.say("practiceLead")),
    element(
      "fieldset",
      { class: "inline" },
      element("legend", {}, words.say(size === 2 ? "practiceYesNo" : "practiceQuestion")),
      ...answers.slice(0, size).map((answer, code) => {
        const change = () => {
          tried.chosen = code;
        };
        const checked = tried.chosen === code;
        const button = element("input", { type: "radio", name: "practice", checked, change });
        return element("label", { class: "option" }, button, element("span", {}, answer));
      }),
    ),
    buttons(
      button(words.say("practiceDraw"), work, "main"),
      button(words.say("back"), back),
    ),
    result,
    listed,
    element("p", { class: "muted" }, words.say("practiceLesson")),
  );
}
