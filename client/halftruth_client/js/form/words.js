/** What the form says. The promise in numbers is the survey's own, of protection.js. */

/**
 * Why only some questions are asked; null where all are.
 *
 * @param {number} some
 * @param {number} all
 */
export function drawn(some, all) {
  if (some === all) return null;
  return (
    `This survey has ${all} questions, and you are asked ${some} of them. This device drew which,` +
    " at random, before you answered anything; nothing is sent about the others."
  );
}

/**
 * What happens to the answers, before they are sent.
 *
 * @param {boolean} proves Whether a report can prove an answer, which is said beside this.
 */
export function draw(proves) {
  return (
    "When you send, a random draw on this device makes a report of your answers. It may fit them" +
    ` or not${proves ? "" : ", and nobody who sees it can tell"}. Only the report is sent, and you` +
    " will see it."
  );
}

/** Below the report, once it is there. */
export const RECEIPT =
  "Chance made it from your answers, and it may not fit them. It is shown this once, to you alone.";

/** Where the browser keeps nothing. */
export const FORGETFUL =
  "This browser keeps nothing for this page. Your report is known as long as the page is open;" +
  " please do not answer again after you closed it, for a second report would tell more of you.";

/**
 * What became of a report; "open" is one that waits where the browser keeps nothing.
 *
 * @type {Record<import("../client.js").Submission["status"] | "open",
 *   {heading: string, text: string}>}
 */
export const OUTCOMES = {
  accepted: {
    heading: "Thank you",
    text: "Your report was counted.",
  },
  duplicate: {
    heading: "Thank you",
    text:
      "A report from this browser had been counted already, and counts once. If it was another" +
      " person's: this survey takes one report from each browser.",
  },
  waiting: {
    heading: "Kept for later",
    text:
      "The collector cannot be reached now. Your report is kept in this browser and sent as soon" +
      " as it can be, at the latest when you open this page again.",
  },
  open: {
    heading: "Kept for later",
    text:
      "The collector cannot be reached now. Your report is sent as soon as it can be while this" +
      " page is open. This browser keeps nothing for it: please leave the page open.",
  },
};

/** Why a survey that needs an invitation is not asked. */
export const INVITATIONS = {
  missing: {
    heading: "An invitation is needed",
    text: "This survey is by invitation only. Please open the link that you were sent.",
  },
  unreadable: {
    heading: "This invitation cannot be read",
    text: "Part of it may be missing. Please open the whole link that you were sent.",
  },
};

/**
 * What holds whatever became of the report.
 *
 * @param {boolean} ofAll Whether no answer was sent as it is.
 * @param {boolean} proves Whether a report can prove an answer.
 */
export function promise(ofAll, proves) {
  if (proves) return "Nothing but the report left this device.";
  return ofAll
    ? "What you really answered never left this device."
    : "Your other answers never left this device.";
}
