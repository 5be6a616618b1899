// The sentences of the promise are those of the vectors for all programming languages.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { Survey } from "../../client/halftruth_client/js/index.js";
import { hidesAll, protection, unperturbed } from "../../client/halftruth_client/js/protection.js";
import { readVectors, surveyOf } from "./helpers.mjs";

/** Return the promise in English. */
function promises(survey, names) {
  return new Wording("en").promises(protection(survey, new Set(names)), survey.schema);
}

for (const { survey, public: names, sentences } of readVectors("protection").vectors) {
  const { kind, gamma = "" } = survey.mechanism;
  test(`the promise of a survey matches the vectors: ${survey.id}, ${kind} ${gamma}`, () => {
    assert.deepEqual(promises(new Survey(survey), names), sentences);
  });
}

test("unperturbed questions are named by label, and have no bound", () => {
  const document = surveyOf([2], { kind: "randomized-response", keep: { a0: "1" } });
  document.attributes[0].label = "Your town";
  const survey = new Survey(document);
  assert.deepEqual(unperturbed(survey, new Set(["a0"])), ["a0"]);
  assert.deepEqual(promises(survey, ["a0"]), ["Sent as answered, without protection: Your town."]);
  assert.deepEqual(unperturbed(survey, new Set()), []);
  assert.match(promises(survey, [])[0], /no bound: a report can prove an answer/);
});

test("hidesAll is false for unperturbed answers and provable answers", () => {
  const keep = (a0) => ({ kind: "randomized-response", keep: { a0 } });
  const triangular = { design: "triangular", prevalence: "1/4", answer: "c1", not_sensitive: "c0" };
  for (const [mechanism, hides] of [
    [keep("3/4"), true],
    [keep("1"), false],
    [{ kind: "distortion-matrices", designs: { a0: triangular } }, false],
  ]) {
    assert.equal(hidesAll(new Survey(surveyOf([2], mechanism)), new Set(["a0"])), hides);
  }
});

test("a wave states the bound for all waves of its series", () => {
  const mechanism = { kind: "gamma-diagonal", gamma: "3" };
  const series = { id: "panel", wave: 2, total_gamma: "9", origin: "https://survey.example.org" };
  const said = promises(new Survey(surveyOf([2], mechanism, { series })), []).at(-1);
  assert.equal(
    said.replaceAll("\u202f", " "),
    "All answers together, in all waves of this series, if no wave leaves other answers unprotected:" +
      " from 5 % to at most 32.2 % (γ = 9). A browser counts its reports at the web address" +
      " https://survey.example.org, and refuses a wave that would exceed this bound.",
  );
});
