// A mechanism whose report is no record goes all the way through the client, which asks nobody
// what kind a mechanism is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { register } from "../../client/halftruth_client/js/mechanisms/index.js";
import { pack } from "../../client/halftruth_client/js/sealing.js";
import { assertChannel, away, byName, setUp as setUpWith, surveyOf } from "./helpers.mjs";
import { newKey, openReport } from "./hpke.mjs";
import { TestSymbol } from "./symbol.mjs";

const before = surveyOf([2, 3], { kind: "test-symbol", gamma: "19/2", size: 300 });

test("a kind that nobody registered is refused, and the others are named", () => {
  const message = /expected one of: gamma-diagonal, .*split-questionnaire$/;
  assert.throws(() => new Survey(before), { name: "SurveyError", message });
  register(TestSymbol);
  assert.ok(new Survey(before));
});

test("its parameters are read as those of any mechanism", () => {
  for (const mechanism of [
    { ...before.mechanism, size: 11 },
    { ...before.mechanism, gamma: "1" },
    { ...before.mechanism, gamma: 9.5 },
    { ...before.mechanism, alpha: "1/2" },
  ]) {
    assert.throws(() => new Survey({ ...before, mechanism }), { name: "SurveyError" });
  }
});

test("every outcome of every draw is walked: its channel is the one that is written out", () => {
  for (const [gamma, a, b] of [["3", 3n, 1n], ["19/2", 19n, 2n]]) {
    for (const size of [12, 17]) {
      const document = surveyOf([2, 3], { kind: "test-symbol", gamma, size });
      const symbols = Array.from({ length: size }, (_, symbol) => [symbol]);
      const total = 2n * a + BigInt(size - 2) * b;
      const cell = ([i, j]) => 3 * i + j;
      const probability = ([y], u) => [Math.floor(y / 2) === cell(u) ? a : b, total];
      assertChannel(document, probability, { reports: symbols });
    }
  }
});

test("a symbol is packed as a column of its size, however few answers there are", () => {
  const { mechanism } = new Survey(before);
  assert.deepEqual([...pack([299], mechanism.reportSpace.shape)], [1, 43]);
});

const setUp = (published) => setUpWith(before, { published });

test("a symbol is remembered, waits, is sent once, and shown in its mechanism's words", async () => {
  const { collector, storage, open } = await setUp();
  collector.trouble = Array(9).fill(away);
  const record = byName(["c1", "c2"]);
  for (let i = 0; i < 5; i += 1) {
    const survey = await open().survey("health");
    assert.equal((await open().submit(survey, record)).status, "waiting");
  }
  collector.trouble = [];
  assert.equal((await open().flush())[0].status, "accepted");
  const [values] = collector.reports.values();
  assert.equal(values.length, 1);
  for (const { reports } of collector.posted) assert.deepEqual(reports[0].values, values);
  assert.deepEqual(JSON.parse([...storage.items.values()][0]).values, values);
});

test("a symbol is sealed", async () => {
  const { privateHex, publicHex } = newKey();
  const { collector, storage, open } = await setUp({
    terms: { invitations: false, sealing_key: publicHex },
  });
  const client = open();
  await client.submit(await client.survey("health"), byName(["c0", "c1"]));
  const [{ digest, reports: [{ id, sealed }] }] = collector.posted;
  const { values } = JSON.parse([...storage.items.values()][0]);
  assert.equal(openReport(sealed, privateHex, digest, id).readUInt16BE(), values[0]);
});

test("a mechanism that draws what is outside its report space is not sent", async () => {
  const { collector, storage, open } = await setUp();
  const survey = new Survey(before);
  for (const values of [[], [300], [-1], [0.5], ["0"], [0, 0]]) {
    survey.mechanism.perturb = () => values;
    const error = { name: "ParameterError", field: "values" };
    await assert.rejects(open().submit(survey, byName(["c0", "c1"])), error);
  }
  assert.equal(collector.posted.length + storage.items.size, 0);
});
