/** Views of errors. */

import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
} from "../errors.js";
import { closed, problem } from "./closing.js";
import { element } from "./dom.js";

/** @typedef {import("./wording.js").Wording} Wording */

/** An invitation that was used or withdrawn, before anything is asked. */
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
 * An error after which nobody is asked.
 *
 * @param {unknown} error
 * @param {boolean} left Whether a report may have been sent before.
 * @param {boolean} isInvited Whether the page has something for an invitation.
 * @param {(() => void) | null} retry
 * @param {Wording} words
 */
export function failure(error, left, isInvited, retry, words) {
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
  const text = because(left ? "mayHaveLeft" : "nothingSent", error, words);
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

/**
 * @param {unknown} error
 * @param {Wording} words
 */
export function said(error, words) {
  return error instanceof HalftruthError ? error.message : words.say("unforeseen");
}
