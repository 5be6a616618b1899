/** View before the first question: who asks, what others can learn, and what happens. */

import { inLanguage } from "../texts.js";
import { element } from "./dom.js";
import { happening, inHundred, outlook } from "./outlook.js";
import { button, buttons, ofSurvey } from "./views.js";

/**
 * @import { Protection } from "../protection.js"
 * @import { Attributes, Key, Wording } from "./wording.js"
 */

/**
 * Who asks and why, what a report can tell others, and what has to be agreed to.
 *
 * @param {object} step
 * @param {import("../framing.js").Framing} step.framing
 * @param {Protection} step.protection
 * @param {import("../mechanisms/base.js").Fit} step.fit
 * @param {Attributes} step.attributes
 * @param {import("../terms.js").Terms} step.terms
 * @param {readonly string[]} step.drawn Why only some questions are asked.
 * @param {boolean} step.lasts Whether the report is still known after the page was closed.
 * @param {boolean} step.agreed
 * @param {boolean} step.missing Whether consent was passed over.
 * @param {(agreed: boolean) => void} step.agree
 * @param {(() => void) | null} step.practise
 * @param {() => void} step.begin
 * @param {HTMLElement | null} step.counted What was counted so far.
 * @param {Wording} words
 */
export function opening(step, words) {
  const { framing, protection, terms, lasts, practise } = step;
  const agreement = inLanguage(framing.consent, words.language);
  const exact = words.promises(protection, step.attributes).map((text) => element("p", {}, text));
  const isBounded = protection.hidden > 0 && protection.whole !== null;
  // What a report can prove, and what no bound covers, is said where nobody has to open anything.
  const isOpen = protection.provable.length > 0 || protection.timed;
  const details =
    isBounded &&
    element("details", { open: isOpen }, element("summary", {}, words.say("exactly")), ...exact);
  const notes = [
    step.drawn.join(" "),
    terms.closesAt && words.say("closesAt", { moment: words.moment(terms.closesAt) }),
    terms.maxReports && words.say("maxReports", { count: terms.maxReports }),
  ].map((note) => (note ? element("p", { class: "muted" }, note) : null));
  const begin = (/** @type {Event} */ event) => {
    event.preventDefault();
    step.begin();
  };
  return element(
    "form",
    { method: "dialog", novalidate: true, autocomplete: "off", class: "opening", submit: begin },
    element("h2", { tabindex: "-1" }, words.say("opening")),
    asker(framing, words),
    ...(isBounded
      ? consequences(step, words)
      : [element("h3", {}, words.say("protection")), ...exact]),
    isOpen ? details : null,
    lasts ? null : element("p", {}, words.say("forgetful")),
    ...notes,
    agreement ? consent(agreement, step, words) : null,
    buttons(
      element("button", { class: "main" }, words.say("begin")),
      practise && isBounded && button(words.say("practise"), practise),
    ),
    isOpen ? null : details,
    step.counted,
  );
}

/** @type {(framing: import("../framing.js").Framing, words: Wording) => HTMLElement | null} */
function asker({ askedBy, purpose, contact, privacyNotice }, words) {
  /** @type {[Key, import("../texts.js").Text][]} */
  const texts = [["askedBy", askedBy], ["purpose", purpose]];
  const defined = texts.flatMap(([key, text]) => {
    const said = inLanguage(text, words.language);
    return said
      ? [element("div", {}, element("dt", {}, words.say(key)), element("dd", {}, ofSurvey(said, words)))]
      : [];
  });
  const address = contact && !contact.startsWith("https:") ? `mailto:${contact}` : contact;
  /** @type {[Key, string | null][]} */
  const links = [["contact", address], ["privacyNotice", privacyNotice]];
  const shown = links.flatMap(([key, href]) =>
    href ? [element("a", { href, target: "_blank", rel: "noopener noreferrer" }, words.say(key))] : [],
  );
  if (defined.length + shown.length === 0) return null;
  return element(
    "div",
    { class: "asker" },
    defined.length > 0 ? element("dl", {}, ...defined) : null,
    shown.length > 0 ? element("p", { class: "links" }, ...shown) : null,
  );
}

/**
 * What others can learn, in natural frequencies, and what can and cannot happen.
 *
 * @param {Parameters<typeof opening>[0]} step
 * @param {Wording} words
 */
function consequences({ protection, fit }, words) {
  const { bare, prior } = protection;
  return [
    // What is not protected is said first.
    bare.length > 0 ? element("p", {}, words.bare(bare)) : null,
    element("h3", {}, words.say("learn")),
    element("p", {}, words.say("suppose", { count: inHundred(prior) })),
    figures(protection, words),
    element(
      "ul",
      { class: "happens" },
      ...happening(protection, fit, words).map((text) => element("li", {}, text)),
    ),
  ];
}

/** @type {(protection: Protection, words: Wording) => HTMLElement} */
function figures(protection, words) {
  return element(
    "ul",
    { class: "figures" },
    ...outlook(protection, words).map(({ label, value, count }) =>
      element("li", {}, element("span", {}, label), element("strong", {}, value), bar(count)),
    ),
  );
}

/** @param {number} count Of a hundred. */
function bar(count) {
  const length = element("span");
  // A strict policy for styles forbids the attribute, and allows this.
  length.style.inlineSize = `${count}%`;
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
