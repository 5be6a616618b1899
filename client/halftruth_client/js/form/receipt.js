/** A report in words, for the person whose it is. */

import { isCounted } from "../memory.js";
import { unperturbed } from "../protection.js";

/** Combinations of answers that are shown at most. */
const EXAMPLES = 3;

/**
 * @import { Survey } from "../survey.js"
 * @import { Line } from "./views.js"
 * @import { Wording } from "./wording.js"
 */

/**
 * A line of a value for each thing that the report holds, once the collector has it; null before.
 *
 * What someone could still keep from being sent is not shown, lest people choose their draws.
 *
 * @param {Survey} survey
 * @param {import("../memory.js").Remembered | null} report
 * @param {Wording} words
 * @param {import("../schema.js").PersonRecord | null} [record]
 *   The answers that it was made of: how often they and others make the same report, if they are there.
 * @returns {Line[] | null}
 */
export function receipt(survey, report, words, record = null) {
  if (report === null || !isCounted(report)) return null;
  const { attributes } = survey.schema;
  const answers = attributes.map((attribute) => words.answers(attribute));
  const labelOf = (/** @type {number} */ j) => words.label(attributes[j]);
  const { codes, symbol } = survey.mechanism.contents(report.values, EXAMPLES + 1);
  const lines = codes.map(([j, code]) => ({ label: labelOf(j), value: answers[j][code] }));
  // Options of one question are one, as on the first page.
  const count = (/** @type {readonly number[]} */ places) =>
    new Set(places.map((j) => attributes[j].question ?? attributes[j])).size;
  let isDrawn = false;
  if (symbol !== undefined) {
    const { code, positions, likelier } = symbol;
    const apart = new Set(codes.map(([j]) => j));
    const some = count(positions);
    const all = count(attributes.map((_, j) => j).filter((j) => !apart.has(j)));
    isDrawn = some < all;
    lines.push({
      label: isDrawn ? words.say("picked", { some, all, count: some }) : words.say("reportedOn"),
      value: positions.map(labelOf).join("\n"),
    });
    const reported = [...positions, ...apart].map((j) => survey.schema.names[j]);
    const decided = filterQuestions(survey.schema, reported).map((question) => question.labelIn(words.language));
    if (decided.length > 0) lines.push({ label: words.say("decided"), value: decided.join("\n") });
    lines.push({ label: words.say("code"), value: String(code) });
    if (likelier.length > 0) {
      const shown = likelier
        .slice(0, EXAMPLES)
        .map((cell) => cell.map((own, i) => answers[positions[i]][own]).join(", "));
      const key = likelier.length > EXAMPLES ? "fitsSome" : "fits";
      lines.push({ label: words.say(key), value: shown.join("\n") });
    }
  }
  const meaning = record && frequencies(survey, report.values, record, isDrawn, words);
  return meaning ? [...lines, meaning] : lines;
}

/**
 * Of how many people with these and with other answers the same would be sent.
 *
 * @param {Survey} survey
 * @param {readonly number[]} values
 * @param {import("../schema.js").PersonRecord} record
 * @param {boolean} isDrawn Whether others may report on other questions.
 * @param {Wording} words
 * @returns {Line | null} Null where nothing is perturbed.
 */
function frequencies(survey, values, record, isDrawn, words) {
  const { schema, mechanism } = survey;
  const { codes, symbol } = mechanism.contents(values, 0);
  const positions = symbol ? symbol.positions : codes.map(([j]) => j);
  const reported = positions.map((j) => schema.names[j]);
  const { own, others } = mechanism.likelihoods(values, schema.encode(record, reported));
  if (others === null) return null;
  const { base, figures } = words.frequencies([own, others.least, others.most]);
  const [yours, ...rest] = figures;
  const isAll = unperturbed(survey, new Set(schema.names)).length === 0;
  return {
    label: words.say(isDrawn ? "sendThisDrawn" : "sendThis", { base }),
    value: [
      words.say("withYours", { figure: yours }),
      words.say(isAll ? "withOthers" : "withOthersProtected", { figure: words.between(rest) }),
    ].join("\n"),
  };
}

/**
 * Questions that are asked for the sake of others alone: nothing is reported on them.
 *
 * @param {import("../schema.js").Schema} schema
 * @param {readonly string[]} reported Names of the attributes that a report is about.
 */
export function filterQuestions(schema, reported) {
  const needed = schema.withConditions(reported);
  return schema.questions.filter(({ attributes }) => {
    const names = attributes.map(({ name }) => name);
    return names.some((name) => needed.includes(name)) && !names.some((name) => reported.includes(name));
  });
}
