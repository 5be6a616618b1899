// Whoever reloads, leaves, comes back or answers again changes nothing: 20 000 people, each with
// and without such a strategy, which sees all that the form shows.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { ADDRESS, away, byName, FakeStorage, json, problem, surveyOf } from "./helpers.mjs";

const PEOPLE = 20_000;

/** A sensitive question and another one; one answer in five is the sensitive "yes". */
const SURVEYS = {
  "whole records": surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "9" }),
  "drawn questions": surveyOf([2, 3], {
    kind: "split-questionnaire",
    gamma: "9",
    prime: 5,
    direct: 6,
    views: [{ attributes: [["a0", "a1"]], choose: [1], weight: 1 }],
  }),
};

/** Seeded bytes in place of the browser's, so that the test is the same each time. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return (word ^ (word >>> 14)) >>> 0;
  };
}

const real = crypto.getRandomValues;
before(() => {
  const next = seeded(20261122);
  crypto.getRandomValues = (bytes) => {
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = next() >>> 24;
    return bytes;
  };
});
after(() => {
  crypto.getRandomValues = real;
});

/** A collector for all of them, which counts each id once; now and then it is in trouble. */
class Counter {
  constructor(next) {
    this.next = next;
    this.reports = new Map();
    this.fetch = this.fetch.bind(this);
  }

  async fetch(_url, { body }) {
    const trouble = this.next() % 4;
    if (trouble === 0) return problem(503);
    const [{ id, values }] = JSON.parse(body).reports;
    const isKnown = this.reports.has(id);
    this.reports.set(id, values.join());
    // Counted, and the answer is lost.
    if (trouble === 1) return away();
    return json({ accepted: isKnown ? 0 : 1, duplicates: isKnown ? 1 : 0 }, 202);
  }
}

/**
 * One person, who opens the form again and again. All that is shown is what is asked, what became
 * of the report, and the receipt. Whoever has the strategy wants to be seen to answer "no": reloads
 * while the sensitive question is asked, leaves before sending now and then, answers otherwise the
 * next time, and goes on for as long as the receipt does not say "no".
 */
async function answer(survey, counter, record, strategy, next) {
  const storage = new FakeStorage();
  const options = { maxGamma: "9", storage, fetch: counter.fetch, retries: 0, backoff: 0 };
  const open = () => {
    const client = new Client(ADDRESS, options);
    // As it was fetched; doing so each time takes long and changes nothing.
    client.catalog.set(survey.id, survey);
    return client;
  };
  for (let visit = 0; visit < 6; visit += 1) {
    const client = open();
    await client.flush();
    const asked = await client.asked(survey);
    if (strategy && visit < 2 && asked.includes("a0") && next() % 2 === 0) continue;
    const said = strategy && visit > 3 ? { ...record, a0: "c0" } : record;
    await client.submit(survey, said);
    const receipt = client.receipt(survey);
    // What waits is sent by and by, whatever a person does.
    if (receipt === null) continue;
    const isGood = receipt.every(({ label, value }) => label !== "a0" || value === "c0");
    if (!strategy || isGood) break;
  }
  while (open().isWaiting(survey.id)) await open().flush();
}

for (const [name, document] of Object.entries(SURVEYS)) {
  test(`no strategy moves the totals, nor counts anybody twice: ${name}`, async () => {
    const survey = new Survey(document);
    survey.isPublished = true;
    const digest = await survey.digest();
    survey.digest = async () => digest;
    const next = seeded(7);
    const totals = [];
    for (const strategy of [false, true]) {
      const counter = new Counter(next);
      for (let person = 0; person < PEOPLE / 2; person += 1) {
        // The same people each time.
        const record = byName([person % 5 === 0 ? "c1" : "c0", `c${person % 3}`]);
        await answer(survey, counter, record, strategy, next);
      }
      assert.equal(counter.reports.size, PEOPLE / 2);
      const counts = new Map();
      for (const cell of counter.reports.values()) counts.set(cell, (counts.get(cell) ?? 0) + 1);
      totals.push(counts);
    }
    // Pearson's statistic of two samples of one distribution. By chance it exceeds the bound, the
    // quantile of 1 − 10⁻⁴ for 4 or 5 degrees of freedom, once in 10 000 seeds.
    const [without, with_] = totals;
    const cells = [...new Set([...without.keys(), ...with_.keys()])];
    const statistic = cells.reduce((sum, cell) => {
      const [a, b] = [without.get(cell) ?? 0, with_.get(cell) ?? 0];
      return sum + (a - b) ** 2 / (a + b);
    }, 0);
    assert.ok(cells.length === 5 || cells.length === 6);
    const bound = cells.length === 6 ? 25.74 : 23.51;
    assert.ok(statistic < bound, `${statistic} for ${cells.length} cells`);
  });
}
