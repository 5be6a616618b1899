/** Settings from the attributes of an element. */

import { Client } from "../client.js";
import { ParameterError } from "../errors.js";

/** Milliseconds that a person may wait for a busy collector before they are told. */
const PATIENCE = 2_000;

/**
 * @param {Element} form
 * @param {Partial<import("../client.js").Options & import("../transport.js").Settings>} [settings]
 */
export function clientOf(form, settings = { retries: 2, patience: PATIENCE }) {
  const maxGamma = form.getAttribute("max-gamma");
  if (maxGamma === null) {
    throw new ParameterError(
      "max-gamma: expected the largest amplification to accept",
      "max-gamma",
    );
  }
  return new Client(form.getAttribute("collector") || location.origin, {
    maxGamma,
    unprotected: list(form, "unprotected"),
    digests: list(form, "digests"),
    operatorKeys: list(form, "operator-keys"),
    maxTotalGamma: form.getAttribute("max-total-gamma") ?? undefined,
    ...settings,
  });
}

/**
 * When reports are sent, and what is asked.
 *
 * @param {Element} form
 * @returns {{interval: number, asksAll: boolean}}
 *   Milliseconds after whose whole multiples reports are sent, or 0; whether all questions are
 *   asked, whatever a report is about.
 */
export function readSettings(form) {
  if (!form.getAttribute("survey")) {
    throw new ParameterError("survey: expected the id of a survey", "survey");
  }
  const every = form.getAttribute("send-every");
  const minutes = every === null || !/^\d+(\.\d+)?$/.test(every) ? 0 : Number(every);
  if (every !== null && !(minutes > 0 && minutes <= 1_440)) {
    throw new ParameterError(
      "send-every: expected minutes above 0, at most 1440",
      "send-every",
    );
  }
  const ask = form.getAttribute("ask") ?? "drawn";
  if (ask !== "all" && ask !== "drawn") throw new ParameterError("ask: expected drawn or all", "ask");
  return { interval: 60_000 * minutes, asksAll: ask === "all" };
}

/** @param {Element} form */
export function invitationOf(form) {
  return form.getAttribute("invitation") || undefined;
}

/**
 * Items of an attribute with blanks between, if the element has it.
 *
 * @param {Element} form
 * @param {string} name
 */
function list(form, name) {
  return form.getAttribute(name)?.split(/\s+/).filter(Boolean);
}
