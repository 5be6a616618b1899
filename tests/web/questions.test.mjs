// Kinds of questions: their perturbed attributes, and valid records.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { RecordError, Survey, SurveyError } from "../../client/halftruth_client/js/index.js";
import { NumberRange } from "../../client/halftruth_client/js/number.js";
import { inLanguage } from "../../client/halftruth_client/js/documents.js";
import { readVectors, surveyOf } from "./helpers.mjs";

const VECTORS = readVectors("questions");
const survey = new Survey(VECTORS.survey);

for (const { members, categories, bins, refused } of VECTORS.numbers) {
  test(`numbers are in the bins of the vectors: ${categories[0]}, …`, () => {
    const range = new NumberRange(members);
    assert.deepEqual(range.categories, categories);
    for (const [answer, bin] of Object.entries(bins)) assert.equal(range.bin(answer), bin, answer);
    for (const answer of refused) assert.equal(range.bin(answer), -1, answer);
  });
}

test("floating-point numbers are read by their decimal representation", () => {
  const range = new NumberRange({ minimum: "0", maximum: "1", step: "1/10" });
  assert.deepEqual([0.1, 0.3, 0.7, 1].map((answer) => range.bin(answer)), [1, 3, 7, 9]);
  assert.deepEqual([NaN, Infinity, 1.1, -1e-9, null, [1]].map((a) => range.bin(a)), Array(6).fill(-1));
});

test("questions have the attributes of the vectors", () => {
  const found = survey.schema.attributes.map(({ name, categories, missing }) => {
    return { name, categories, missing };
  });
  assert.deepEqual(found, VECTORS.attributes);
  const questions = survey.schema.questions.map(({ name, kind }) => `${name}: ${kind}`);
  assert.deepEqual(questions, [
    "smoker: choice",
    "cigarettes: number",
    "wish: scale",
    "symptoms: several",
    "school: choice",
  ]);
});

test("records have the codes of the vectors", () => {
  for (const { record, codes } of VECTORS.records) {
    assert.deepEqual(survey.schema.encode(record), codes, JSON.stringify(record));
  }
});

test("infeasible records are refused", () => {
  for (const record of VECTORS.refused) {
    assert.throws(() => survey.schema.encode(record), RecordError, JSON.stringify(record));
  }
});

test("no error about a record contains an answer, for any kind of question", () => {
  const secret = "31415926535";
  for (const record of [
    { smoker: "yes", cigarettes: Number(secret), school: "some" },
    { smoker: "yes", cigarettes: secret, school: "some" },
    { smoker: "no", cigarettes: secret, school: "some" },
    { smoker: "no", school: "some", symptoms: [secret] },
    { smoker: "no", school: "some", symptoms: secret },
    { smoker: "no", school: "some", symptoms: ["cough"], "symptoms.cough": secret },
  ]) {
    assert.throws(() => survey.schema.encode(record), (error) => {
      assert.ok(error instanceof RecordError);
      assert.ok(!`${error.message} ${error.stack} ${error.field}`.includes(secret));
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  }
});

test("a view needs the answers to its conditions, and no others", () => {
  const { schema } = survey;
  assert.deepEqual(schema.withConditions(["wish"]), ["smoker", "cigarettes", "wish"]);
  assert.deepEqual(schema.withConditions(["symptoms.fever"]), ["symptoms.fever"]);
  const codes = schema.encode({ smoker: "yes", cigarettes: 30, wish: "2" }, ["wish"]);
  assert.deepEqual(codes, [1, 1, 1, NaN, NaN, NaN]);
  assert.deepEqual(schema.encode({ smoker: "no" }, ["wish"]), [0, 5, 3, NaN, NaN, NaN]);
  assert.throws(() => schema.encode({ cigarettes: 30, wish: "2" }, ["wish"]), { field: "smoker" });
});

test("a view of a split questionnaire is asked with its conditions", () => {
  const views = [{ attributes: [["a1"]], weight: 1 }, { attributes: [["a0"]], weight: 1 }];
  const mechanism = { kind: "split-questionnaire", gamma: "19", prime: 2, direct: 4, views };
  const { attributes } = surveyOf([2, 2], mechanism);
  attributes[1].ask_if = { a0: ["c1"] };
  const split = new Survey(surveyOf([2, 2], mechanism, { attributes }));
  assert.deepEqual(split.asked(0), ["a0", "a1"]);
  assert.deepEqual(split.asked(1), ["a0"]);
  // The first view's symbols are those of a1: c0, c1, not asked.
  const exactly = () => 0n;
  assert.deepEqual(split.perturb({ a0: "c0" }, exactly, 0), [2]);
  assert.deepEqual(split.perturb({ a0: "c1", a1: "c1" }, exactly, 0), [1]);
  assert.deepEqual(split.perturb({ a0: "c1" }, exactly, 1), [4]);
});

test("texts fall back to the first available language", () => {
  const { title, schema } = survey;
  assert.equal(inLanguage(title, "de-AT"), "Gesundheit");
  assert.equal(inLanguage(title, "DE"), "Gesundheit");
  assert.equal(inLanguage(title, "pt-BR"), "Saúde");
  assert.equal(inLanguage(title, "pt"), "Health");
  assert.equal(inLanguage("plain", "de"), "plain");
  const [smoker, cigarettes] = schema.attributes;
  assert.equal(smoker.labelIn("de"), "Rauchen Sie?");
  assert.deepEqual(new Wording("de").answers(smoker), ["nein", "ja", "prefer not to say"]);
  assert.deepEqual(new Wording().answers(smoker), smoker.categories);
  assert.equal(cigarettes.labelIn("de"), "cigarettes");
  assert.deepEqual(schema.questions[3].attributes.map((o) => o.optionIn("de")), ["Husten", "fever"]);
  assert.equal(schema.attributes[3].labelIn("de"), "symptoms – Husten");
});

test("the survey's first language takes precedence over the order in JSON", () => {
  const received = { ...VECTORS.survey, title: { de: "Gesundheit", en: "Health" } };
  assert.equal(inLanguage(new Survey(received).title), "Health");
});

const GAMMA = { kind: "gamma-diagonal", gamma: "1000" };
const number = { kind: "number", minimum: "0", maximum: "9", step: "1", categories: undefined };
const several = { kind: "several", options: [{ name: "x" }], categories: undefined };
const NO_QUESTIONS = {
  "a kind that every object has": { kind: "constructor" },
  "a range of no number": { minimum: "0", maximum: "9", step: "1" },
  "a number with categories": { ...number, categories: ["0", "1"] },
  "a number with an empty range": { ...number, maximum: "0" },
  "a number with one bin": { ...number, step: "10" },
  "a number with too many bins": { ...number, step: "1/10000" },
  "a condition on nobody": { ask_if: { b: ["x"] } },
  "several with categories": { ...several, categories: ["no", "yes"] },
  "an option twice": { ...several, options: [{ name: "x" }, { name: "x" }] },
  "an option with more": { ...several, options: [{ name: "x", categories: ["no", "yes"] }] },
};

for (const [what, more] of Object.entries(NO_QUESTIONS)) {
  test(`a question is refused for ${what}`, () => {
    const attributes = [{ name: "a0", categories: ["x", "y"], ...more }];
    const received = JSON.parse(JSON.stringify(surveyOf([2], GAMMA, { attributes })));
    assert.throws(() => new Survey(received), (error) => {
      assert.ok(error instanceof SurveyError, `${error.name}: ${error.message}`);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  });
}

for (const [field, more] of [
  ["'a0': label", { label: 5 }],
  ["'a0': help", { help: { en: null } }],
  ["'a0': page", { page: [] }],
  ["'a0': answers", { answers: { x: 7 } }],
]) {
  test(`an invalid text is refused in one line that names the field: ${field}`, () => {
    const attributes = [{ name: "a0", categories: ["x", "y"], ...more }];
    const message = `${field}: expected text, or text by language`;
    assert.throws(() => new Survey(surveyOf([2], GAMMA, { attributes })), { field, message });
  });
}
