// What becomes of one person's report, whatever the collector answers: the table of both clients.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { ADDRESS, away, FakeStorage, json } from "./helpers.mjs";

const TABLE = JSON.parse(readFileSync(new URL("../client/scenarios.json", import.meta.url), "utf-8"));
const RECORD = Object.fromEntries([..."abcdefgh"].map((name) => [name, 7]));
const INVITATIONS = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];

/** Publishes surveys, counts each report once, and answers some as a scenario says. */
class Collector {
  constructor(terms = {}, url) {
    const { title } = TABLE.survey;
    Object.assign(this, { terms, url, title, isThere: true, answers: {}, always: false });
    this.posted = [];
    this.counted = new Map();
    this.fetch = this.fetch.bind(this);
  }

  document(id) {
    return { ...TABLE.survey, id, title: this.title };
  }

  async fetch(url, { method, body }) {
    const [id] = url.slice(`${this.url}/v1/surveys/`.length).split("/");
    if (method === "GET") {
      if (!this.isThere) return json({}, 404);
      const survey = this.document(id);
      const digest = await new Survey(survey).digest();
      return json({ survey, digest, status: "open", terms: this.terms, signature: null });
    }
    const [report] = JSON.parse(body).reports;
    this.posted.push([id, report]);
    const left = this.answers[id] ?? [];
    const answer = (this.always ? left[0] : left.shift()) ?? "counts";
    if (answer === "away") return away();
    if (typeof answer === "number") return json({ detail: "no" }, answer);
    if (typeof answer === "object") {
      const { status, field, body = JSON.stringify({ detail: "no", field }) } = answer;
      return new Response(body, { status });
    }
    const isKnown = this.counted.has(report.id);
    this.counted.set(report.id, id);
    if (answer === "lost") return away();
    return json({ accepted: isKnown ? 0 : 1, duplicates: isKnown ? 1 : 0 }, 202);
  }
}

async function submitted(client, survey, delivery) {
  try {
    return (await client.submit(survey, RECORD, delivery)).status;
  } catch (error) {
    if (error.name === "AnsweredBefore") return "answered before";
    if (error.name === "ParameterError" && error.field === "invitation") return "invitation expected";
    assert.equal(error.name, "RequestRefused", error.message);
    return client.isWaiting(survey.id) ? "refused, waiting" : "refused";
  }
}

/** What became of the report of each survey. */
async function flushed(client, surveyOfReport) {
  const { sent, unsent } = await client.flush();
  const left = unsent.map(({ survey, isWaiting }) => [survey, isWaiting ? "waiting" : "given up"]);
  return Object.fromEntries([...left, ...sent.map(({ id, status }) => [surveyOfReport(id), status])]);
}

let runs = 0;

/** Run a scenario with a memory of its own; the page's, which is one for all, where there is no storage. */
async function run({ terms, steps, posts, invited }, storage) {
  runs += 1;
  const collector = new Collector(terms, `${ADDRESS}/${runs}`);
  const idOf = (survey) => `${survey}-${runs}`;
  for (const { do: action, survey = "health", answers = [], always = false, times = 1, ...step } of steps) {
    const byId = Array.isArray(answers) ? { [survey]: answers } : answers;
    collector.answers = Object.fromEntries(Object.entries(byId).map(([id, all]) => [idOf(id), [...all]]));
    collector.always = always;
    for (let i = 0; i < times; i += 1) {
      const options = { maxGamma: "1000000000", storage, fetch: collector.fetch, retries: 0, backoff: 0 };
      const client = new Client(collector.url, options);
      if (action === "publish") {
        const { title = TABLE.survey.title, terms = collector.terms } = step;
        Object.assign(collector, { isThere: true, title, terms });
      } else if (action === "delete") collector.isThere = false;
      else if (action === "flush") {
        const of = (id) => collector.posted.find(([, report]) => report.id === id)[0];
        const expected = Object.entries(step.is).map(([id, outcome]) => [idOf(id), outcome]);
        assert.deepEqual(await flushed(client, of), Object.fromEntries(expected));
      } else {
        const { invitation: given } = step;
        const invitation = typeof given === "number" ? INVITATIONS[given] : given;
        const asked = new Survey(collector.document(idOf(survey)));
        assert.equal(await submitted(client, asked, { invitation }), step.is);
      }
    }
  }
  assert.equal(collector.posted.length, posts);
  // One draw of each survey, and one report counted.
  const draws = new Set(collector.posted.map(([id, { id: report, values }]) => `${id} ${report} ${values}`));
  assert.equal(draws.size, new Set(collector.posted.map(([id]) => id)).size);
  assert.equal(collector.counted.size, new Set(collector.counted.values()).size);
  if (invited) {
    const codes = invited.map((i) => (i === null ? undefined : INVITATIONS[i]));
    assert.deepEqual(collector.posted.map(([, { invitation }]) => invitation), codes);
  }
}

for (const scenario of TABLE.scenarios) {
  test(scenario.name, async () => {
    await run(scenario, new FakeStorage());
    await run(scenario, undefined);
  });
}
