// What is promised is what is written for every language.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { asTheyAre, protection } from "../../client/halftruth_client/js/protection.js";
import { readVectors, surveyOf } from "./helpers.mjs";

for (const { survey, public: names, sentences } of readVectors("protection").vectors) {
  const { kind, gamma = "" } = survey.mechanism;
  test(`a survey promises the same as everywhere: ${survey.id}, ${kind} ${gamma}`, () => {
    assert.deepEqual(protection(new Survey(survey), new Set(names)), sentences);
  });
}

test("what is sent as it is is named by its label, and all of it is no promise", () => {
  const document = surveyOf([2], { kind: "randomized-response", keep: { a0: "1" } });
  document.attributes[0].label = "Your town";
  const survey = new Survey(document);
  assert.deepEqual(asTheyAre(survey, new Set(["a0"])), ["a0"]);
  const said = ["Sent as answered, without protection: Your town."];
  assert.deepEqual(protection(survey, new Set(["a0"])), said);
  assert.deepEqual(asTheyAre(survey, new Set()), []);
  assert.match(protection(survey, new Set())[0], /no bound: a report can prove an answer/);
});
