// The client's reports match tests/vectors, which were computed independently.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { randomBelow } from "../../client/halftruth_client/js/sampling.js";
import { knownBytes, readVectors } from "./helpers.mjs";

const vectors = (name) => readVectors(name).vectors;

/** Kinds of mechanisms with draws in the vectors. */
const MECHANISMS = readdirSync(new URL("../vectors", import.meta.url))
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length))
  .filter((kind) => vectors(kind)?.[0]?.draws);

for (const kind of MECHANISMS) {
  for (const { survey: document, digest, draws } of vectors(kind)) {
    test(`known bytes give the reports of the vectors: ${kind}, ${document.id}`, () => {
      const survey = new Survey(document);
      for (const { record, bytes, consumed, values } of draws) {
        const source = knownBytes(bytes);
        assert.deepEqual(survey.perturb(record, randomBelow(source)), values);
        assert.equal(source.consumed(), consumed);
        assert.ok(consumed < bytes.length / 2, "bytes are left over that must not be touched");
      }
    });

    test(`the survey has the digest of the vectors: ${kind}, ${document.id}`, async () => {
      assert.equal(await new Survey(document).digest(), digest);
    });
  }
}

vectors("canonical").forEach(({ received, canonical, digest }, i) => {
  test(`a survey has its canonical text in any order of members: ${i}`, async () => {
    const survey = new Survey(JSON.parse(received));
    assert.equal(survey.canonical, canonical);
    assert.equal(await survey.digest(), digest);
  });
});

test("known bytes give the integers of the vectors", () => {
  for (const { below, bytes, consumed, integers } of vectors("integers")) {
    const source = knownBytes(bytes);
    const draw = randomBelow(source);
    assert.deepEqual(integers.map(() => String(draw(BigInt(below)))), integers);
    assert.equal(source.consumed(), consumed);
  }
});
