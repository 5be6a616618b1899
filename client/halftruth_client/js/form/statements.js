/** What the form says of a survey, of answers and of a report, for pages that ask by themselves. */

import { inHundred, protection } from "../protection.js";
import { loadRelayFigures } from "../session.js";
import { Questionnaire } from "../questionnaire.js";
import { chooseLanguage, loadWording } from "./languages.js";
import { happening, outlook } from "./opening.js";
import { receipt } from "./receipt.js";

/**
 * @import { Client } from "../client.js"
 * @import { PersonRecord } from "../schema.js"
 * @import { Survey } from "../survey.js"
 * @import { Line } from "./views.js"
 *
 * The promise of a survey. Figures are in tenths of a percent (`figures.prior`), or null where there is
 * no bound; `outlook` says of 100 people how many have a secret that few of them have, before and after;
 * `happening` what can and cannot happen; `exactly` the bounds. Without a bound, `exactly` is all there is.
 *
 * @typedef {object} Statement
 * @property {import("../protection.js").Protection} figures
 * @property {string} suppose
 * @property {readonly {label: string, value: string, count: number}[]} outlook
 * @property {readonly string[]} happening
 * @property {readonly string[]} exactly
 */

/**
 * The promise that the form makes before it asks.
 *
 * @param {Client} client
 * @param {Survey} survey That it fetched.
 * @param {{language?: string}} [options] By default, the language that the browser prefers.
 * @returns {Promise<Statement>}
 */
export async function promiseOf(client, survey, { language } = {}) {
  const { schema, mechanism } = survey;
  const words = await wordsOf(survey, language);
  const figures = protection(survey, client.unprotected);
  const relay = await loadRelayFigures(survey);
  const exactly = words.promises(figures, schema, relay);
  if (figures.hidden === 0 || figures.whole === null) {
    return { figures, suppose: "", outlook: [], happening: [], exactly };
  }
  const fit = mechanism.fit(await client.view(survey));
  return {
    figures,
    suppose: words.say("suppose", { count: inHundred(figures.prior) }),
    outlook: outlook(figures, words, relay),
    happening: happening(figures, fit, words, survey.relay),
    exactly,
  };
}

/**
 * Answers as the form shows them before it sends: questions with what was answered.
 *
 * @param {Survey} survey
 * @param {PersonRecord} record As `submit` takes it; what it leaves out is left out here.
 * @param {{language?: string}} [options]
 * @returns {Promise<Line[]>}
 * @throws {import("../errors.js").RecordError} That names the attribute and never the answer.
 */
export async function readingOf(survey, record, { language } = {}) {
  const { schema } = survey;
  schema.encode(record, []);
  const answers = schema.byAttribute(record);
  const questionnaire = new Questionnaire(schema, [...answers.keys()]);
  questionnaire.set([...answers].map(([name, answer]) => [name, String(answer)]));
  return questionnaire.lines(await wordsOf(survey, language));
}

/**
 * The report of a person as the form shows it after sending: null before it is counted, lest people
 * choose their draws, and to whoever opens the page later, who may be somebody else.
 *
 * @param {Client} client That sent it.
 * @param {Survey} survey
 * @param {{language?: string, record?: PersonRecord}} [options]
 *   With the answers, also how often these and others make the same report; they stay here.
 * @returns {Promise<Line[] | null>}
 */
export async function receiptOf(client, survey, { language, record } = {}) {
  if (!client.hasDrawn(survey.id)) return null;
  const known = { record, relay: await loadRelayFigures(survey) };
  return receipt(survey, client.report(survey.id), await wordsOf(survey, language), known);
}

/** @type {(survey: Survey, language?: string) => ReturnType<typeof loadWording>} */
function wordsOf({ languages }, language) {
  const preferred = globalThis.navigator?.languages ?? [];
  return loadWording(chooseLanguage(languages, { named: language ? [language] : [], preferred }));
}
