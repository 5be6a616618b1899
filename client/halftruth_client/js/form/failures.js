/** What people are told when something is in the way. */

import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
} from "../errors.js";
import { closed, problem } from "./closing.js";
import { element } from "./dom.js";

/** @typedef {import("./wording.js").Wording} Wording */

/** What is to be told of an invitation that lets nothing in, before anything is asked. */
export class InvitationSpent extends HalftruthError {}

/** A survey that takes no more reports, before anything is asked. */
export class SurveyOver extends HalftruthError {
  /** @param {import("../survey.js").Survey} survey */
  constructor(survey) {
    super(`survey '${survey.id}' is closed`, "status");
    this.survey = survey;
  }
}

/**
 * An error after which nothing was sent.
 *
 * @param {unknown} error
 * @param {boolean} isInvited Whether the page has something for an invitation.
 * @param {(() => void) | null} retry
 * @param {Wording} words
 */
export function failure(error, isInvited, retry, words) {
  if (error instanceof CollectorUnavailable) {
    return problem(words.say("unreachable"), words.say("unreachableText"), retry, words);
  }
  if (error instanceof SurveyOver) return closed(error.survey, words);
  if (error instanceof InvitationSpent) {
    return problem(words.say("invitationSpent"), words.say("invitationSpentText"), null, words);
  }
  if (error instanceof ParameterError && error.field === "invitation") {
    return isInvited
      ? problem(
          words.say("invitationUnreadable"),
          words.say("invitationUnreadableText"),
          null,
          words,
        )
      : problem(words.say("invitationMissing"), words.say("invitationMissingText"), null, words);
  }
  if (error instanceof AnsweredBefore) {
    return problem(words.say("answeredBefore"), words.say("answeredBeforeText"), null, words);
  }
  const text =
    error instanceof HalftruthError
      ? inEnglish("nothingSent", error.message, words)
      : words.say("nothingSent", { message: words.say("unforeseen") });
  return problem(words.say("notAsked"), text, null, words);
}

/**
 * A report that the collector will not count.
 *
 * @param {{refused: string, about?: string}} refusal
 * @param {import("../survey.js").Survey} survey As it was fetched last.
 * @param {(() => void) | null} retry
 * @param {Wording} words
 */
export function refusal({ refused, about }, survey, retry, words) {
  const heading = words.say("refused");
  if (about === "closes_at" || about === "max_reports") {
    return problem(heading, words.say("refusedLate"), retry, words);
  }
  const text =
    about === "invitation" && survey.terms.invitations
      ? words.say("invitationRefusedText")
      : inEnglish("refusedText", refused, words);
  return problem(heading, text, retry, words);
}

/**
 * A sentence around what a program said, which is English whatever the form speaks.
 *
 * @param {"nothingSent" | "refusedText"} key
 * @param {string} message
 * @param {Wording} words
 */
function inEnglish(key, message, words) {
  const [before, after] = words.around(key, "message");
  return [before, element("span", { lang: "en", dir: "ltr" }, message), after];
}

/**
 * @param {unknown} error
 * @param {Wording} words
 */
export function said(error, words) {
  return error instanceof HalftruthError ? error.message : words.say("unforeseen");
}
