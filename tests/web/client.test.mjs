// The whole client with a fake collector and storage that record everything: one report per survey
// in all circumstances, and never an answer.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { ADDRESS, away, byName, FakeStorage, json, problem, surveyOf } from "./helpers.mjs";
import { setUp as setUpWith } from "./helpers.mjs";

const SECRET = "XyzzyAnswerOfAPerson";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// Two draws of the same record coincide with a probability of 6^−30, so equal values mean that the
// first draw was reused.
const WIDTH = 30;
const KEEP = Array.from({ length: WIDTH }, () => "1/5");
const DOCUMENT = surveyOf(
  Array.from({ length: WIDTH }, () => 6),
  { kind: "randomized-response", keep: byName(KEEP) },
);
const RECORD = byName(Array.from({ length: WIDTH }, (_, j) => `c${j % 6}`));

const LIMITS = { maxGamma: "1000", retries: 2 };
const setUp = (document = DOCUMENT, options = {}) => setUpWith(document, { ...LIMITS, ...options });

const unavailable = () => problem(503);

test("a submitted record becomes exactly one report", async () => {
  const { collector, client } = await setUp();
  const survey = await client.survey("health");
  const { id, status } = await client.submit(survey, RECORD);
  assert.equal(status, "accepted");
  assert.match(id, UUID);
  assert.equal(collector.reports.size, 1);
  assert.equal(collector.posted.length, 1);
  const [message] = collector.posted;
  assert.deepEqual(Object.keys(message).sort(), ["digest", "reports"]);
  assert.equal(message.digest, collector.digest);
  assert.deepEqual(Object.keys(message.reports[0]).sort(), ["id", "values"]);
  assert.equal(message.reports[0].id, id);
  assert.equal(message.reports[0].values.length, WIDTH);
  assert.ok(message.reports[0].values.every((value) => Number.isInteger(value) && value < 6));
});

test("requests carry no cookies or referrer, ask for current answers and follow no redirect", async () => {
  const { collector, client } = await setUp();
  await client.submit(await client.survey("health"), RECORD);
  const [get, post] = collector.requests;
  assert.equal(get.url, `${ADDRESS}/v1/surveys/health`);
  assert.equal(post.url, `${ADDRESS}/v1/surveys/health/reports`);
  assert.equal(get.body, undefined);
  for (const { credentials, redirect, referrerPolicy } of [get, post]) {
    assert.deepEqual([credentials, redirect, referrerPolicy], ["omit", "error", "no-referrer"]);
  }
  assert.deepEqual([get.cache, post.cache], ["no-cache", "no-store"]);
  assert.deepEqual(post.headers, { "Content-Type": "application/json" });
});

test("a collector that changes the survey each time gets one draw", async () => {
  for (const status of [409, 422, 500, 503]) {
    const { collector, open } = await setUp();
    for (let i = 0; i < 30; i += 1) {
      await collector.publish({ ...DOCUMENT, title: `Health ${i}` });
      collector.trouble = [() => problem(status), () => problem(status), () => problem(status)];
      const client = open();
      const sent = client.survey("health").then((survey) => client.submit(survey, RECORD));
      await sent.catch((error) => assert.ok(i === 0 || error.name === "AnsweredBefore"));
    }
    const drawn = collector.posted.map(({ reports }) => JSON.stringify(reports));
    assert.equal(new Set(drawn).size, 1, `${status}`);
  }
});

test("the draw is stored before anything is sent", async () => {
  const { collector, storage, client } = await setUp();
  const kept = [];
  collector.trouble = [
    () => {
      kept.push(...storage.reports);
      return problem(500);
    },
  ];
  await assert.rejects(client.submit(new Survey(DOCUMENT), RECORD));
  const [{ reports }] = collector.posted;
  assert.deepEqual(kept.map(({ id, values }) => ({ id, values })), reports);
});

/** Invalid stored reports: no JSON, or JSON of another shape. */
const DAMAGED = ["damaged", "", "null", "7", '"x"', "[]", "{}", '{"digest": "00", "id": "1", "sent": true}'];

for (const text of DAMAGED) {
  test(`a damaged stored report prevents further questions and draws: ${text}`, async () => {
    const { collector, storage, client, open } = await setUp();
    storage.items.set("halftruth:health", text);
    for (const each of [client, open()]) {
      const survey = await each.survey("health");
      const error = { name: "AnsweredBefore", field: "survey" };
      assert.throws(() => each.before("health", collector.digest), error);
      await assert.rejects(each.submit(survey, RECORD), error);
      await assert.rejects(each.resend(survey), error);
      assert.deepEqual(await each.flush(), { sent: [], unsent: [] });
    }
    assert.equal(collector.posted.length, 0);
    assert.equal(storage.items.get("halftruth:health"), text);
  });
}

/** Two questions, of each of which the true answer is 5 times as likely to be reported as the other one. */
const BY_RECORD = surveyOf([2, 2], { kind: "randomized-response", keep: { a0: "5/6", a1: "5/6" } });
const BY_ANSWER = { ...BY_RECORD, promise: "answer" };

test("a promise by answer needs a limit of its own", async () => {
  const { open } = await setUp(BY_ANSWER);
  const ask = (limits) => open(limits).survey("health");
  await assert.rejects(ask({ maxGamma: "24" }), { field: "maxGamma", message: /is 25; expected at most 24/ });
  const answer = { field: "maxAnswerGamma", message: /is 5; expected at most 4 \(maxAnswerGamma\)/ };
  await assert.rejects(ask({ maxGamma: "1000", maxAnswerGamma: "4" }), answer);
  assert.equal((await ask({ maxGamma: "25" })).promise, "answer");
  assert.equal((await ask({ maxGamma: "2", maxAnswerGamma: "5" })).promise, "answer");
  for (const maxAnswerGamma of ["1", "", "x", null]) {
    assert.throws(() => open({ maxGamma: "19", maxAnswerGamma }), { field: "maxAnswerGamma" });
  }
  const record = await setUp(BY_RECORD);
  const limits = { maxGamma: "19", maxAnswerGamma: "5" };
  await assert.rejects(record.open(limits).survey("health"), { field: "maxGamma" });
});

for (const promise of ["", "both", null, 1, ["answer"]]) {
  test(`the promise ${JSON.stringify(promise)} is refused`, () => {
    assert.throws(() => new Survey({ ...BY_ANSWER, promise }), { name: "SurveyError", field: "promise" });
  });
}

test("a missing survey id is refused in one line without a request", async () => {
  const { collector, client } = await setUp();
  const error = { name: "ParameterError", message: "survey: expected the id of a survey" };
  for (const id of [undefined, null, "", 7]) await assert.rejects(client.survey(id), error);
  assert.equal(collector.requests.length, 0);
});

test("all spellings of an address share one stored report", async () => {
  const { collector, storage, client } = await setUp();
  collector.trouble = Array(9).fill(away);
  const { id } = await client.submit(new Survey(DOCUMENT), RECORD);
  const options = { maxGamma: "1000", storage, fetch: collector.fetch, retries: 0 };
  for (const url of ["HTTPS://Collector.EXAMPLE", `${ADDRESS}:443/`, "https://other.example"]) {
    const { status } = await new Client(url, options).submit(new Survey(DOCUMENT), RECORD);
    assert.equal(status, "waiting");
  }
  const seen = collector.posted.map(({ reports }) => JSON.stringify(reports));
  assert.equal(new Set(seen).size, 1);
  assert.equal(storage.reports.length, 1);
  collector.trouble = [];
  // The report waits for the collector to which it was last sent.
  assert.deepEqual((await client.flush()).sent, []);
  assert.equal((await new Client("https://other.example", options).flush()).sent[0].id, id);
});

test("only an answered survey can be sent again", async () => {
  const { collector, client } = await setUp();
  const survey = new Survey(DOCUMENT);
  await assert.rejects(client.resend(survey), { name: "ParameterError", field: "survey" });
  const { id } = await client.submit(survey, RECORD);
  assert.deepEqual(await client.resend(survey), { id, status: "duplicate" });
  assert.equal(collector.reports.size, 1);
});

test("a scheduled report is never sent earlier", async (t) => {
  const now = Date.now;
  t.after(() => {
    Date.now = now;
  });
  const { collector, client, open, storage } = await setUp();
  let moment = 1_234_567;
  Date.now = () => moment;
  const survey = await client.survey("health");
  const after = moment + 300_000;
  moment += 1_200;
  assert.equal((await client.submit(survey, RECORD, { after })).status, "waiting");
  const drawn = JSON.parse(storage.getItem("halftruth:health"));
  moment = after - 1;
  for (const other of [client, open()]) assert.deepEqual((await other.flush()).sent, []);
  assert.equal((await client.resend(survey)).status, "waiting");
  assert.equal((await client.submit(survey, RECORD)).status, "waiting");
  assert.equal(collector.requests.length, 1);
  assert.equal(client.heldUntil("health"), after);
  moment = after;
  assert.deepEqual((await client.flush()).sent.map(({ status }) => status), ["accepted"]);
  assert.deepEqual(collector.posted[0].reports[0].values, drawn.values);
  assert.equal(client.heldUntil("health"), 0);
});

test("concurrent submissions give one report", async () => {
  const { collector, storage, client, open } = await setUp();
  const survey = new Survey(DOCUMENT);
  const submissions = await Promise.all(
    [client, client, open(), open()].map((asked) => asked.submit(survey, RECORD)),
  );
  assert.equal(new Set(submissions.map(({ id }) => id)).size, 1);
  assert.equal(collector.reports.size, 1);
  assert.deepEqual([...storage.items.keys()], ["halftruth-ledger", "halftruth:health"]);
  for (const { reports } of collector.posted) {
    assert.deepEqual(reports, collector.posted[0].reports);
  }
  assert.deepEqual(submissions.map(({ status }) => status).sort(), [
    "accepted",
    "duplicate",
    "duplicate",
    "duplicate",
  ]);
});

// Several pages of the same browser.

const REAL = ["navigator", "localStorage", "setTimeout"].map((name) => [
  name,
  Object.getOwnPropertyDescriptor(globalThis, name),
]);

function pretend(name, value) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

afterEach(() => {
  for (const [name, before] of REAL) {
    if (before === undefined) delete globalThis[name];
    else Object.defineProperty(globalThis, name, before);
  }
});

/** Web Locks shared by all pages; records requests and their clients. */
class Locks {
  constructor() {
    this.clientId = "here";
    // Run timers at once that keep a lock after its work is done.
    const { setTimeout } = globalThis;
    pretend("setTimeout", (action, moment) => {
      const timer = setTimeout(action, moment);
      if (moment >= 10_000) timer.unref();
      return timer;
    });
    this.asked = [];
    this.turns = new Map();
    this.held = [];
    this.query = async () => ({ held: [...this.held] });
    this.request = async (name, ...rest) => {
      const action = rest.at(-1);
      const { clientId } = this;
      this.asked.push(name);
      const before = rest[0].mode === "shared" ? undefined : this.turns.get(name);
      const turn = (async () => {
        await before;
        const lock = { name, clientId };
        this.held.push(lock);
        try {
          return await action(lock);
        } finally {
          this.held.splice(this.held.indexOf(lock), 1);
        }
      })();
      this.turns.set(name, turn.catch(() => undefined));
      return turn;
    };
  }
}

/** Another page's view of a storage, in which writes arrive after a delay. */
function distant(storage, moment) {
  const here = new FakeStorage();
  const tell = (to, key, text) => setTimeout(() => to.items.set(key, text), moment);
  for (const [one, other] of [[storage, here], [here, storage]]) {
    one.setItem = (key, text) => {
      one.items.set(key, text);
      tell(other, key, text);
    };
  }
  return here;
}

test("a report is drawn and stored under one lock for all surveys", async () => {
  const { storage, client } = await setUp();
  const locks = new Locks();
  pretend("navigator", { locks });
  const set = storage.setItem.bind(storage);
  storage.setItem = (key, text) => {
    const [{ name }, ...others] = locks.held;
    assert.deepEqual([name, others], ["halftruth:drawing", []], "written while it is held");
    set(key, text);
    storage.setItem = set;
  };
  await client.submit(new Survey(DOCUMENT), RECORD);
  assert.equal(locks.asked[0], "halftruth:drawing");
});

test("concurrent pages draw once despite delayed storage", async () => {
  const { collector, storage, open } = await setUp();
  const locks = new Locks();
  pretend("navigator", { locks });
  const elsewhere = distant(storage, 100);
  // Another page has its own copy of the module that tracks this page's writes.
  const other = await import("../../client/halftruth_client/js/memory.js?elsewhere");
  const first = open().submit(new Survey(DOCUMENT), RECORD);
  while (storage.reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const seen = [];
  const isDone = () => elsewhere.getItem("halftruth:health") !== null;
  locks.clientId = "elsewhere";
  const second = other.once("halftruth:drawing", isDone, () => seen.push(isDone()));
  const { id } = await first;
  await second;
  assert.deepEqual(seen, [true]);
  assert.equal(JSON.parse(elsewhere.getItem("halftruth:health")).id, id);
  assert.equal(collector.reports.size, 1);
});

test("concurrent pages count both waves despite delayed storage", async () => {
  const { storage, open } = await setUp();
  const locks = new Locks();
  pretend("navigator", { locks });
  const elsewhere = distant(storage, 100);
  const submit = (wave, storage) => {
    const series = { id: "panel", wave, total_gamma: "19", origin: "https://a.test" };
    const mechanism = { kind: "gamma-diagonal", gamma: "19" };
    const survey = new Survey({ ...DOCUMENT, id: `wave-${wave}`, mechanism, series });
    return open({ storage, fetch: away }).submit(survey, RECORD);
  };
  const first = submit(1, storage);
  while (storage.reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  locks.clientId = "elsewhere";
  await assert.rejects(submit(2, elsewhere), { name: "LedgerRefused", field: "series.total_gamma" });
  assert.equal((await first).status, "waiting");
  assert.equal(elsewhere.reports.length, 1);
});

test("a write that never arrives delays others for two seconds at most", async () => {
  const { once } = await import("../../client/halftruth_client/js/memory.js?alone");
  const locks = new Locks();
  pretend("navigator", { locks });
  locks.clientId = "elsewhere";
  void locks.request("x is written", () => new Promise(() => {}));
  locks.clientId = "here";
  let done = 0;
  await once("x", () => done > 0, () => (done += 1));
  assert.equal(done, 1);
});

test("a report is sent if the browser denies locks", async () => {
  const { collector, client } = await setUp();
  const request = async () => {
    throw new DOMException("denied", "SecurityError");
  };
  pretend("navigator", { locks: { request } });
  await client.submit(new Survey(DOCUMENT), RECORD);
  assert.equal(collector.reports.size, 1);
});

test("without storage, all clients of the page share one report", async () => {
  const { collector, storage, open } = await setUp();
  storage.fails = () => true;
  pretend("localStorage", storage);
  const first = await open({ storage: undefined }).submit(new Survey(DOCUMENT), RECORD);
  const second = await open({ storage: undefined }).submit(new Survey(DOCUMENT), RECORD);
  assert.equal(second.id, first.id);
  assert.equal(collector.reports.size, 1);
});

for (const [what, document, more, why] of [
  ["a series", { ...DOCUMENT, id: "bounded", series: { id: "panel", wave: 1, total_gamma: "361", origin: "https://a.test" } }, {}, "its series bounds"],
  ["all reports", { ...DOCUMENT, id: "bounded" }, { maxTotalGamma: "361" }, "maxTotalGamma bounds"],
]) {
  test(`without storage, a bound of ${what} is refused before the first question`, async () => {
    const { collector, storage, open } = await setUp(document);
    storage.fails = () => true;
    pretend("localStorage", storage);
    const client = open({ storage: undefined, ...more });
    const message =
      `survey 'bounded': ${why} what all reports tell, and this browser keeps nothing for this page;` +
      " nothing was asked or sent; expected a browser with storage";
    const error = { name: "SurveyRefused", field: "storage", message };
    await assert.rejects(client.survey("bounded"), error);
    // A survey that was not fetched is refused, too.
    await assert.rejects(client.submit(new Survey(document), RECORD), error);
    assert.equal(collector.posted.length, 0);
  });
}

for (const digests of [[], "", null, ["00"], ["0".repeat(63)], ["A".repeat(64)]]) {
  test(`invalid digests are refused, not ignored: ${JSON.stringify(digests)}`, async () => {
    const { open } = await setUp();
    assert.throws(() => open({ digests }), { name: "ParameterError", field: "digests" });
  });
}

test("the survey id 'probe' does not lose its report", async () => {
  const probe = { ...DOCUMENT, id: "probe" };
  const { storage, open } = await setUp(probe);
  pretend("localStorage", storage);
  const first = await open({ storage: undefined }).submit(new Survey(probe), RECORD);
  const second = await open({ storage: undefined }).submit(new Survey(probe), RECORD);
  assert.deepEqual(second, { ...first, status: "duplicate" });
});

// The collector is unreachable.

for (const [what, trouble, tries] of [
  ["cannot be reached", away, 3],
  ["answers 503", unavailable, 3],
  ["answers 502", () => problem(502), 3],
  ["answers 504 with a page", () => new Response("<html>", { status: 504 }), 3],
  ["asks to come back later", () => problem(429), 3],
  ["breaks off its answer", () => new Response(new ReadableStream({ start: (c) => c.error() })), 3],
  ["answers 404, as a misrouted address does", () => problem(404), 1],
  ["answers 500 with a page", () => new Response("<html>", { status: 500 }), 1],
  ["answers 413 with null", () => json(null, 413), 1],
]) {
  test(`a collector that ${what} is tried ${tries} times`, async () => {
    const { collector, client } = await setUp();
    collector.trouble = Array(tries).fill(trouble);
    const submitted = client.submit(new Survey(DOCUMENT), RECORD);
    if (tries > 1) assert.equal((await submitted).status, "waiting");
    else await assert.rejects(submitted, { name: "RequestRefused" });
    assert.equal(collector.posted.length, tries);
    assert.ok(client.isWaiting("health"));
  });
}

const later = (status, seconds) => () =>
  new Response("{}", { status, headers: { "Retry-After": seconds } });

/** Run with all timers elapsing at once, and return their delays in milliseconds. */
async function pausesOf(action) {
  const { setTimeout, performance } = globalThis;
  const pauses = [];
  let now = 0;
  pretend("performance", { now: () => now });
  pretend("setTimeout", (wake, pause) => {
    pauses.push(pause);
    now += pause;
    queueMicrotask(wake);
  });
  try {
    await action();
  } finally {
    pretend("setTimeout", setTimeout);
    pretend("performance", performance);
  }
  return pauses;
}

for (const [status, seconds, expected] of [
  [503, "5", 5_000],
  [429, "42", 42_000],
  [429, "3600", 60_000],
  [503, "9".repeat(400), 60_000],
  [503, "0", 0],
  [503, "-5", 0],
  [503, "1.5", 0],
  [503, "1e1", 0],
  [503, "Wed, 21 Oct 2065 07:28:00 GMT", 0],
  [502, "5", 0],
]) {
  test(`${status} with Retry-After: ${seconds} waits ${expected} ms at least`, async () => {
    const { collector, open } = await setUp();
    collector.trouble = [later(status, seconds)];
    const client = open({ backoff: 100 });
    const pauses = await pausesOf(() => client.submit(new Survey(DOCUMENT), RECORD));
    assert.equal(collector.posted.length, 2);
    assert.equal(pauses.length, 1);
    // Plus half to three halves of the backoff, so that clients do not retry simultaneously.
    assert.ok(pauses[0] >= expected + 50 && pauses[0] <= expected + 150, String(pauses));
  });
}

test("Retry-After delays the next request of the page", async () => {
  const { collector, open } = await setUp();
  collector.trouble = [later(503, "30")];
  const client = open({ retries: 0 });
  const pauses = await pausesOf(async () => {
    assert.equal((await client.submit(new Survey(DOCUMENT), RECORD)).status, "waiting");
    assert.equal((await client.flush()).sent[0].status, "accepted");
    await client.survey("health");
  });
  assert.deepEqual(pauses, [30_000]);
});

test("a request without an answer is aborted after the timeout", async () => {
  const { collector, open } = await setUp();
  // The abort signal alone would not keep the process alive.
  const alive = setTimeout(() => {}, 10_000);
  let aborted = false;
  collector.trouble = [
    (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        });
      }),
  ];
  const client = open({ retries: 0, timeout: 20 });
  assert.equal((await client.submit(new Survey(DOCUMENT), RECORD)).status, "waiting");
  assert.ok(aborted);
  clearTimeout(alive);
});

for (const [status, isWaiting] of [[404, true], [429, true], [409, false]]) {
  test(`unsent reports are listed with their reason: ${status}`, async () => {
    const { collector, client } = await setUp();
    collector.trouble = Array(6).fill(away);
    for (const id of ["one", "two"]) {
      await collector.publish({ ...DOCUMENT, id });
      await client.submit(new Survey(collector.document), RECORD);
    }
    collector.trouble = Array(status === 429 ? 3 : 1).fill(() => problem(status, "why"));
    const { sent, unsent } = await client.flush();
    assert.equal(sent.length, 1);
    const reason = status === 429 ? `collector ${ADDRESS} is not available` : "why";
    assert.deepEqual(unsent, [{ survey: "one", reason, isWaiting }]);
  });
}

// Storage that fails.

test("a report whose status cannot be stored is sent again unchanged", async () => {
  const { collector, storage, client, open } = await setUp();
  storage.fails = (method) => method === "setItem" && storage.reports.length > 0;
  await assert.rejects(client.submit(new Survey(DOCUMENT), RECORD));
  storage.fails = () => false;
  const { sent: [sent] } = await open().flush();
  assert.equal(sent.status, "duplicate");
  assert.equal(collector.reports.size, 1);
});

// The maximum amplification.

const GAMMA = surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "19" });
const ANSWERS = { a0: "c0", a1: "c2" };

test("a survey above the maximum amplification is refused when fetched and when answered", async () => {
  for (const [maxGamma, refused] of [
    ["18.9999999999999999999999", true],
    ["19", false],
    [19, false],
  ]) {
    const { collector, storage, client } = await setUp(GAMMA, { maxGamma, unprotected: [] });
    const error = { name: "SurveyRefused", field: "maxGamma" };
    const calls = [
      () => client.survey("health"),
      () => client.submit(new Survey(GAMMA), ANSWERS),
      () => client.resend(new Survey(GAMMA)),
    ];
    for (const call of calls) {
      if (refused) await assert.rejects(call(), error);
      else await call();
    }
    assert.equal(collector.posted.length > 0, !refused);
    assert.equal(storage.items.size > 0, !refused);
  }
});

test("unperturbed answers are allowed only in a pinned survey", async () => {
  const keep = byName(["1", "3/4"]);
  const document = surveyOf([2, 2], { kind: "randomized-response", keep });
  const { collector, client, open } = await setUp(document, { maxGamma: "3", unprotected: ["a0"] });
  assert.ok(await client.survey("health"));
  const unpinned = open({ digests: undefined });
  const error = { name: "SurveyRefused", field: "digests", message: RegExp(collector.digest) };
  await assert.rejects(unpinned.survey("health"), error);
  await assert.rejects(unpinned.submit(new Survey(document), byName(["c0", "c1"])), error);
  // The collector now asks another question under the same name.
  const [{ ...relabelled }, other] = document.attributes;
  relabelled.label = "Have you ever used heroin?";
  await collector.publish({ ...document, attributes: [relabelled, other] });
  await assert.rejects(client.survey("health"), { name: "SurveyRefused", field: "digests" });
  assert.equal(collector.posted.length, 0);
});

test("a provable answer must be allowed, and the other question still counts", async () => {
  const [answer, not_sensitive] = ["c1", "c0"];
  const triangular = { design: "triangular", prevalence: "1/4", answer, not_sensitive };
  const forced = { design: "forced-response", yes: "1/6", no: "1/6", answer };
  const designs = byName([triangular, forced]);
  const document = surveyOf([2, 2], { kind: "distortion-matrices", designs });
  for (const [maxGamma, unprotected, message] of [
    ["1000", [], /infinite/],
    ["1000", ["a1"], /infinite/],
    ["19", ["a0"], /amplification is 20/],
    ["3", ["a0", "a1"], /amplification is 4/],
  ]) {
    const { client } = await setUp(document, { maxGamma, unprotected });
    await assert.rejects(client.survey("health"), { name: "SurveyRefused", message });
  }
  const { client } = await setUp(document, { maxGamma: "20", unprotected: ["a0"] });
  assert.ok(await client.survey("health"));
});

test("a survey with another digest or id is refused", async () => {
  const { collector, client } = await setUp(GAMMA, { maxGamma: "19" });
  const right = collector.digest;
  for (const wrong of ["0".repeat(64), right.toUpperCase(), undefined]) {
    collector.digest = wrong;
    await assert.rejects(client.survey("health"), { name: "SurveyRefused", field: "digest" });
  }
  collector.digest = right;
  await assert.rejects(client.survey("other"), { name: "SurveyRefused" });
  assert.equal((await client.survey("health")).title, "Health");
  // Another gamma than the published one.
  const gamma = { kind: "gamma-diagonal", gamma: "3" };
  collector.document = { ...GAMMA, mechanism: gamma };
  await assert.rejects(client.survey("health"), { name: "SurveyRefused", field: "digest" });
});

test("ids are escaped in URLs", async () => {
  const { collector, client } = await setUp();
  await assert.rejects(client.survey("../tokens?x=1#y"));
  assert.equal(collector.requests[0].url, `${ADDRESS}/v1/surveys/..%2Ftokens%3Fx%3D1%23y`);
});

test("invalid client options are refused", () => {
  const storage = new FakeStorage();
  const wrong = [
    ["ftp://collector", { maxGamma: "19" }],
    ["collector", { maxGamma: "19" }],
    ["https://", { maxGamma: "19" }],
    [ADDRESS, { maxGamma: "1" }],
    [ADDRESS, { maxGamma: "0.5" }],
    [ADDRESS, { maxGamma: 9.5 }],
    [ADDRESS, { maxGamma: "Infinity" }],
    [ADDRESS, {}],
    [ADDRESS, { maxGamma: "19", unprotected: "a0" }],
  ];
  for (const [url, options] of wrong) {
    assert.throws(() => new Client(url, { storage, ...options }), { name: "ParameterError" });
  }
});

// Confidentiality of answers.

/** A question whose report never equals the true answer, so that a leaked code is recognised. */
const TURNED = {
  ...surveyOf([3], {
    kind: "distortion-matrices",
    matrices: { a0: [["0", "0", "1"], ["1", "0", "0"], ["0", "1", "0"]] },
  }),
  attributes: [{ name: "a0", categories: ["here", SECRET, "there"] }],
};

test("no answer is in any request, storage, error or output", async () => {
  const output = [];
  const methods = ["log", "info", "warn", "error", "debug", "trace", "dir"];
  const before = methods.map((method) => console[method]);
  methods.forEach((method) => (console[method] = (...words) => output.push(words)));

  const seen = [];
  try {
    for (const trouble of [
      [],
      [away, away, away],
      [unavailable],
      [() => problem(409)],
      [() => problem(422)],
      [() => problem(500)],
      [() => new Response("<html>")],
    ]) {
      const options = { maxGamma: "19", unprotected: ["a0"] };
      const { collector, storage, client, open } = await setUp(TURNED, options);
      const errors = [];
      const note = (error) => errors.push(error);
      const survey = await client.survey("health");
      await client.submit(survey, { a0: SECRET, [SECRET]: "here" }).catch(note);
      await client.submit(survey, { a0: `${SECRET}!` }).catch(note);
      assert.equal(storage.written.length + collector.posted.length, 0);
      collector.trouble = trouble;
      await client.submit(survey, { a0: SECRET }).catch(note);
      await open().submit(survey, { a0: SECRET }).catch(note);
      await open().flush().catch(note);
      await open()
        .submit(new Survey({ ...TURNED, title: "another" }), { a0: SECRET })
        .catch(note);
      storage.fails = () => true;
      await open().submit(survey, { a0: SECRET }).catch(note);
      assert.ok(errors.length >= 4);

      // The report is the third category; the answer was the second.
      for (const { reports } of collector.posted) assert.deepEqual(reports[0].values, [2]);
      const written = storage.written.filter(([key]) => key.startsWith("halftruth:"));
      for (const [, text] of written) assert.deepEqual(JSON.parse(text).values, [2]);
      assert.ok(collector.posted.length > 0 && storage.written.length > 0);
      seen.push(JSON.stringify(collector.requests), JSON.stringify(storage.written));
      seen.push(JSON.stringify([...storage.items]));
      for (const error of errors) {
        seen.push(String(error), String(error.stack), String(error.cause), JSON.stringify(error));
      }
    }
  } finally {
    methods.forEach((method, i) => (console[method] = before[i]));
  }
  assert.deepEqual(output, []);
  // Errors may list the possible answers, but never the given one.
  const listed = `expected one of: here, ${SECRET}, there`;
  for (const text of seen) {
    assert.ok(!text.replaceAll(listed, "").includes(SECRET), text);
  }
});
