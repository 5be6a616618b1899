// The bound of a relay's batch matches tests/vectors, and is never lower.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { largestLoss, relayFigures } from "../../client/halftruth_client/js/shuffling.js";
import { readVectors } from "./helpers.mjs";

const { accepted } = readVectors("relayed");

const { vectors } = readVectors("shuffled");

for (const { gamma, respondents: batch, delta, tail } of vectors) {
  test(`a batch of ${batch} hides reports of γ = ${gamma} as in the vectors`, () => {
    const found = largestLoss(Number(gamma), batch, delta);
    assert.ok(found >= tail * (1 - 1e-5) && found <= tail * 1.002, `${found}, not ${tail}`);
  });
}

test("the figures of a relay are those of the vectors", () => {
  for (const { gamma, respondents: batch, delta, apart, together } of vectors) {
    if (gamma !== "100") continue;
    const relay = { ...accepted[0].relay, batch };
    const mechanism = { ...accepted[0].mechanism, gamma };
    const figures = relayFigures(new Survey({ ...accepted[0], relay, mechanism }));
    assert.deepEqual(figures, { batch, delta, apart, together });
  }
});
