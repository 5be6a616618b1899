// The life cycle of a response without a view: states, transitions and events.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Session } from "../../client/halftruth_client/js/session.js";
import { newKey } from "./hpke.mjs";
import { ADDRESS, away, byName, FakeStorage, problem, setUp, surveyOf } from "./helpers.mjs";

// Two draws of one record coincide with a probability of 6^−30, so equal values are a reused draw.
const WIDTH = 30;
const DOCUMENT = surveyOf(
  Array.from({ length: WIDTH }, () => 6),
  { kind: "randomized-response", keep: byName(Array.from({ length: WIDTH }, () => "1/5")) },
);
const ANSWERS = Array.from({ length: WIDTH }, (_, j) => [`a${j}`, `c${j % 6}`]);

/** Half of the questions are drawn before the first answer. */
const SPLIT = surveyOf([2, 3], {
  kind: "split-questionnaire",
  gamma: "9",
  prime: 5,
  direct: 6,
  views: [{ attributes: [["a0", "a1"]], choose: [1], weight: 1 }],
});

const INVITATION = "0123456789abcdef0123456789abcdef";
const ANOTHER = "fedcba9876543210fedcba9876543210";
const INVITED = { terms: { invitations: true, sealing_key: null } };
const SHARED = { terms: { shared_devices: true } };
const wave = (number, more = {}) => ({
  ...surveyOf([2, 2], { kind: "gamma-diagonal", gamma: "3" }),
  ...{ id: `wave-${number}`, series: { id: "panel", wave: number, total_gamma: "9", origin: "https://a.test" } },
  ...more,
});

/** Return a collector and a browser; `begin` creates sessions that record their states. */
async function browser(document = DOCUMENT, { published, ...options } = {}) {
  const { collector, storage } = await setUp(document, { published });
  const begin = (more = {}) => {
    const given = { survey: document.id, collector: ADDRESS, maxGamma: "1000", storage, fetch: collector.fetch };
    const session = new Session({ ...given, retries: 0, ...options, ...more });
    session.seen = [];
    session.addEventListener("change", () => session.seen.push(session.state));
    for (const name of ["submitted", "refused"]) {
      session.addEventListener(name, ({ detail }) => session.seen.push([name, detail]));
    }
    return session;
  };
  return { collector, storage, begin };
}

/** The same with a session that is asking and has answers. */
async function answered(...how) {
  const made = await browser(...how);
  const session = made.begin();
  assert.equal(await session.open(), "asking", String(session.error));
  session.questionnaire.set(ANSWERS.slice(0, session.survey.schema.names.length));
  session.seen = [];
  return { ...made, session };
}

/** Resolves once a session is in a state. */
const becomes = (session, state) =>
  new Promise((resolve) => {
    const look = () => session.state === state && resolve();
    session.addEventListener("change", look);
    look();
  });

/** Return the distinct reports that were sent. */
const drawn = ({ posted }) => [...new Set(posted.flatMap(({ reports }) => reports.map((one) => JSON.stringify(one))))];

const TICKING = { apis: ["setInterval", "setTimeout", "Date"], now: 1_900_000_000_000 };

test("nothing is drawn or stored before sending, and one report is counted", async () => {
  const { collector, storage, session } = await answered();
  assert.deepEqual(session.questionnaire.names, session.survey.schema.names);
  assert.deepEqual([storage.items.size, collector.posted.length, session.mayHaveLeft], [0, 0, false]);
  assert.equal(await session.submit(), "counted");
  const [{ id, values }] = collector.posted[0].reports;
  assert.deepEqual(session.seen, ["sending", "counted", ["submitted", { id, status: "accepted" }]]);
  assert.deepEqual([session.isOwn, session.mayHaveLeft, session.canResend], [true, true, false]);
  assert.deepEqual(session.report.values, values);
  // The answers stay for display to the respondent.
  assert.equal(session.questionnaire.answers.size, WIDTH);
});

test("once a report was counted, submitting again sends and dispatches nothing", async () => {
  const { collector, session } = await answered();
  await session.submit();
  const [seen, { id }] = [[...session.seen], session.report];
  session.questionnaire.set([["a0", "c5"]]);
  assert.deepEqual([await session.submit(), await session.submit()], ["counted", "counted"]);
  assert.deepEqual([session.seen, session.report.id, collector.posted.length], [seen, id, 1]);
});

test("sending again sends the same report, even with other answers", async () => {
  const { collector, session } = await answered();
  collector.trouble = [away];
  assert.equal(await session.submit(), "waiting");
  session.questionnaire.set([["a0", "c5"]]);
  assert.equal(await session.submit(), "counted");
  assert.deepEqual([collector.posted.length, drawn(collector).length], [2, 1]);
});

/** Let the next report wait. Returns a promise of its arrival, which gives a function that answers it. */
function held(collector) {
  const answer = () => new Response(JSON.stringify({ accepted: 1, duplicates: 0 }), { status: 202 });
  return new Promise((arrived) => {
    collector.trouble.push(() => new Promise((release) => arrived(() => release(answer()))));
  });
}

for (const [what, trouble, clicked] of [["drawn", [], "submit"], ["waiting", [away], "resend"]]) {
  test(`two clicks send a ${what} report once, and dispatch one event`, async () => {
    const { collector, session } = await answered();
    collector.trouble.push(...trouble);
    if (trouble.length > 0) await session.submit();
    const arrival = held(collector);
    const [posts, before] = [collector.posted.length, session.seen.length];
    const calls = [session[clicked](), session.submit(), session.resend()];
    assert.equal(new Set(calls).size, 1);
    (await arrival)();
    assert.equal(await calls[0], "counted");
    const { id } = session.report;
    assert.deepEqual(session.seen.slice(before), ["sending", "counted", ["submitted", { id, status: "accepted" }]]);
    assert.equal(collector.posted.length, posts + 1);
  });
}

test("a session that is opened again does not wait for the report of an earlier run", async () => {
  const { collector, session } = await answered();
  const arrival = held(collector);
  const earlier = session.submit();
  const release = await arrival;
  await session.open();
  const later = session.submit();
  assert.notEqual(later, earlier);
  release();
  assert.deepEqual([await earlier, await later], ["counted", "counted"]);
  assert.equal(drawn(collector).length, 1);
});

// A report stored at an earlier visit.

const EARLIER = {
  counted: [[], "counted", [], false],
  "not confirmed": [[away], "waiting", [], true],
  refused: [[() => problem(409, "it is closed", "closes_at")], "refused", [["refused", { message: "it is closed" }]], false],
};

for (const [what, [trouble, state, told, canResend]] of Object.entries(EARLIER)) {
  test(`a report of an earlier visit that was ${what} is found, and nothing is asked`, async () => {
    const { collector, begin, session } = await answered();
    collector.trouble = [...trouble];
    await session.submit();
    session.leave();
    collector.trouble = [away];
    const later = begin();
    assert.equal(await later.open(), state);
    assert.deepEqual(later.seen, ["loading", state, ...told]);
    assert.deepEqual([later.questionnaire, later.isOwn, later.canResend], [null, false, canResend]);
    assert.equal(drawn(collector).length, 1);
    if (state === "counted") {
      // A page that sends it nevertheless, such as an attached form, learns once that it was counted before.
      const [posts, { id }] = [collector.posted.length, later.report];
      for (const _ of "ab") assert.equal(await later.submit(), "counted");
      assert.deepEqual(later.seen.slice(2), [["submitted", { id, status: "duplicate" }]]);
      assert.equal(collector.posted.length, posts);
    }
    later.leave();
  });
}

// Refusals before the first question.

const settings = (field, more) => [{}, more, { name: "ParameterError", field }];
const UNASKED = {
  "a survey without an id": settings("survey", { survey: "" }),
  "no limit": settings("maxGamma", { maxGamma: undefined }),
  "no address": settings("url", { collector: "" }),
  "something else than drawn or all": settings("ask", { ask: "some" }),
  ...Object.fromEntries(
    ["0", "-5", "1441", "1e1", "", "5abc", 0, null].map((sendEvery) => [
      `minutes that are ${JSON.stringify(sendEvery)}`,
      settings("sendEvery", { sendEvery }),
    ]),
  ),
  "a survey that protects too little": [{}, { maxGamma: "2" }, { name: "SurveyRefused", field: "maxGamma" }],
  "a closed survey": [{ published: { status: "closed" } }, {}, { name: "SurveyRefused", field: "status" }],
  "no invitation": [{ published: INVITED }, {}, { name: "ParameterError", field: "invitation" }],
  "half an invitation": [
    { published: INVITED }, { invitation: "01" }, { name: "ParameterError", field: "invitation" },
  ],
  "a collector that is away": [{}, { fetch: away }, { name: "CollectorUnavailable", field: undefined }],
  "a page that cannot show it": [
    {}, { prepare: () => assert.fail("no room") }, { name: "AssertionError", field: undefined },
  ],
};

for (const [what, [published, more, { name, field }]] of Object.entries(UNASKED)) {
  test(`nothing is asked and an event is emitted with ${what}`, async () => {
    const { collector, storage, begin } = await browser(DOCUMENT, published);
    const session = begin(more);
    assert.equal(await session.open(), "failed");
    assert.deepEqual([session.error.name, session.error.field], [name, field]);
    const message = name === "AssertionError" ? "an unexpected error occurred" : session.error.message;
    assert.deepEqual(session.seen, ["loading", "failed", ["refused", { message }]]);
    assert.equal(collector.posted.length + storage.items.size, 0);
    if (name === "ParameterError" && field !== "invitation") assert.equal(collector.requests.length, 0);
    assert.equal(session.mayHaveLeft, false);
  });
}

test("only a used invitation is refused before the first question", async () => {
  for (const [unspent, state] of [[false, "failed"], [true, "asking"], [null, "asking"]]) {
    const { collector, begin } = await browser(DOCUMENT, { published: INVITED });
    collector.unspent = unspent;
    const session = begin({ invitation: INVITATION });
    assert.equal(await session.open(), state);
    if (state === "failed") assert.deepEqual([session.error.name, session.error.field], ["SurveyRefused", "invitation"]);
    assert.ok(!JSON.stringify(collector.requests).includes(INVITATION));
  }
});

test("a failed session can be opened again", async () => {
  const { collector, begin } = await browser();
  let fetch = away;
  const session = begin({ fetch: (...request) => fetch(...request) });
  await session.open();
  fetch = collector.fetch;
  assert.equal(await session.open(), "asking");
  assert.deepEqual([session.error, session.seen.slice(-2)], [null, ["loading", "asking"]]);
});

test("prepare runs after loading and before the first question", async () => {
  const { begin } = await browser(SPLIT);
  const seen = [];
  const session = begin({ prepare: ({ state, questionnaire, survey, view }) => seen.push([state, questionnaire.names, survey.id, view]) });
  await session.open();
  assert.deepEqual(seen, [["loading", session.questionnaire.names, "health", session.view]]);
});

test("the same drawn view is asked at each visit, or all questions", async () => {
  const { begin, storage } = await browser(SPLIT);
  const all = begin({ ask: "all" });
  await all.open();
  assert.deepEqual([all.questionnaire.names, all.view, storage.items.size], [["a0", "a1"], undefined, 0]);
  const asked = new Set();
  for (let visit = 0; visit < 12; visit += 1) {
    const session = begin();
    await session.open();
    assert.equal(session.questionnaire.all.length, 1);
    asked.add(`${session.questionnaire.names} ${session.view}`);
  }
  assert.equal(asked.size, 1);
});

// Sending.

test("an invalid record returns to asking without a draw", async () => {
  const { collector, storage, session } = await answered();
  session.questionnaire.set([["a7", "SECRET"]]);
  assert.equal(await session.submit(), "asking");
  assert.deepEqual([session.error.name, session.error.field], ["RecordError", "a7"]);
  assert.deepEqual(session.seen.slice(0, 2), ["sending", "asking"]);
  assert.ok(!JSON.stringify(session.seen).includes("SECRET"));
  assert.deepEqual([collector.posted.length, storage.items.size, session.mayHaveLeft], [0, 0, false]);
  session.questionnaire.set([["a7", "c0"]]);
  assert.equal(await session.submit(), "counted");
});

test("a report that cannot be stored is not sent, and can be sent later", async () => {
  const { collector, storage, session } = await answered();
  storage.fails = (method) => method === "setItem";
  assert.equal(await session.submit(), "failed");
  assert.deepEqual(session.seen.at(-1), ["refused", { message: "an unexpected error occurred" }]);
  assert.deepEqual([collector.posted.length, session.mayHaveLeft], [0, false]);
  storage.fails = () => false;
  assert.equal(await session.submit(), "counted");
});

test("a waiting report is retried unchanged every five seconds", async (t) => {
  const { collector, session } = await answered();
  t.mock.timers.enable(TICKING);
  collector.trouble = [away, away, () => problem(404)];
  assert.equal(await session.submit(), "waiting");
  const { id } = session.report;
  assert.deepEqual(session.seen, ["sending", "waiting", ["submitted", { id, status: "waiting" }]]);
  assert.deepEqual([session.canResend, session.heldUntil], [true, 0]);
  const flushed = async (posts) => {
    t.mock.timers.tick(4_999);
    assert.equal(collector.posted.length, posts - 1);
    t.mock.timers.tick(1);
    while (collector.posted.length < posts) await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  await flushed(2);
  await flushed(3);
  assert.equal(session.state, "waiting");
  await flushed(4);
  assert.equal(session.state, "counted");
  assert.deepEqual(session.seen.slice(3), ["counted", ["submitted", { id, status: "accepted" }]]);
  assert.deepEqual([session.isOwn, drawn(collector).length], [true, 1]);
  t.mock.timers.tick(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(collector.posted.length, 4);
});

test("a refused report clears the answers, at once or after waiting", async (t) => {
  for (const waits of [false, true]) {
    const { collector, session } = await answered();
    if (waits) t.mock.timers.enable(TICKING);
    collector.trouble = [...(waits ? [away] : []), () => problem(422, "values: expected others", "values")];
    await session.submit();
    if (waits) t.mock.timers.tick(5_000);
    await becomes(session, "refused");
    assert.deepEqual(session.seen.at(-1), ["refused", { message: "values: expected others" }]);
    assert.deepEqual([session.error.field, session.questionnaire.answers.size], ["values", 0]);
    assert.deepEqual([session.mayHaveLeft, session.canResend], [true, false]);
  }
});

test("the same report can be sent with another invitation after a refusal", async () => {
  const { collector, storage, session } = await answered(DOCUMENT, { published: INVITED, invitation: INVITATION });
  collector.trouble = [() => problem(403, "no such invitation", "invitation")];
  assert.equal(await session.submit(), "refused");
  assert.equal(session.canResend, false);
  assert.ok(![...storage.items.values()].join().includes(INVITATION));
  session.invitation = ANOTHER;
  assert.equal(session.canResend, true);
  assert.equal(await session.resend(), "counted");
  const reports = collector.posted.slice(1).map(({ reports: [report] }) => report);
  assert.deepEqual(reports.map(({ invitation }) => invitation), [INVITATION, ANOTHER]);
  assert.deepEqual(reports[0].values, reports[1].values);
});

test("a later visit with an invitation can send a refused report", async () => {
  const { collector, begin, session } = await answered(DOCUMENT, { published: INVITED, invitation: INVITATION });
  collector.trouble = [() => problem(403, "no such invitation", "invitation")];
  await session.submit();
  // After a reload the invitation may be valid, or be another one.
  assert.deepEqual([session.canResend, await session.open(), session.canResend], [false, "refused", true]);
  const later = begin({ invitation: ANOTHER });
  assert.deepEqual([await later.open(), later.canResend, begin().canResend], ["refused", true, false]);
  collector.published.status = "closed";
  await later.open();
  assert.equal(later.canResend, false);
});

for (const [taken, leaves] of [[1_200, 300_000], [299_999, 300_000], [300_000, 600_000]]) {
  test(`a report whose answers took ${taken} ms is sent after exactly ${leaves} ms`, async (t) => {
    t.mock.timers.enable(TICKING);
    const { collector, session } = await answered(DOCUMENT, { sendEvery: "5" });
    t.mock.timers.tick(taken);
    const requests = collector.requests.length;
    assert.equal(await session.submit(), "waiting");
    assert.deepEqual([session.heldUntil, session.canResend], [TICKING.now + leaves, false]);
    t.mock.timers.tick(leaves - taken - 1);
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(collector.requests.length, requests);
    t.mock.timers.tick(1);
    await becomes(session, "counted");
    assert.equal(collector.posted.length, 1);
  });
}

// The next person.

test("leaving clears the answers, and a report in flight emits no event", async () => {
  const { collector, session } = await answered();
  let answer;
  collector.trouble = [() => new Promise((resolve) => { answer = resolve; })];
  const sent = session.submit();
  while (answer === undefined) await new Promise((resolve) => setImmediate(resolve));
  session.leave();
  assert.equal(session.questionnaire.answers.size, 0);
  answer(new Response(JSON.stringify({ accepted: 1 }), { status: 202 }));
  assert.equal(await sent, "left");
  assert.deepEqual(session.seen, ["sending", "left"]);
  assert.equal(session.isOwn, false);
});

test("leaving during the fetch of the survey asks nothing", async () => {
  const { begin } = await browser();
  const session = begin();
  const opened = session.open();
  session.leave();
  assert.equal(await opened, "left");
  assert.deepEqual([session.seen, session.questionnaire], [["loading", "left"], null]);
});

test("the answers of a second tab are cleared, since the first tab's report is used", async () => {
  const { collector, begin, session } = await answered();
  const second = begin();
  await second.open();
  second.questionnaire.set(ANSWERS.map(([name]) => [name, "c0"]));
  await session.submit();
  assert.equal(await second.submit(), "counted");
  assert.deepEqual([second.status, second.isOwn, second.questionnaire.answers.size], ["duplicate", false, 0]);
  assert.equal(drawn(collector).length, 1);
});

test("a waiting tab notices that another one sent the report", async (t) => {
  const { collector, begin, session } = await answered();
  t.mock.timers.enable(TICKING);
  collector.trouble = [away];
  await session.submit();
  const other = begin();
  assert.equal(await other.open(), "counted");
  t.mock.timers.tick(5_000);
  await becomes(session, "counted");
  assert.deepEqual([session.isOwn, other.isOwn, collector.reports.size], [true, false, 1]);
});

test("the next person on a shared device sees nothing of the previous one", async () => {
  const { collector, storage, session } = await answered(SPLIT, { published: SHARED });
  collector.trouble = [away];
  await session.submit();
  await assert.rejects(session.client.forget(session.survey), /not counted yet/);
  await session.resend();
  assert.equal(await session.forgetReport(), "asking");
  assert.deepEqual([session.questionnaire.answers.size, session.isOwn], [0, false]);
  // The view was drawn again, and the cost of the first report still counts.
  assert.deepEqual([...storage.items.keys()].map((key) => key.split(":")[0]), ["halftruth-ledger", "halftruth-view"]);
  session.questionnaire.set([["a0", "c0"], ["a1", "c0"]]);
  assert.equal(await session.submit(), "counted");
  assert.equal(collector.reports.size, 2);
});

test("without shared devices no second person can answer", async () => {
  const { storage, session } = await answered();
  await session.submit();
  assert.equal(await session.forgetReport(), "failed");
  assert.deepEqual([session.error.name, storage.reports.length], ["ParameterError", 1]);
});

test("the ledger of a series is available before and after, refuses, and can be deleted", async () => {
  const made = await browser(wave(1));
  const spent = [];
  for (const number of [1, 2]) {
    await made.collector.publish(wave(number));
    const session = made.begin({ survey: `wave-${number}` });
    await session.open();
    spent.push(String(session.ledger.gamma));
    session.questionnaire.set(ANSWERS.slice(0, 2).map(([name]) => [name, "c0"]));
    await session.submit();
    spent.push(String(session.ledger.gamma));
  }
  assert.deepEqual(spent, ["1", "3", "3", "9"]);
  await made.collector.publish(wave(3));
  const third = made.begin({ survey: "wave-3" });
  assert.equal(await third.open(), "failed");
  assert.deepEqual([third.error.name, third.error.field], ["LedgerRefused", "series.total_gamma"]);
  const { ledger, allowed } = await third.ledgerToForget();
  assert.deepEqual([ledger.entries.length, String(allowed)], [2, "9"]);
  assert.equal(await third.forgetLedger(), "asking");
  assert.equal(String(third.ledger.gamma), "1");
});

test("the ledger covers all reports, with a bound or without", async () => {
  const document = (id) => surveyOf([2], { kind: "gamma-diagonal", gamma: "3" }, { id });
  for (const more of [{}, { maxTotalGamma: "1000000" }]) {
    const { collector, begin } = await browser(document("one"));
    for (const [i, id] of ["one", "two"].entries()) {
      await collector.publish(document(id));
      const session = begin({ survey: id, ...more });
      await session.open();
      assert.equal(String(session.ledger.gamma), ["1", "3"][i]);
      session.questionnaire.set([["a0", "c0"]]);
      await session.submit();
    }
  }
});

const RELAYS = JSON.parse(readFileSync(new URL("../client/scenarios.json", import.meta.url), "utf-8")).relays;

for (const { name, status, body, is } of RELAYS) {
  test(`a relay that is ${name} is asked once, and the survey is ${is}`, async () => {
    const relay = { url: "https://relay.example", key: newKey().publicHex, sealing_key: newKey().publicHex, batch: 500 };
    const { collector, begin } = await browser({ ...DOCUMENT, relay });
    const { fetch } = collector;
    const asked = [];
    const session = begin({
      fetch: (url, settings) => {
        if (!url.startsWith(relay.url)) return fetch(url, settings);
        asked.push([url, settings.method]);
        if (status === 0) return away();
        return new Response(JSON.stringify(body).replace("DIGEST", collector.digest), { status });
      },
    });
    assert.equal(await session.open(), is === "asked" ? "asking" : "failed");
    assert.deepEqual(asked, [[`${relay.url}/v1/surveys/health`, "GET"]]);
    if (is === "asked") return;
    assert.deepEqual([session.error.name, session.error.field], ["SurveyRefused", "status"]);
    assert.equal(session.survey.closedBecause, "relay");
  });
}

for (const [sendEvery, requests] of [[undefined, 0], ["10", 1]]) {
  test(`a relay is asked ${requests} times if questions depend on answers and reports are sent every ${sendEvery} minutes`, async () => {
    // To the relay, the time until the report would reveal which questions were asked.
    const document = surveyOf([2, 2], { kind: "gamma-diagonal", gamma: "9" });
    document.attributes[1].ask_if = { a0: ["c1"] };
    const relay = { url: "https://relay.example", key: newKey().publicHex, sealing_key: newKey().publicHex, batch: 500 };
    const { collector, begin } = await browser({ ...document, relay });
    assert.equal(await begin({ sendEvery }).open(), "asking");
    assert.equal(collector.requests.filter(({ url }) => url.startsWith(relay.url)).length, requests);
  });
}

test("a relay is not asked where a report was sent before, or the collector has closed the survey", async () => {
  const relay = { url: "https://relay.example", key: newKey().publicHex, sealing_key: newKey().publicHex, batch: 500 };
  const { collector, begin, session } = await answered({ ...DOCUMENT, relay });
  await session.submit();
  const others = () => collector.requests.filter(({ url, method }) => method === "GET" && url.startsWith(relay.url));
  assert.equal(others().length, 1);
  assert.equal(await begin().open(), "counted");
  const closed = await browser({ ...DOCUMENT, relay }, { published: { status: "closed", closed_because: "relay" } });
  const late = closed.begin();
  assert.deepEqual([await late.open(), late.survey.closedBecause], ["failed", "relay"]);
  assert.equal(closed.collector.requests.length, 1);
  assert.equal(others().length, 1);
});

test("a report for a relay waits for it and is sent to no one else", async () => {
  const relay = { url: "https://relay.example", key: newKey().publicHex, sealing_key: newKey().publicHex, batch: 500 };
  const { collector, storage, session } = await answered({ ...DOCUMENT, relay });
  assert.deepEqual([session.relayFigures.batch, session.relayFigures.apart], [500, session.relayFigures.together]);
  collector.trouble = [away];
  assert.equal(await session.submit(), "waiting");
  assert.equal(await session.resend(), "counted");
  const posts = collector.requests.filter(({ method }) => method === "POST").map(({ url }) => url);
  assert.deepEqual(posts, Array(2).fill(`${relay.url}/v1/surveys/health/reports`));
  // Both attempts have the same relay id, differing from the report's, and no readable value.
  const [first, second] = collector.posted.map(({ reports: [report] }) => report);
  assert.deepEqual([first.id, Object.keys(first)], [second.id, ["id", "sealed"]]);
  assert.notEqual(first.id, session.report.id);
  assert.equal(storage.reports[0].relayId, first.id);
});
