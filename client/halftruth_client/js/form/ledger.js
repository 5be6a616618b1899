/** What was counted of a series, for whoever answers here. */

import { bound, PRIOR_TENTHS } from "../protection.js";
import { element } from "./dom.js";
import { button, buttons, card } from "./views.js";

/**
 * @import { Survey } from "../survey.js"
 * @import { Ledger } from "../ledger.js"
 */

/**
 * The ledger that bounds a survey: that of its series, or of all where the page bounds all; null
 * where nothing does or nothing can be known of it.
 *
 * @param {Element} form
 * @param {import("../client.js").Client} client
 * @param {Survey} survey
 */
export async function boundingLedger(form, client, survey) {
  if (survey.series === null && !form.hasAttribute("max-total-gamma")) return null;
  return client.ledger(survey).catch(() => null);
}

/**
 * What reports before tell together, of whole records and of each question, and a way to forget it.
 *
 * @param {Ledger | null} ledger
 * @param {Survey} survey
 * @param {(() => void) | null} forget
 * @param {import("./wording.js").Wording} words
 */
export function ledgerOf(ledger, { schema }, forget, words) {
  if (ledger === null || ledger.entries.length === 0) return null;
  const said = (/** @type {import("../rational.js").Rational | null} */ gamma) =>
    words.bound(PRIOR_TENTHS, bound(gamma));
  const labels = new Map(schema.questions.map((each) => [each.name, each.labelIn(words.language)]));
  const lines = [...ledger.questions].map(([name, { gamma, count }]) => ({
    // A question of an earlier wave may not be asked any more.
    label: words.say("ledgerQuestion", { label: labels.get(name) ?? name, count }),
    value: said(gamma),
  }));
  const whole = { label: words.say("ledgerWhole", { count: ledger.entries.length }), value: said(ledger.gamma) };
  return element(
    "details",
    { class: "counted" },
    element("summary", {}, words.say("ledger")),
    card(words.say("ledgerTells"), [whole, ...lines], "card", words),
    forget && element("p", {}, words.say("ledgerNote")),
    forget && buttons(button(words.say("forgetLedger"), forget)),
  );
}
