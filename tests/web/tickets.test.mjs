// Tickets in JavaScript: the vectors, what is asked and sent, refusals, and how often each view is drawn.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { Session } from "../../client/halftruth_client/js/session.js";
import { checkSigned } from "../../client/halftruth_client/js/signed-tickets.js";
import { commitTo, newSecret, readIssued, ticketText, viewOf } from "../../client/halftruth_client/js/tickets.js";
import { newKey, open, openReport } from "./hpke.mjs";
import { ADDRESS, away, byName, json, problem, readVectors, setUp, surveyOf } from "./helpers.mjs";

const { vectors, signed, refused } = readVectors("tickets");

const MECHANISM = {
  kind: "split-questionnaire",
  gamma: "9",
  prime: 5,
  direct: 6,
  views: [{ attributes: [["a0"]], weight: 3 }, { attributes: [["a1"]], weight: 2 }],
};
const DOCUMENT = surveyOf([2, 3], MECHANISM, { reports: { tickets: "required" } });
const RECORD = byName(["c1", "c2"]);
const INVITATION = "0123456789abcdef0123456789abcdef";
const INVITED = { published: { terms: { invitations: true, sealing_key: null } } };

for (const { survey: document, digest, tickets } of [...vectors, ...signed]) {
  test(`tickets of ${document.id} have the views of the vectors`, async () => {
    const survey = new Survey(document);
    assert.ok(survey.hasTickets);
    assert.equal(await survey.digest(), digest);
    for (const { secret, commitment, id, code, view } of tickets) {
      assert.equal(await commitTo(digest, secret), commitment);
      const ticket = readIssued({ tickets: [id + code] }, secret);
      assert.deepEqual(readTicket(ticketText(ticket)), { id, secret, code });
      assert.equal(await viewOf(survey, digest, ticket), view);
    }
  });
}

test("a ticket is accepted if the relay has signed it, as in the vectors", async () => {
  const [{ survey, digest, tickets }] = signed;
  const { relay } = new Survey(survey);
  for (const { id, commitment, code } of tickets) await checkSigned(relay, digest + id + commitment, code);
  for (const { why, id, commitment, code } of refused) {
    await assert.rejects(checkSigned(relay, digest + id + commitment, code), /has not signed/, why);
  }
});

test("a browser without Ed25519 leaves the check of a ticket to the collector", async ({ mock }) => {
  const [{ survey, digest, tickets: [{ id, commitment }] }] = signed;
  mock.method(crypto.subtle, "importKey", async () => {
    throw new DOMException("no such algorithm", "NotSupportedError");
  });
  await checkSigned(new Survey(survey).relay, digest + id + commitment, "00".repeat(64));
});

/** The parts of a ticket that is stored as text. */
function readTicket(text) {
  const [, id, secret, code] = /^(.{32})(.{64})(.+)$/.exec(text);
  return { id, secret, code };
}

/** Paths of the requests of a collector, in order. */
const pathsOf = ({ requests }) => requests.map(({ url }) => url.split("/").at(-1));

test("only split questionnaires have tickets", () => {
  const gamma = { kind: "gamma-diagonal", gamma: "9" };
  for (const [mechanism, reports] of [
    [gamma, { tickets: "required" }],
    [MECHANISM, { tickets: "none" }],
    [MECHANISM, {}],
    [MECHANISM, { tickets: "required", more: 1 }],
    [MECHANISM, null],
  ]) {
    assert.throws(() => new Survey(surveyOf([2, 3], mechanism, { reports })), /reports/);
  }
  assert.equal(new Survey(surveyOf([2, 3], MECHANISM)).hasTickets, false);
});

test("the questions and the report are those of the ticket, which is fetched before them", async () => {
  const { collector, client, storage } = await setUp(DOCUMENT);
  const survey = await client.survey("health");
  const asked = await client.asked(survey);
  assert.deepEqual(pathsOf(collector), ["health", "tickets"]);
  const [{ commitments, invitations }] = collector.posted;
  assert.equal(invitations, undefined);
  const ticket = readTicket(storage.getItem(`halftruth-ticket:${collector.digest}`));
  assert.equal(commitments[0], await commitTo(collector.digest, ticket.secret));
  const view = await viewOf(survey, collector.digest, ticket);
  assert.deepEqual(asked, [`a${view}`]);
  assert.equal(await client.view(survey), view);
  // Reloading neither asks for another one nor changes the questions.
  const again = (await setUp(DOCUMENT)).open({ storage, fetch: collector.fetch });
  assert.deepEqual(await again.asked(await again.survey("health")), asked);
  assert.equal(collector.issued.length, 1);

  const only = { [asked[0]]: RECORD[asked[0]] };
  assert.equal((await client.submit(survey, only)).status, "accepted");
  const [report] = collector.posted.at(-1).reports;
  assert.equal(report.ticket, ticketText(ticket));
  assert.equal(report.values[0] < 2 ? 0 : 1, view);
  // The secret of a counted report is deleted, and answering again draws nothing.
  assert.ok(![...storage.items.values()].some((text) => text.includes(ticket.secret)));
  await client.submit(survey, only);
  assert.deepEqual(await client.asked(survey), asked);
  assert.equal(collector.issued.length, 1);
});

test("a client that asks everything takes a ticket before it draws, and none after", async () => {
  const { collector, client } = await setUp(DOCUMENT);
  const survey = await client.survey("health");
  collector.trouble.push(() => problem(503), () => problem(403, "ticket: no", "ticket"));
  assert.equal((await client.submit(survey, RECORD)).status, "waiting");
  await assert.rejects(client.submit(survey, RECORD), /ticket: no/);
  const first = collector.posted.at(-1).reports[0];
  // Whatever the refusal, the same report is sent again.
  await client.resend(survey, { invitation: INVITATION });
  assert.deepEqual(collector.posted.at(-1).reports[0], first);
  assert.equal(collector.issued.length, 1);
});

test("without a ticket nothing is asked and nothing is drawn", async () => {
  for (const answer of [away, () => problem(429), () => problem(409, "closed"), () => problem(404)]) {
    const { collector, client, storage } = await setUp(DOCUMENT);
    const survey = await client.survey("health");
    collector.noTickets = answer;
    await assert.rejects(client.asked(survey));
    await assert.rejects(client.submit(survey, RECORD));
    assert.equal(collector.reports.size, 0);
    assert.equal(storage.items.size, 0);
  }
  for (const tickets of [[], ["00"], ["0".repeat(96), "0".repeat(96)], "0".repeat(96), [7], null]) {
    assert.throws(() => readIssued({ tickets }, newSecret()), /no ticket/);
  }
});

test("invited people take tickets by the hash of their invitation, when the form opens", async () => {
  const { collector, storage } = await setUp(DOCUMENT, INVITED);
  const given = { survey: "health", collector: ADDRESS, maxGamma: "9", storage, fetch: collector.fetch };
  const session = new Session({ ...given, invitation: INVITATION, retries: 0 });
  assert.equal(await session.open(), "asking", String(session.error));
  assert.deepEqual(pathsOf(collector), ["health", "check", "tickets"]);
  const [{ hash }, { invitations }] = collector.posted;
  assert.deepEqual(invitations, [hash]);
  assert.ok(!JSON.stringify(collector.requests).includes(INVITATION));
  session.questionnaire.set(Object.entries(RECORD).filter(([name]) => session.questionnaire.names.includes(name)));
  assert.equal(await session.submit(), "counted");
  // No request depends on the answers but the report.
  assert.deepEqual(pathsOf(collector).slice(3), ["reports"]);
});

test("a form that asks everything shows nothing of what was drawn", async () => {
  const { collector, storage } = await setUp(DOCUMENT);
  const given = { survey: "health", collector: ADDRESS, maxGamma: "9", storage, fetch: collector.fetch };
  const session = new Session({ ...given, ask: "all", retries: 0 });
  assert.equal(await session.open(), "asking", String(session.error));
  assert.deepEqual(pathsOf(collector), ["health", "tickets"]);
  assert.equal(session.view, undefined);
  assert.deepEqual(session.questionnaire.names, ["a0", "a1"]);
  session.questionnaire.set(Object.entries(RECORD));
  assert.equal(await session.submit(), "counted");
  assert.deepEqual(pathsOf(collector).slice(2), ["reports"]);
});

test("the next person at a shared device has another ticket", async () => {
  const { collector, client } = await setUp(DOCUMENT, { published: { terms: { shared_devices: true } } });
  const survey = await client.survey("health");
  for (let people = 1; people <= 3; people += 1) {
    await client.submit(survey, RECORD);
    assert.equal(collector.issued.length, people);
    await client.forget(survey);
  }
  const sent = collector.posted.filter(({ reports }) => reports).map(({ reports }) => reports[0].ticket);
  assert.equal(new Set(sent).size, 3);
});

test("a sealed report has its ticket inside, between values and invitation", async () => {
  const { publicHex, privateHex } = newKey();
  const terms = { invitations: true, sealing_key: publicHex };
  const { collector, client } = await setUp(DOCUMENT, { published: { terms } });
  const survey = await client.survey("health");
  await client.submit(survey, RECORD, { invitation: INVITATION });
  const [{ id, sealed, ticket }] = collector.posted.at(-1).reports;
  assert.equal(ticket, undefined);
  const opened = Buffer.from(openReport(sealed, privateHex, collector.digest, id)).toString("hex");
  assert.equal(opened.length, 2 * (1 + 80 + 16));
  assert.ok(opened.endsWith(INVITATION));
  assert.equal(opened.slice(2, 2 + 32), collector.issued[0].slice(0, 32));
});

const OUTER = newKey();
const INNER = newKey();
const SIGNER = generateKeyPairSync("ed25519");
const RELAY = {
  url: "https://relay.example",
  key: OUTER.publicHex,
  sealing_key: INNER.publicHex,
  tickets_key: Buffer.from(SIGNER.publicKey.export({ format: "jwk" }).x, "base64url").toString("hex"),
  batch: 500,
};

/** A relay that signs tickets and takes reports, before a collector; `requests` has those to the relay. */
async function behindRelay({ issue = (ticket) => ticket, answer } = {}) {
  const made = await setUp({ ...DOCUMENT, relay: RELAY });
  const { collector } = made;
  const requests = [];
  const fetch = async (url, settings = {}) => {
    if (!url.startsWith(RELAY.url)) return collector.fetch(url, settings);
    const sent = settings.body && JSON.parse(settings.body);
    requests.push({ path: url.split("/").at(-1), sent, headers: settings.headers });
    if (answer) return answer();
    if (!url.endsWith("/tickets")) {
      if (settings.method !== "POST") return json({ id: "health", digest: collector.digest, status: "open" });
      return json({ accepted: 1, duplicates: 0 }, 202);
    }
    const id = crypto.getRandomValues(Buffer.alloc(16));
    const [commitment] = sent.commitments.map((digits) => Buffer.from(digits, "hex"));
    const message = ["halftruth relay ticket 1\n", Buffer.from(collector.digest, "hex"), id, commitment];
    const ticket = Buffer.concat([id, sign(null, Buffer.concat(message.map((part) => Buffer.from(part))), SIGNER.privateKey)]);
    return json({ tickets: [issue(ticket.toString("hex"))] }, 201);
  };
  const given = { survey: "health", collector: ADDRESS, maxGamma: "9", storage: made.storage, fetch, retries: 0 };
  return { ...made, fetch, requests, begin: (more) => new Session({ ...given, ...more }) };
}

test("a form behind a relay takes its ticket of the relay, instead of asking whether it takes reports", async () => {
  const { collector, storage, requests, begin } = await behindRelay();
  const session = begin();
  assert.equal(await session.open(), "asking", String(session.error));
  assert.deepEqual(requests.map(({ path }) => path), ["tickets"]);
  assert.deepEqual(Object.keys(requests[0].sent), ["digest", "commitments"]);
  const ticket = readTicket(storage.getItem(`halftruth-ticket:${collector.digest}`));
  assert.equal(requests[0].sent.commitments[0], await commitTo(collector.digest, ticket.secret));
  const view = await viewOf(session.survey, collector.digest, ticket);
  assert.deepEqual(session.questionnaire.names, [`a${view}`]);
  // Reloading keeps the ticket, and asks whether the relay still takes reports.
  const again = begin();
  assert.equal(await again.open(), "asking");
  assert.deepEqual(again.questionnaire.names, session.questionnaire.names);
  assert.deepEqual(requests.map(({ path }) => path), ["tickets", "health"]);
  again.questionnaire.set(Object.entries(RECORD).filter(([name]) => again.questionnaire.names.includes(name)));
  assert.equal(await again.submit(), "counted");
  // The collector was asked for the survey alone.
  assert.deepEqual(new Set(pathsOf(collector)), new Set(["health"]));
  const [{ id, sealed }] = requests.at(-1).sent.reports;
  const digest = Buffer.from(collector.digest, "hex");
  const bound = Buffer.concat([Buffer.from("halftruth relay envelope 1\n"), digest, Buffer.from(id.replaceAll("-", ""), "hex")]);
  const inner = open(Buffer.from(sealed, "base64"), OUTER.privateHex, bound);
  const info = Buffer.concat([Buffer.from("halftruth relayed report 1\n"), digest]);
  const opened = open(inner, INNER.privateHex, info).toString("hex");
  // Id, value, and the ticket with its signature, whose secret is deleted now.
  assert.equal(opened.length, 2 * (16 + 1 + 112));
  assert.equal(opened.slice(2 * 17), ticketText(ticket));
  assert.ok(![...storage.items.values()].some((text) => text.includes(ticket.secret)));
  assert.ok(!JSON.stringify(requests).includes(ticket.secret));
});

for (const [name, answer, said] of [
  ["has closed the survey", () => problem(409, "closed", "survey"), "relay"],
  ["does not know the survey", () => problem(404, "unknown", "survey"), "relay"],
  ["has another version", () => problem(409, "stale", "digest"), "relay"],
  ["does not answer", away, null],
  ["is no relay", () => new Response("<html>", { status: 200 }), null],
]) {
  test(`without a ticket nothing is asked, if the relay ${name}`, async () => {
    const { storage, begin } = await behindRelay({ answer });
    const session = begin();
    assert.equal(await session.open(), "failed");
    assert.equal(session.questionnaire, null);
    assert.equal(storage.items.size, 0);
    assert.equal(session.survey.isClosed ? session.survey.closedBecause : null, said);
    if (said) assert.deepEqual([session.error.name, session.error.field], ["SurveyRefused", "status"]);
  });
}

test("a ticket that the relay has not signed is not used", async () => {
  const { storage, begin } = await behindRelay({ issue: (ticket) => `${ticket.slice(0, -2)}00` });
  const session = begin();
  assert.equal(await session.open(), "failed");
  assert.match(session.error.message, /has not signed/);
  assert.equal(storage.items.size, 0);
});

test("views are drawn as often as they weigh", async () => {
  const survey = new Survey(DOCUMENT);
  const digest = await survey.digest();
  const draws = 5_000;
  let first = 0;
  for (let i = 0; i < draws; i += 1) {
    const ticket = { id: i.toString(16).padStart(32, "0"), secret: "5e".repeat(32) };
    if ((await viewOf(survey, digest, ticket)) === 0) first += 1;
  }
  // 3 of 5, within four standard deviations.
  assert.ok(Math.abs(first - 0.6 * draws) < 4 * Math.sqrt(0.24 * draws), String(first));
});
