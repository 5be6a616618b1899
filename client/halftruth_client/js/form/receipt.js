/** The receipt: a report in words, for the person who answered. */

import { isCounted } from "../memory.js";
import { least, most } from "../mechanisms/base.js";
import { inHundred, protection } from "../protection.js";
import { nameAnswers, questionOf } from "./naming.js";
import { hidesMore } from "./wording.js";

/**
 * @import { Protection } from "../protection.js"
 * @import { Survey } from "../survey.js"
 * @import { Line } from "./views.js"
 * @import { Wording } from "./wording.js"
 *
 * @typedef {import("../schema.js").PersonRecord | null} Answers
 * @typedef {{record?: Answers, relay?: import("../shuffling.js").RelayFigures | null}} Known
 */

/**
 * Lines that describe a counted report; null before it is counted, so that people cannot choose
 * among draws.
 *
 * The first line is a detail, as is that of a symbol: the probability of the same report given other answers and, with `record`,
 * given these answers. The last line says what others can learn. A reported answer is shown with
 * the probability that another answer is reported by it, and a symbol by the answers that it names. These are
 * read from the report alone, never from the answers.
 *
 * @type {(survey: Survey, report: import("../memory.js").Remembered | null, words: Wording, known?: Known)
 *   => Line[] | null}
 */
export function receipt(survey, report, words, { record = null, relay = null } = {}) {
  if (report === null || !isCounted(report)) return null;
  const { schema, mechanism } = survey;
  const { attributes } = schema;
  const answers = attributes.map((attribute) => words.answers(attribute));
  const labelOf = (/** @type {number} */ j) => words.label(attributes[j]);
  const groupsOf = (/** @type {number} */ j) =>
    words.say("inGroup", { label: labelOf(j), groups: words.groups(attributes[j]) });
  /** All options of a question that is perturbed as one set have the same label here. */
  const shownOf = (/** @type {number} */ j) => {
    const set = schema.sets.find(({ positions }) => positions.includes(j));
    return set ? questionOf(schema, set.name).labelIn(words.language) : labelOf(j);
  };
  const { codes, symbol } = mechanism.contents(report.values);
  /** @type {Line[]} */
  const lines = codes.map(([j, code, others]) => {
    const also = others ? words.say("alsoOthers", { figure: words.frequency(others) }) : words.say("asAnswered");
    return { label: labelOf(j), value: `${answers[j][code]}\n${also}` };
  });
  let isDrawn = false;
  if (symbol !== undefined) {
    const { code, positions, collapsed, likelier, combinations } = symbol;
    const apart = codes.map(([j]) => j);
    const { some, all, picked } = countQuestions(survey, positions);
    isDrawn = some < all;
    lines.push({
      label: isDrawn ? words.say(picked, { some, all, count: some }) : words.say("reportedOn"),
      value: [...new Set(positions.map((j) => (collapsed.includes(j) ? groupsOf(j) : shownOf(j))))].join("\n"),
    });
    const reported = [...positions, ...apart].map((j) => schema.names[j]);
    const decided = filterQuestions(schema, reported).map((question) => question.labelIn(words.language));
    if (decided.length > 0) lines.push({ label: words.say("decided"), value: decided.join("\n") });
    const kind = collapsed.length > 0 ? "likelierGroups" : "likelier";
    const isEqual = likelier === 0 || likelier === combinations;
    const number = words.say(isEqual ? "likelierNone" : kind, { some: likelier, all: combinations });
    const said = isEqual ? [] : nameAnswers(survey, code, collapsed, words);
    const listed = said.length > 1 ? [words.say("saysOneOf"), ...said.map((each) => `• ${each.join(", ")}`)] : said.flat();
    lines.push(
      { label: words.say("says"), value: listed.join("\n") || number },
      { label: words.say("code", { code: String(code) }), value: number, isDetail: true },
    );
  }
  const promise = protection(survey, new Set(schema.names));
  const chances = frequencies(survey, promise, report.values, record, isDrawn, words);
  const learnt = learnable(survey, promise, report.values, relay, words);
  return [...(chances ? [chances] : []), ...lines, ...(learnt ? [learnt] : [])];
}

/** The numbers of questions that a report about some positions is about, and that it could be about; and the
 * key of the sentence about them. Questions that every report states are not counted, and the options of
 * a question count as one.
 * @type {(survey: Survey, positions: readonly number[]) => {some: number, all: number, picked: "picked" | "pickedOthers"}} */
export function countQuestions({ schema: { attributes }, mechanism: { unperturbed } }, positions) {
  const count = (/** @type {readonly number[]} */ places) =>
    new Set(places.filter((j) => !unperturbed.includes(j)).map((j) => attributes[j].question ?? attributes[j])).size;
  const picked = unperturbed.length > 0 ? "pickedOthers" : "picked";
  return { some: count(positions), all: count(attributes.map((_, j) => j)), picked };
}

/**
 * Line with the number of people with other answers, and with these, who would send the same
 * report; null if nothing is perturbed. All have the same unperturbed answers. If the questions were
 * drawn, it is of people who report on the same questions.
 *
 * @param {Survey} survey
 * @param {Protection} promise
 * @param {readonly number[]} values
 * @param {Answers} record
 * @param {boolean} isDrawn
 * @param {Wording} words
 * @returns {Line | null}
 */
function frequencies({ schema, mechanism }, promise, values, record, isDrawn, words) {
  const { unperturbed } = promise;
  const open = new Set(unperturbed.map(({ name }) => name));
  const { codes, symbol } = mechanism.contents(values);
  const positions = symbol ? symbol.positions : codes.map(([j]) => j);
  const reported = positions.map((j) => schema.names[j]);
  const sent = symbol ? schema.names.map(() => 0) : values;
  const { own, others } = record
    ? mechanism.likelihoods(values, schema.encode(record, reported), open)
    : mechanism.likelihoods(values, sent);
  if (others === null) return null;
  const any = { least: least([own, others.least]), most: most([own, others.most]) };
  const shown = record ? others : any;
  const { base, figures } = words.frequencies([shown.least, shown.most, own]);
  const [fewest, greatest, yours] = figures;
  const figure = words.between([fewest, greatest]);
  const isAll = unperturbed.length === 0;
  const same = words.same({ ...promise, provable: [] }, schema);
  const also = others.most.sign() > 0 ? `${words.say("sameOfOthers")} ` : "";
  const withAny = words.say(isAll ? "withAny" : "withAnyProtected", { figure });
  const withOthers = words.say(isAll ? "withOthers" : "withOthersProtected", { figure });
  const shares = record ? [withOthers, words.say("withYours", { figure: yours })] : [withAny];
  return {
    label: `${also}${words.say(isDrawn ? "sendThisDrawn" : "sendThis", { base, same })}`,
    value: [...shares, words.say("notCertainty")].join("\n"),
    isDetail: true,
  };
}

/** Line with the largest posteriors given the report, as in the introduction; null without a bound.
 * @type {(survey: Survey, promise: Protection, values: readonly number[],
 *   relay: import("../shuffling.js").RelayFigures | null, words: Wording) => Line | null} */
function learnable({ schema }, promise, values, relay, words) {
  const { prior, unperturbed, provable, hidden, whole } = promise;
  if (hidden === 0 || whole === null) return null;
  const same = words.same(promise, schema, values);
  const counts = { before: inHundred(prior), after: inHundred(whole.posterior), same };
  const isAll = unperturbed.length + provable.length === 0;
  const value = hidesMore(relay)
    ? words.say("learntRelay", { ...counts, relayed: words.relayed(relay) })
    : words.say("learntSame", counts);
  return { label: words.say(isAll ? "learnt" : "learntProtected"), value: [value, ...words.commoner(promise)].join("\n") };
}

/** Questions that are asked only because conditions of reported questions depend on them.
 * @param {import("../schema.js").Schema} schema
 * @param {readonly string[]} reported Names of the attributes that a report is about. */
export function filterQuestions(schema, reported) {
  const needed = schema.withConditions(reported);
  return schema.questions.filter(({ attributes }) => {
    const names = attributes.map(({ name }) => name);
    return names.some((name) => needed.includes(name)) && !names.some((name) => reported.includes(name));
  });
}
