// Respondents who reload, leave, return or answer again cannot bias the totals.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { receipt } from "../../client/halftruth_client/js/form/receipt.js";
import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import {
  ADDRESS, away, byName, FakeStorage, json, problem, surveyOf,
} from "./helpers.mjs";

const RESPONDENTS = 500;

const WORDING = new Wording();

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

/** Seeded bytes in place of the browser's, for reproducibility. */
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

/** A collector of all surveys that counts each id once and sometimes fails. */
class Counter {
  constructor(published, next) {
    this.published = published;
    this.next = next;
    this.reports = new Map();
    this.fetch = this.fetch.bind(this);
  }

  async fetch(_url, { method, body }) {
    if (method === "GET") return json(this.published);
    const trouble = this.next() % 4;
    if (trouble === 0) return problem(503);
    const [{ id, values }] = JSON.parse(body).reports;
    const isKnown = this.reports.has(id);
    this.reports.set(id, values.join());
    // Counted, but the response is lost.
    if (trouble === 1) return away();
    return json({ accepted: isKnown ? 0 : 1, duplicates: isKnown ? 1 : 0 }, 202);
  }
}

/**
 * Simulate a person who opens the form repeatedly and sees its questions, the status of the report
 * and the receipt. All strategies aim at a receipt that says "no". The reloading one reloads at the
 * sensitive question, sometimes leaves before sending, changes the answer at the next visit, and
 * continues until the receipt says "no". The leaving one leaves for good after sending, unless the
 * receipt says "no".
 */
async function answer(survey, counter, record, strategy, next) {
  const storage = new FakeStorage();
  const options = { maxGamma: "9", storage, fetch: counter.fetch, retries: 0, backoff: 0 };
  const open = () => new Client(ADDRESS, options);
  for (let visit = 0; visit < 6; visit += 1) {
    const client = open();
    await client.flush();
    const asked = await client.asked(survey);
    const reloads = strategy === "reloading";
    if (reloads && visit < 2 && asked.includes("a0") && next() % 2 === 0) continue;
    const said = reloads && visit > 3 ? { ...record, a0: "c0" } : record;
    await client.submit(survey, said);
    const lines = receipt(survey, client.report(survey.id), WORDING);
    // The text below the answer states how often other answers are reported so.
    const isGood = lines?.every(({ label, value }) => label !== "a0" || value.split("\n")[0] === "c0");
    if (strategy === "leaving" && !isGood) return;
    // A waiting report is eventually sent while the person stays.
    if (lines !== null && (!reloads || isGood)) break;
  }
  while (open().isWaiting(survey.id)) await open().flush();
}

/** Survey the same people without and with each strategy, and compare the totals. */
async function heldAgainstStrategies(document) {
  const survey = new Survey(document);
  survey.isPublished = true;
  const digest = await survey.digest();
  survey.digest = async () => digest;
  const next = seeded(7);
  const asked = async (strategy) => {
    const counter = new Counter({ survey: document, digest, status: "open" }, next);
    for (let person = 0; person < RESPONDENTS; person += 1) {
      // The same people for each strategy.
      const record = byName([person % 5 === 0 ? "c1" : "c0", `c${person % 3}`]);
      await answer(survey, counter, record, strategy, next);
    }
    return counter.reports;
  };
  const honest = await asked(null);
  const reloading = await asked("reloading");
  const leaving = await asked("leaving");
  assert.equal(honest.size, RESPONDENTS);
  assert.equal(reloading.size, RESPONDENTS);
  // A quarter of first attempts fail; the tolerance exceeds four standard deviations.
  assert.ok(Math.abs(leaving.size / honest.size - 0.75) < 0.08);
  for (const other of [reloading, leaving]) {
    const [statistic, cells] = difference(honest, other);
    assert.ok(cells === 5 || cells === 6);
    // Exceeded by chance once in 10 000 seeds: the quantile of 1 − 10⁻⁴.
    const bound = cells === 6 ? 25.74 : 23.51;
    assert.ok(statistic < bound, `${statistic} for ${cells} cells`);
  }
}

/** Pearson's statistic of two samples, and the number of distinct reports. */
function difference(...samples) {
  const reports = samples.map((sample) => [...sample.values()]);
  const [n, m] = reports.map(({ length }) => length);
  const cells = [...new Set(reports.flat())];
  const count = (sample, cell) => sample.filter((each) => each === cell).length;
  const terms = cells.map((cell) => {
    const [a, b] = reports.map((sample) => count(sample, cell));
    return (a * m - b * n) ** 2 / (n * m * (a + b));
  });
  return [terms.reduce((sum, term) => sum + term, 0), cells.length];
}

test("no strategy biases the totals or is counted twice: whole records", () =>
  heldAgainstStrategies(SURVEYS["whole records"]));

test("no strategy biases the totals or is counted twice: drawn questions", () =>
  heldAgainstStrategies(SURVEYS["drawn questions"]));
