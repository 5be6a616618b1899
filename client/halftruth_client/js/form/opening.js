/** The introduction before the first question: the asker, the privacy promise, and consent. */

import { inLanguage } from "../documents.js";
import { Ledger } from "../ledger.js";
import { bound, inHundred, PRIOR_TENTHS, protection } from "../protection.js";
import { countQuestions, filterQuestions } from "./receipt.js";
import { button, buttons, card, element, surveyText } from "./views.js";
import { chanceOf, hidesMore } from "./wording.js";

/**
 * @import { Protection } from "../protection.js"
 * @import { Rational } from "../rational.js"
 * @import { Session } from "../session.js"
 * @import { Survey } from "../survey.js"
 * @import { Key, Wording } from "./wording.js"
 *
 * @typedef {{label: string, value: string, count: number}} Figure
 *
 * State of the introduction, and its actions.
 *
 * @typedef {object} Step
 * @property {boolean} agreed Whether consent was given.
 * @property {boolean} missing Whether to show an error message about missing consent.
 * @property {(agreed: boolean) => void} agree
 * @property {(() => void) | null} practise
 * @property {() => void} begin
 * @property {(() => void) | null} forget Ask whether to delete the ledger of earlier reports.
 */

/** View of the introduction.
 * @type {(session: Session, step: Step, words: Wording) => HTMLElement} */
export function opening(session, step, words) {
  const { survey, client, view, ledger } = session;
  const { framing, terms } = survey;
  const promise = protection(survey, client.unprotected);
  const agreement = inLanguage(framing.consent, words.language);
  const exact = words.promises(promise, survey.schema, session.relayFigures).map((text) => element("p", {}, text));
  const isBounded = promise.hidden > 0 && promise.whole !== null;
  const notes = [
    selection(session, words).join(" "),
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
      ? consequences(promise, session, words)
      : [element("h3", {}, words.say("protection")), ...exact]),
    client.remembers ? null : element("p", {}, words.say("forgetful")),
    ...notes,
    agreement ? consent(agreement, step, words) : null,
    buttons(
      element("button", { class: "main" }, words.say("begin")),
      step.practise && isBounded && button(words.say("practise"), step.practise),
    ),
    isBounded && element("details", {}, element("summary", {}, words.say("exactly")), ...exact),
    ledgerDetails(ledger, survey, step.forget, words),
  );
}

/** @type {(framing: import("../survey.js").Framing, words: Wording) => HTMLElement | null} */
function asker({ askedBy, purpose, contact, privacyNotice }, words) {
  /** @type {[Key, import("../documents.js").Text][]} */
  const texts = [["askedBy", askedBy], ["purpose", purpose]];
  const defined = texts.flatMap(([key, text]) => {
    const said = inLanguage(text, words.language);
    return said
      ? [element("div", {}, element("dt", {}, words.say(key)), element("dd", {}, surveyText(said, words)))]
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

/** What others can learn, in natural frequencies, and facts about the report.
 * @type {(protection: Protection, session: Session, words: Wording) => HTMLElement[]} */
function consequences(protection, { survey, view, relayFigures }, words) {
  const { schema } = survey;
  return [
    // Show unprotected answers first, outside the collapsed section.
    ...words.exceptions(protection, schema).map((text) => element("p", {}, text)),
    element("h3", {}, words.say("learn")),
    element("p", {}, words.suppose(protection, schema)),
    figures(outlook(protection, words, relayFigures)),
    element(
      "ul",
      { class: "happens" },
      ...happening(protection, survey, words, view).map((text) => element("li", {}, text)),
    ),
  ];
}

/** @param {readonly Figure[]} lines */
function figures(lines) {
  return element(
    "ul",
    { class: "figures" },
    ...lines.map(({ label, value, count }) =>
      element("li", {}, element("span", {}, label), element("strong", {}, value), bar(count)),
    ),
  );
}

/** @param {number} count Of a hundred. */
function bar(count) {
  const length = element("span");
  // A strict Content-Security-Policy forbids the style attribute, but not this.
  length.style.inlineSize = `${count}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, length);
}

/** @type {(text: string, step: Step, words: Wording) => HTMLElement} */
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
    element("label", { class: "option" }, box, element("span", {}, surveyText(text, words))),
  );
}

/**
 * Bounds on how many of 100 people have a secret that 5 of 100 people have: before a report, given
 * the report, and given unperturbed answers. All people have the same unperturbed and proved answers.
 *
 * Given the report, the first bound holds for every such secret; that of a more common one is in `happening`.
 * Further bounds are for a single answer,
 * to someone who knows all other answers, if it is smaller and not itself the promise, which stands in
 * `happening` with the bound for everybody else; and for all waves of a series. With a
 * relay, the bounds are instead for a relay that does not cooperate with the collector, and for one
 * that does.
 *
 * @type {(protection: Protection, words: Wording, relay?: import("../shuffling.js").RelayFigures | null) => Figure[]}
 */
export function outlook({ prior, whole, single, isByAnswer, series }, words, relay = null) {
  const before = inHundred(prior);
  const after = inHundred(whole?.posterior ?? 1_000);
  const ofOne = isByAnswer ? null : single && inHundred(single.posterior);
  const line = (/** @type {Key} */ key, /** @type {number} */ count, values = {}) => ({
    label: words.say(key, values),
    value: words.say("atMost", { count }),
    count,
  });
  return [
    { label: words.say("before"), value: String(before), count: before },
    ...(hidesMore(relay)
      ? [line("relayApart", relay.apart, { chance: chanceOf(relay.delta) }), line("relayTogether", relay.together)]
      : [line("after", after), ...(ofOne !== null && ofOne < after ? [line("afterSingle", ofOne)] : [])]),
    ...(series ? [line("afterSeries", inHundred(series.bound?.posterior ?? 1_000))] : []),
    { label: words.say("ordinary"), value: "100", count: 100 },
  ];
}

/** Attributes of which a report about a view, or about any, has groups of answers.
 * @type {(mechanism: import("../mechanisms/base.js").Mechanism, view?: number) => import("../attribute.js").Attribute[]} */
export function collapsedOf({ schema, views }, view) {
  const some = view === undefined ? views : [views[view]];
  const collapsed = new Set(some.flatMap((each) => each.collapsed));
  return schema.attributes.filter((_, j) => collapsed.has(j));
}

/** Facts about the report, which is about a view if one was drawn.
 * @type {(protection: Protection, survey: Survey, words: Wording, view?: number) => string[]} */
export function happening(protection, { mechanism, relay }, words, view) {
  const { unperturbed, provable, series, timed } = protection;
  const isAll = unperturbed.length + provable.length === 0;
  return [
    ...words.ofAnswers(protection),
    ...words.commoner(protection),
    words.say(isAll ? "chance" : "chanceOthers", { figure: words.frequency(mechanism.fit(view)) }),
    ...words.collapsed(collapsedOf(mechanism, view)),
    ...(relay ? [words.relay(relay)] : []),
    words.say(isAll ? "certain" : "certainMostly"),
    words.say("lasting"),
    ...(timed ? [words.say("pace")] : []),
    ...(series ? [words.say("series", { wave: series.wave })] : []),
    ...(series && relay ? [words.say("relayWaves")] : []),
  ];
}

/** Sentences about the drawn questions; empty if all questions are asked.
 * @type {(session: Session, words: Wording) => string[]} */
function selection({ survey, questionnaire, view }, words) {
  const { schema, mechanism } = survey;
  const asked = questionnaire?.all.flatMap(({ attributes }) => attributes.map(({ name }) => name)) ?? [];
  const { some, all, picked } = countQuestions(survey, asked.map((name) => schema.names.indexOf(name)));
  if (some === all) return [];
  const { length: count } = filterQuestions(schema, mechanism.asked(view ?? null));
  const drawn = words.say(picked === "picked" ? "drawn" : "drawnOthers", { some, all, count: some });
  return count > 0 ? [drawn, words.say("decides", { count })] : [drawn];
}

/** A bound in words, with no-break spaces around the equals sign.
 * @type {(gamma: Rational | null, words: Wording) => string} */
export function boundOf(gamma, words) {
  return words.bound(PRIOR_TENTHS, bound(gamma)).replace(" = ", "\u00a0=\u00a0");
}

/** Collapsed section with the bounds for all earlier reports at this web address together, for
 * those of the survey's series and, unless `isShort`, for each question of either, with a button to
 * delete the ledger.
 * @type {(ledger: Ledger | null, survey: Survey, forget: (() => void) | null, words: Wording, isShort?: boolean) => HTMLElement | null} */
export function ledgerDetails(ledger, { schema, series }, forget, words, isShort = false) {
  if (ledger === null || ledger.entries.length === 0) return null;
  const waves = series === null ? new Ledger() : ledger.ofSeries(series.id);
  const whole = (/** @type {"ledgerWhole" | "ledgerSeries"} */ key, /** @type {Ledger} */ { entries, gamma }) => ({
    label: words.say(key, { count: entries.length }),
    value: boundOf(gamma, words),
  });
  const labels = new Map(schema.questions.map((each) => [each.name, each.labelIn(words.language)]));
  // Earlier waves may have had questions without a label in this survey. Names of other surveys'
  // questions would mean nothing, and show what another person was asked.
  const shown = [...ledger.questions].filter(([name]) => labels.has(name) || waves.questions.has(name));
  const lines = (isShort ? [] : shown).map(([name, { gamma, count }]) => ({
    label: words.say("ledgerQuestion", { label: labels.get(name) ?? name, count }),
    value: boundOf(gamma, words),
  }));
  const isMixed = waves.entries.length > 0 && waves.entries.length < ledger.entries.length;
  return element(
    "details",
    { class: "counted" },
    element("summary", {}, words.say("ledger")),
    card(
      words.say("ledgerTells"),
      [...(isMixed ? [whole("ledgerSeries", waves)] : []), whole("ledgerWhole", ledger), ...lines],
      "card ledger",
      words,
    ),
    forget && buttons(button(words.say("forgetLedger"), forget)),
  );
}
