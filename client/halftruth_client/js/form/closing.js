/** Views of the outcome of a report, and of errors. */

import { inLanguage } from "../documents.js";
import {
  AnsweredBefore, CollectorUnavailable, HalftruthError, LedgerRefused, ParameterError, SurveyRefused,
} from "../errors.js";
import { hidesAll } from "../protection.js";
import { boundOf, ledgerDetails } from "./opening.js";
import { receipt } from "./receipt.js";
import { button, buttons, card, element, surveyText, view } from "./views.js";

/**
 * @import { Rational } from "../rational.js"
 * @import { Session } from "../session.js"
 * @import { Survey } from "../survey.js"
 * @import { Child } from "./views.js"
 * @import { Key, Wording } from "./wording.js"
 *
 * Link to follow after the survey, and the seconds until an automatic redirect; null without one.
 *
 * @typedef {{address: URL, seconds: number | null, stay: () => void}} Onward
 *
 * Actions that a view offers; missing if the page does not support them.
 *
 * @typedef {object} Offers
 * @property {Onward | null} [onward]
 * @property {(() => void) | null} [again] Send the same report again.
 * @property {(() => void) | null} [another] Let another person answer.
 * @property {(() => void) | null} [retry] Repeat the failed action.
 * @property {(() => void) | null} [forget] Ask whether to delete the ledger of earlier reports.
 */

/** @type {Record<"counted" | "before" | "shared" | "waiting" | "open", [heading: Key, text: Key]>} */
const OUTCOMES = {
  counted: ["thanks", "counted"],
  before: ["answeredHere", "answeredHereText"],
  shared: ["answeredHere", "answeredHereShared"],
  waiting: ["keptForLater", "waiting"],
  open: ["keptForLater", "open"],
};

/** Outcome of a report: counted in this session; counted before, perhaps for another person
 * (`before`, or `shared` on a shared device); or waiting, which is `open` if the browser has no
 * storage.
 * @type {(session: Session) => keyof typeof OUTCOMES} */
function outcomeOf({ state, status, isOwn, client, survey }) {
  if (state !== "counted") return client.remembers ? "waiting" : "open";
  if (isOwn || status === "accepted") return "counted";
  return survey.terms.sharedDevices ? "shared" : "before";
}

/** View of a report that was counted or waits, with the next actions.
 * @type {(session: Session, offers: Offers, words: Wording) => HTMLElement} */
export function outcome(session, { onward, again, another, forget }, words) {
  const { survey, client, questionnaire, isOwn, heldUntil, state } = session;
  const what = outcomeOf(session);
  const [heading, text] = OUTCOMES[what];
  // Show the report only in the session that drew it: later visitors may be other people.
  const known = { record: questionnaire?.record(), relay: session.relayFigures };
  const report = isOwn ? receipt(survey, session.report, words, known) : null;
  const details = report?.filter(({ isDetail }) => isDetail) ?? [];
  const answers = (isOwn && questionnaire?.lines(words)) || [];
  const isCounted = state === "counted";
  const thanks = isCounted && isOwn ? inLanguage(survey.framing.thanks, words.language) : "";
  // Promise nothing about the report of another person.
  const promise = what === "before" || what === "shared" ? "" : ` ${words.say("nothingElse")}`;
  const held = heldUntil ? `${words.say("held", { moment: words.moment(heldUntil) })} ` : "";
  const isHidden = hidesAll(survey, client.unprotected);
  const said = what === "counted" ? words.counted(survey) : words.say(text);
  return view(
    words.say(heading),
    thanks ? element("p", {}, surveyText(thanks, words)) : null,
    element("p", {}, `${held}${said}${promise}`),
    report &&
      element(
        "div",
        { class: "pair" },
        card(words.say("sent"), report.filter(({ isDetail }) => !isDetail), "card sent", words),
        answers.length > 0 ? card(words.say("answers"), answers, "card", words) : null,
      ),
    report && element("p", {}, words.say(isHidden ? "receipt" : "receiptProving")),
    details.length > 0 &&
      element(
        "details",
        { class: "often" },
        element("summary", {}, words.say("howOften")),
        card(words.say("howOften"), details, "card", words),
      ),
    onward && onwardLink(onward, words),
    again && buttons(button(words.say("again"), again)),
    another && buttons(button(words.say("another"), another)),
    // Nor which questions the report of another person is about.
    ledgerDetails(session.ledger, survey, forget ?? null, words, !isOwn),
  );
}

/** View of a failed session, with the reason.
 * @type {(session: Session, offers: Offers, words: Wording) => HTMLElement} */
export function failure(session, { retry = null, forget }, words) {
  const { error, survey } = session;
  const isRefused = error instanceof SurveyRefused;
  if (error instanceof CollectorUnavailable) {
    return problem(words.say("unreachable"), words.say("unreachableText"), retry, words);
  }
  if (isRefused && error.field === "status") return closed(survey, words);
  if (isRefused && error.field === "opens_at") {
    const moment = words.moment(survey.terms.opensAt ?? "");
    return problem(words.say("planned"), words.say("plannedText", { moment }), retry, words);
  }
  /** @type {"invitationSpent" | "invitationUnreadable" | "invitationMissing" | "answeredBefore" | null} */
  let key = null;
  if (isRefused && error.field === "invitation") key = "invitationSpent";
  else if (error instanceof ParameterError && error.field === "invitation") {
    key = session.invitation === undefined ? "invitationMissing" : "invitationUnreadable";
  } else if (error instanceof AnsweredBefore) key = "answeredBefore";
  if (key) return problem(words.say(key), words.say(`${key}Text`), null, words);
  const text = reasonOf(error, session.mayHaveLeft, words);
  if (!(error instanceof LedgerRefused)) return problem(words.say("notAsked"), text, null, words);
  const isRepeated = error.field === "series.wave";
  const made = problem(words.say(isRepeated ? "answeredBefore" : "enough"), text, null, words);
  made.append(ledgerDetails(error.ledger, error.survey, forget ?? null, words) ?? "");
  return made;
}

/** View of a report that the collector refused.
 * @type {(session: Session, offers: Offers, words: Wording) => HTMLElement} */
export function refusal({ error, survey }, { again = null }, words) {
  const { field } = /** @type {HalftruthError} */ (error);
  if (field === "closes_at" || field === "max_reports") {
    return problem(words.say("late"), words.say("lateText"), again, words);
  }
  const text =
    field === "invitation" && survey.terms.invitations
      ? words.say("invitationRefusedText")
      : explain("refusedText", error, words);
  return problem(words.say("refused"), text, again, words);
}

/** The reason why the survey cannot be answered, or the report was not sent.
 * @type {(error: unknown, mayHaveLeft: boolean, words: Wording) => Child[]} */
export function reasonOf(error, mayHaveLeft, words) {
  if (error instanceof LedgerRefused) {
    if (error.field === "series.wave") return [words.say("waveAnswered")];
    return [words.say(error.field === "maxTotalGamma" ? "totalSpent" : "seriesSpent")];
  }
  if (error instanceof SurveyRefused && error.field === "storage") return [words.say("notCounted")];
  if (error instanceof SurveyRefused && error.field === "series.origin") {
    return [words.say("otherAddress", { address: error.survey?.series?.origin ?? "" })];
  }
  return explain(mayHaveLeft ? "mayHaveLeft" : "nothingSent", error, words);
}

/** A sentence with an error message, which is in English in every language of the form.
 * @type {(key: "nothingSent" | "mayHaveLeft" | "refusedText", error: unknown, words: Wording) => Child[]} */
function explain(key, error, words) {
  const [before, after] = words.text(key).split("{message}");
  if (!(error instanceof HalftruthError)) return [before, words.say("unforeseen"), after];
  return [before, element("span", { lang: "en", dir: "ltr" }, error.message), after];
}

/** The link to follow after a survey; null without one. `stay` is called to cancel a redirect.
 * @type {(framing: import("../survey.js").Framing, stay: () => void) => Onward | null} */
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
function onwardLink({ address, seconds, stay }, words) {
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

/** Ask whether to delete the ledger of all reports at this web address, and explain the
 * consequences: what others can learn if the allowed total is spent again. `allowed` is null without
 * a limit.
 * @typedef {{ledger: import("../ledger.js").Ledger, allowed: Rational | null, back: () => void, go: () => void}} Asking
 * @type {(step: Asking, words: Wording) => HTMLElement} */
export function askToForget({ ledger, allowed, back, go }, words) {
  const { gamma } = ledger;
  const spent = boundOf(gamma, words);
  const cost =
    allowed === null
      ? words.say("forgetCostUnlimited", { spent })
      : words.say("forgetCost", { spent, total: boundOf(gamma && gamma.times(allowed), words) });
  return view(
    words.say("forgetHeading"),
    element("p", {}, cost),
    element("p", {}, words.say("ledgerNote")),
    buttons(button(words.say("back"), back, "main"), button(words.say("forgetYes"), go)),
  );
}

/** @type {(survey: Survey, words: Wording) => HTMLElement} */
function closed({ closedBecause, terms, relay }, words) {
  let text = words.say("closedOperator");
  if (closedBecause === "quota") text = words.say("closedQuota");
  else if (closedBecause === "deadline" && terms.closesAt !== null) {
    text = words.say("closedDeadline", { moment: words.moment(terms.closesAt) });
  } else if (closedBecause === "relay" && relay !== null) {
    text = words.say("closedRelay", { host: new URL(relay.url).host });
  }
  return view(words.say("closed"), element("p", {}, text));
}

/** @type {(heading: string, text: string | readonly Child[], retry: (() => void) | null, words: Wording) => HTMLElement} */
function problem(heading, text, retry, words) {
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
