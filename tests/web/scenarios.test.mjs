// The outcome of a report for each response of a collector or relay: scenarios of both clients.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { ADDRESS, away, FakeStorage, json } from "./helpers.mjs";
import { newKey, open } from "./hpke.mjs";

const TABLE = JSON.parse(readFileSync(new URL("../client/scenarios.json", import.meta.url), "utf-8"));
const RECORD = Object.fromEntries([..."abcdefgh"].map((name) => [name, 7]));
const INVITATIONS = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];

/** Keys of the relay and of the collector behind it. */
const [OUTER, INNER] = [newKey(), newKey()];
const RELAY = { url: "http://127.0.0.1:1", key: OUTER.publicHex, sealing_key: INNER.publicHex, batch: 1_000 };

const bytes = (hex) => Buffer.from(hex.replaceAll("-", ""), "hex");

/** Decrypt a report that was sealed to the collector and to the relay. */
function opened({ id, sealed, ...others }, digest) {
  assert.deepEqual(others, {});
  const outer = Buffer.concat([Buffer.from("halftruth relay envelope 1\n"), bytes(digest), bytes(id)]);
  const inner = open(Buffer.from(sealed, "base64"), OUTER.privateHex, outer);
  const info = Buffer.concat([Buffer.from("halftruth relayed report 1\n"), bytes(digest)]);
  const named = open(inner, INNER.privateHex, info).toString("hex");
  const reportId = named.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
  assert.notEqual(reportId, id);
  return { id: reportId, values: `${id} ${named}` };
}

/**
 * Publishes surveys and answers some reports as a scenario specifies, itself or as their relay.
 * Each report is counted once.
 */
class Collector {
  constructor(terms = {}, url, relay) {
    const { title } = TABLE.survey;
    Object.assign(this, { terms, url, title, relay, isThere: true, isAway: false, answers: {}, always: false });
    this.posted = [];
    this.counted = new Map();
    this.fetch = this.fetch.bind(this);
  }

  document(id) {
    const document = { ...TABLE.survey, id, title: this.title };
    return this.relay ? { ...document, relay: this.relay } : document;
  }

  async fetch(url, { method, body }) {
    const address = method === "GET" || !this.relay ? this.url : RELAY.url;
    assert.ok(url.startsWith(`${address}/v1/surveys/`), url);
    const [id] = url.slice(`${address}/v1/surveys/`.length).split("/");
    if (method === "GET") {
      if (this.isAway) return away();
      if (!this.isThere) return json({}, 404);
      const survey = this.document(id);
      const digest = await new Survey(survey).digest();
      return json({ survey, digest, status: "open", terms: this.terms, signature: null });
    }
    const { digest, reports } = JSON.parse(body);
    const report = this.relay ? opened(reports[0], digest) : reports[0];
    assert.equal(reports.length, 1);
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

/** Flush the client, and return the status of each survey's report. */
async function flushed(client, surveyOfReport) {
  const { sent, unsent } = await client.flush();
  const left = unsent.map(({ survey, isWaiting }) => [survey, isWaiting ? "waiting" : "given up"]);
  return Object.fromEntries([...left, ...sent.map(({ id, status }) => [surveyOfReport(id), status])]);
}

let runs = 0;

/** Run a scenario with its own storage, or with the page's shared memory if there is none. */
async function run({ terms, steps, posts, invited }, storage, relay) {
  runs += 1;
  const collector = new Collector(terms, `${ADDRESS}/${runs}`, relay);
  const idOf = (survey) => `${survey}-${runs}`;
  for (const { do: action, survey = "health", answers = [], always = false, times = 1, ...step } of steps) {
    const byId = Array.isArray(answers) ? { [survey]: answers } : answers;
    collector.answers = Object.fromEntries(Object.entries(byId).map(([id, all]) => [idOf(id), [...all]]));
    Object.assign(collector, { always, isAway: step.collector === "away" });
    for (let i = 0; i < times; i += 1) {
      const options = { maxGamma: "1000000000", storage, fetch: collector.fetch, retries: 0, backoff: 0 };
      const client = new Client(collector.url, options);
      if (action === "publish") {
        const { title = TABLE.survey.title, terms = collector.terms } = step;
        Object.assign(collector, { isThere: true, title, terms });
        if (step.relay) collector.relay = { ...RELAY, ...step.relay };
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
  // One draw per survey, and one counted report.
  const draws = new Set(collector.posted.map(([id, { id: report, values }]) => `${id} ${report} ${values}`));
  assert.equal(draws.size, new Set(collector.posted.map(([id]) => id)).size);
  assert.equal(collector.counted.size, new Set(collector.counted.values()).size);
  if (invited) {
    const codes = invited.map((i) => (i === null ? undefined : INVITATIONS[i]));
    assert.deepEqual(collector.posted.map(([, { invitation }]) => invitation), codes);
  }
}

for (const scenario of TABLE.scenarios) {
  const hasTerms = [scenario, ...scenario.steps].some(({ terms }) => terms !== undefined);
  for (const relay of scenario.relay ? [RELAY] : hasTerms ? [undefined] : [undefined, RELAY]) {
    test(relay ? `${scenario.name}, relay` : scenario.name, async () => {
      await run(scenario, new FakeStorage(), relay);
      await run(scenario, undefined, relay);
    });
  }
}
