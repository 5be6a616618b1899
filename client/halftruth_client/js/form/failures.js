/** Views of errors. */

import {
  AnsweredBefore, CollectorUnavailable, HalftruthError, LedgerRefused, ParameterError, SurveyRefused,
} from "../errors.js";
import { checkInvitation } from "../terms.js";
import { closed, problem } from "./closing.js";
import { element } from "./dom.js";
import { ledgerOf } from "./ledger.js";

/**
 * @import { Survey } from "../survey.js"
 * @import { Wording } from "./wording.js"
 */

/** An invitation that was used or withdrawn, before anything is asked. */
class InvitationSpent extends SurveyRefused {}

/** A survey that takes no more reports, before anything is asked. */
class SurveyOver extends SurveyRefused {
  /** @param {Survey} survey */
  constructor(survey) {
    super(`survey '${survey.id}' is closed`, "status");
    this.survey = survey;
  }
}

/**
 * Make sure that a report would be taken, before anything is asked.
 *
 * @param {import("../client.js").Client} client
 * @param {Survey} survey
 * @param {string} [invitation]
 */
export async function checkAdmission(client, survey, invitation) {
  if (survey.isClosed) throw new SurveyOver(survey);
  checkInvitation(survey, invitation);
  if (!survey.terms.invitations || invitation === undefined) return;
  if ((await client.isUnspent(survey, invitation)) === false) {
    throw new InvitationSpent("invitation: it was used before, or withdrawn", "invitation");
  }
}

/**
 * @param {unknown} error
 * @param {boolean} left Whether a report may have been sent before.
 * @param {boolean} isInvited Whether the page has something for an invitation.
 * @param {(() => void) | null} retry
 * @param {((survey: Survey) => void) | null} forget Forgets what was counted.
 * @param {Wording} words
 */
export function failure(error, left, isInvited, retry, forget, words) {
  if (error instanceof CollectorUnavailable) {
    return problem(words.say("unreachable"), words.say("unreachableText"), retry, words);
  }
  if (error instanceof SurveyOver) return closed(error.survey, words);
  if (isForgetful(error)) return problem(words.say("notAsked"), [words.say("notCounted")], null, words);
  if (error instanceof LedgerRefused) {
    const { survey, ledger } = error;
    const view = problem(words.say("enough"), [exhausted(error, words)], null, words);
    view.append(ledgerOf(ledger, survey, forget && (() => forget(survey)), words) ?? "");
    return view;
  }
  /** @type {"invitationSpent" | "invitationUnreadable" | "invitationMissing" | "answeredBefore" | null} */
  let key = null;
  if (error instanceof InvitationSpent) key = "invitationSpent";
  else if (error instanceof ParameterError && error.field === "invitation") {
    key = isInvited ? "invitationUnreadable" : "invitationMissing";
  } else if (error instanceof AnsweredBefore) key = "answeredBefore";
  if (key) return problem(words.say(key), words.say(`${key}Text`), null, words);
  const text = because(left ? "mayHaveLeft" : "nothingSent", error, words);
  return problem(words.say("notAsked"), text, null, words);
}

/**
 * True where a browser keeps nothing that reports could be added up with.
 *
 * @param {unknown} error
 * @returns {error is SurveyRefused}
 */
export function isForgetful(error) {
  return error instanceof SurveyRefused && error.field === "storage";
}

/**
 * Why a report would tell too much together with those before.
 *
 * @param {LedgerRefused} error
 * @param {Wording} words
 */
export function exhausted({ field }, words) {
  if (field === "series.wave") return words.say("waveAnswered");
  return words.say(field === "maxTotalGamma" ? "totalSpent" : "seriesSpent");
}

/**
 * @param {{refused: string, about?: string}} refusal
 * @param {Survey} survey As it was fetched last.
 * @param {(() => void) | null} retry
 * @param {Wording} words
 */
export function refusal({ refused, about }, survey, retry, words) {
  if (about === "closes_at" || about === "max_reports") {
    return problem(words.say("late"), words.say("lateText"), retry, words);
  }
  const heading = words.say("refused");
  const text =
    about === "invitation" && survey.terms.invitations
      ? words.say("invitationRefusedText")
      : because("refusedText", new HalftruthError(refused), words);
  return problem(heading, text, retry, words);
}

/**
 * A sentence around what a program said, which is English whatever the form speaks.
 *
 * @param {"nothingSent" | "mayHaveLeft" | "refusedText"} key
 * @param {unknown} error
 * @param {Wording} words
 */
export function because(key, error, words) {
  const [before, after] = words.around(key, "message");
  if (!(error instanceof HalftruthError)) return [before, words.say("unforeseen"), after];
  return [before, element("span", { lang: "en", dir: "ltr" }, error.message), after];
}

/**
 * True if a report may have been sent: one was drawn here, or something is kept that cannot be read.
 *
 * @param {import("../client.js").Client | undefined} client
 * @param {string} survey Its id.
 */
export function hasReport(client, survey) {
  try {
    return (client?.report(survey) ?? null) !== null;
  } catch {
    return true;
  }
}

/** @type {(error: unknown, words: Wording) => string} */
export function messageOf(error, words) {
  return error instanceof HalftruthError ? error.message : words.say("unforeseen");
}
