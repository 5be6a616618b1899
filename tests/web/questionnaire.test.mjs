// The state of a questionnaire: displayed questions, missing answers, and the record.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { Questionnaire } from "../../client/halftruth_client/js/questionnaire.js";
import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { readVectors, surveyOf } from "./helpers.mjs";

const { schema } = new Survey(readVectors("questions").survey);
const words = new Wording();
const asked = (questionnaire) =>
  questionnaire.pages().map((page) => questionnaire.asked(page).map(({ question }) => question.name));
const problems = (questionnaire) =>
  questionnaire
    .pages()
    .flatMap((page) => questionnaire.asked(page))
    .map((one) => questionnaire.problem(one))
    .filter((problem) => problem !== null);

test("conditional questions appear and disappear with their conditions", () => {
  const form = new Questionnaire(schema);
  assert.deepEqual(asked(form), [["smoker"], ["symptoms", "school"]]);
  form.set([["smoker", "yes"]]);
  assert.deepEqual(asked(form), [["smoker"], ["cigarettes"], ["symptoms", "school"]]);
  form.set([["cigarettes", "30"]]);
  assert.deepEqual(asked(form), [["smoker"], ["cigarettes"], ["wish", "symptoms", "school"]]);
  form.set([["wish", "2"], ["school", "some"]]);
  // A number out of range satisfies no condition.
  form.set([["cigarettes", "300"]]);
  assert.deepEqual(form.record(), { smoker: "yes", cigarettes: "300", school: "some" });
});

test("answers to hidden questions are deleted for good", () => {
  const form = new Questionnaire(schema);
  form.set([["smoker", "yes"]]);
  form.set([["cigarettes", "30"]]);
  form.set([["wish", "2"], ["school", "some"]]);
  form.set([["smoker", "no"]]);
  assert.deepEqual(form.record(), { smoker: "no", school: "some" });
  assert.deepEqual(schema.encode(form.record()), [0, 5, 3, 2, 2, 1]);
  form.set([["smoker", "yes"]]);
  assert.deepEqual(form.record(), { smoker: "yes", school: "some" });
});

test("required questions without a valid answer are problems", () => {
  const form = new Questionnaire(schema);
  assert.deepEqual(problems(form), ["choose", "choose"]);
  form.set([["smoker", "yes"], ["school", "none"], ["cigarettes", "61"]]);
  assert.deepEqual(problems(form), ["number"]);
  for (const [number, left] of [["60", ["choose"]], ["1", []], ["0", ["number"]], ["7.5", ["number"]], ["?", ["number"]], ["1 ", ["number"]]]) {
    form.set([["cigarettes", number]]);
    assert.deepEqual(problems(form), left, number);
  }
  form.set([["cigarettes", "no idea"]]);
  assert.deepEqual(problems(form), []);
  form.set([["cigarettes", null]]);
  assert.deepEqual(problems(form), []);
});

test("the summary lists the asked questions and answers in words", () => {
  const form = new Questionnaire(schema);
  form.set([["smoker", "yes"], ["school", "some"], ["cigarettes", "7"]]);
  form.set([["symptoms.cough", "yes"], ["symptoms.fever", "no"]]);
  const german = new Wording("de");
  assert.deepEqual(form.lines(german), [
    { label: "Rauchen Sie?", value: "ja" },
    { label: "cigarettes", value: "7" },
    { label: "symptoms", value: "Husten" },
    { label: "school", value: "some" },
  ]);
  form.set([["symptoms.cough", "no"], ["cigarettes", null]]);
  assert.deepEqual(form.lines(words).slice(1, 3).map(({ value }) => value), [
    "No answer",
    "None of these",
  ]);
});

test("a view asks only its attributes and their conditions", () => {
  const form = new Questionnaire(schema, schema.withConditions(["wish", "symptoms.fever"]));
  form.set([["smoker", "yes"]]);
  form.set([["cigarettes", "30"]]);
  assert.deepEqual(asked(form), [["smoker"], ["cigarettes"], ["wish", "symptoms"]]);
  assert.deepEqual(form.all[3].attributes.map(({ name }) => name), ["symptoms.fever"]);
});

const shuffled = (size, more, below) => {
  const document = surveyOf([size], { kind: "gamma-diagonal", gamma: "19" });
  Object.assign(document.attributes[0], { shuffle: true, ...more });
  const form = new Questionnaire(new Survey(document).schema, undefined, below);
  return form.all[0].order;
};

test("all orders of answers are equally likely", () => {
  const orders = [];
  for (let first = 0; first < 3; first += 1) {
    for (let second = 0; second < 2; second += 1) {
      const draws = [first, second];
      const below = (bound) => {
        const draw = draws.shift();
        assert.ok(draw < bound);
        return BigInt(draw);
      };
      orders.push(shuffled(3, {}, below).join(""));
      assert.equal(draws.length, 0);
    }
  }
  assert.deepEqual(orders.sort(), ["012", "021", "102", "120", "201", "210"]);
});

test("missing answers stay behind the shuffled ones", () => {
  for (let i = 0; i < 20; i += 1) {
    const order = shuffled(6, { missing: ["c5", "none"] });
    assert.deepEqual([...order].sort(), [0, 1, 2, 3, 4]);
  }
});

test("without shuffling nothing is drawn", () => {
  const below = () => assert.fail("nothing is to be drawn");
  const plain = surveyOf([3, 2], { kind: "gamma-diagonal", gamma: "19" });
  const form = new Questionnaire(new Survey(plain).schema, undefined, below);
  assert.deepEqual(form.all.map(({ order }) => order), [[0, 1, 2], [0, 1]]);
});
