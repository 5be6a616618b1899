/** The form's texts about a survey, answers and a report, for pages with their own forms. */

import { protection } from "../protection.js";
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
 * The privacy promise of a survey. Without a bound, only `figures` and `exactly` are filled.
 *
 * @typedef {object} Statement
 * @property {import("../protection.js").Protection} figures
 *   Guarantees as numbers: probabilities in tenths of a percent; null where there is no bound.
 * @property {string} suppose Sentence that introduces the numbers of `outlook`.
 * @property {readonly {label: string, value: string, count: number}[]} outlook
 *   Numbers of people, out of 100, who have a rare secret, before and after a report.
 * @property {readonly string[]} happening Sentences about the report: its probabilities and
 * consequences.
 * @property {readonly string[]} exactly Sentences with the exact bounds.
 */

/**
 * The privacy promise that the form shows before the first question.
 *
 * @param {Client} client
 * @param {Survey} survey Survey fetched by this client.
 * @param {{language?: string}} [options] Language of the texts; by default, as the browser prefers.
 * @returns {Promise<Statement>}
 */
export async function promiseOf(client, survey, { language } = {}) {
  const { schema } = survey;
  const words = await wordsOf(survey, language);
  const figures = protection(survey, client.unprotected);
  const relay = await loadRelayFigures(survey);
  const exactly = words.promises(figures, schema, relay);
  if (figures.hidden === 0 || figures.whole === null) {
    return { figures, suppose: "", outlook: [], happening: [], exactly };
  }
  return {
    figures,
    suppose: words.suppose(figures, schema),
    outlook: outlook(figures, words, relay),
    happening: happening(figures, survey, words, await client.view(survey)),
    exactly,
  };
}

/**
 * The questions and answers as the form shows them for review, before sending.
 *
 * @param {Survey} survey
 * @param {PersonRecord} record Answers, as for `submit`; questions without an answer are left out.
 * @param {{language?: string}} [options]
 * @returns {Promise<Line[]>}
 * @throws {import("../errors.js").RecordError}
 *   If an answer is invalid; the message names the attribute and never contains the answer.
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
 * The receipt that the form shows after sending. Null before the report is counted, so that people
 * cannot choose among draws, and if the report was not drawn by this client, since it may be
 * another person's.
 *
 * @param {Client} client Client that sent the report.
 * @param {Survey} survey
 * @param {{language?: string, record?: PersonRecord}} [options]
 *   With the answers as `record`, the receipt compares the probabilities of the report given these
 * and
 *   given other answers. The answers are not sent.
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
