/** What the form says, and the numbers in it. */

import { worstCasePosterior } from "../privacy.js";

/** The prior that the guarantee is told with. */
const PRIOR = 0.05;

/**
 * A share as a percentage, rounded up so that nothing is promised that does not hold.
 *
 * @param {number} share
 */
export function percent(share) {
  return `${Math.ceil(share * 1000 - 1e-9) / 10}\u202f%`;
}

/**
 * The guarantee in plain words.
 *
 * @param {import("../rational.js").Rational} gamma
 * @param {boolean} ofAll Whether no answer is sent as it is.
 */
export function guarantee(gamma, ofAll) {
  const after = percent(worstCasePosterior(PRIOR, gamma));
  return (
    "A random draw on this device made the report of your answers. It may differ from them or" +
    ` not, and nobody who sees it can tell: whatever someone thought ${percent(PRIOR)} likely of` +
    ` ${ofAll ? "you" : "your other answers"}, the report can at most make it ${after} likely,` +
    " whoever they are and whatever else they know."
  );
}

/**
 * What became of a report.
 *
 * @type {Record<import("../client.js").Submission["status"], {heading: string, text: string}>}
 */
export const OUTCOMES = {
  accepted: {
    heading: "Thank you",
    text: "Your report was counted.",
  },
  duplicate: {
    heading: "Thank you",
    text: "This report had been counted already, and counts once.",
  },
  waiting: {
    heading: "Kept for later",
    text:
      "The collector cannot be reached now. Your report is kept in this browser and sent as soon" +
      " as it can be, at the latest when you open this page again.",
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
 */
export function promise(ofAll) {
  return ofAll
    ? "What you really answered never left this device."
    : "Your other answers never left this device.";
}
