// The client and the terms of a survey: pinned operators, invitations, sealed reports, and changes
// of terms while a report waits.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { pack } from "../../client/halftruth_client/js/sealing.js";
import { away, FakeStorage, newOperator, problem, setUp as setUpWith, surveyOf } from "./helpers.mjs";
import { withoutAlgorithm } from "./helpers.mjs";
import { newKey, openReport } from "./hpke.mjs";

const DOCUMENT = surveyOf([3, 300], { kind: "gamma-diagonal", gamma: "19" });
const RECORD = { a0: "c2", a1: "c299" };
const INVITATION = "0123456789abcdef0123456789abcdef";
const ANOTHER = "fedcba9876543210fedcba9876543210";

const DIGEST = await new Survey(DOCUMENT).digest();
const OPERATOR = newOperator();

const setUp = (published = {}, options = {}) => setUpWith(DOCUMENT, { published, ...options });
/** The same, with the survey that the client fetched. */
const fetched = async (...how) => {
  const made = await setUp(...how);
  return { ...made, survey: await made.client.survey("health") };
};

const fetches = ({ requests }) => requests.filter(({ method }) => method === "GET").length;

/** Return the values of the one stored report. */
function drawn({ reports }) {
  assert.equal(reports.length, 1);
  return reports[0].values;
}

/** Return the one report of the last message. */
function last({ posted }) {
  const { reports } = posted.at(-1);
  assert.equal(reports.length, 1);
  return reports[0];
}

// Pinned operators.

const weakened = OPERATOR.publish(DIGEST, { sealing_key: newKey().publicHex });
const UNSIGNED = {
  nothing: {},
  "no signature": { terms: { invitations: false, sealing_key: null }, signature: null },
  "another signer": newOperator().publish(DIGEST),
  "another digest that was signed": OPERATOR.publish("ab".repeat(32)),
  "a sealing key that was dropped": { ...weakened, terms: { invitations: false } },
  "terms that were left out": { signature: weakened.signature },
};

test("a client with pins refuses surveys that no pinned key signed", async () => {
  for (const [what, published] of Object.entries(UNSIGNED)) {
    const { collector, storage, open } = await setUp(published);
    const client = open({ operatorKeys: [OPERATOR.key] });
    const error = { name: "SurveyRefused", field: "operatorKeys" };
    await assert.rejects(client.survey("health"), error, what);
    // Neither constructed here nor fetched by a client without pins.
    for (const survey of [new Survey(DOCUMENT), await open().survey("health")]) {
      await assert.rejects(client.submit(survey, RECORD), error, what);
    }
    assert.equal(collector.posted.length + storage.items.size, 0);
  }
});

test("without pins, signatures are ignored", async () => {
  for (const signature of [null, 5, { key: "x" }, newOperator().publish(DIGEST).signature]) {
    const { client } = await setUp({ signature });
    assert.equal((await client.submit(await client.survey("health"), RECORD)).status, "accepted");
  }
});

test("a client with pins uses only verified terms", async () => {
  const { privateHex, publicHex } = newKey();
  const published = OPERATOR.publish(DIGEST, { sealing_key: publicHex });
  const { collector, client } = await setUp(published, { operatorKeys: [OPERATOR.key] });
  await client.survey("health");
  // Constructed here, and therefore without terms.
  await client.submit(new Survey(DOCUMENT), RECORD);
  const { id, sealed, values } = last(collector);
  assert.equal(values, undefined);
  assert.equal(openReport(sealed, privateHex, DIGEST, id).length, 4);
});

test("a waiting report is sent only once its survey is verified in this page", async () => {
  const pinned = { operatorKeys: [OPERATOR.key] };
  const { collector, client, open } = await setUp(OPERATOR.publish(DIGEST), pinned);
  collector.trouble = [away];
  await client.submit(await client.survey("health"), RECORD);
  const good = collector.published;
  collector.published = newOperator().publish(DIGEST);
  assert.deepEqual((await open().flush()).sent, []);
  assert.equal(collector.posted.length, 1, "nothing was sent to an impostor");
  assert.ok(open().isWaiting("health"));
  collector.published = good;
  assert.equal((await open().flush()).sent[0].status, "accepted");
});

// Invitations.

const INVITED = { terms: { invitations: true, sealing_key: null } };

test("a missing or malformed invitation is an error before anything is stored", async () => {
  const { collector, storage, client, survey } = await fetched(INVITED);
  const wrong = ["", "ab", INVITATION.slice(1), `${INVITATION}0`, INVITATION.toUpperCase()];
  wrong.push(`${INVITATION}\n`, INVITATION.replace("0", "g"), null, 5, [INVITATION], undefined);
  for (const invitation of wrong) {
    await assert.rejects(client.submit(survey, RECORD, { invitation }), (error) => {
      assert.deepEqual([error.name, error.field], ["ParameterError", "invitation"]);
      if (invitation) assert.ok(!error.message.includes(invitation));
      return true;
    });
  }
  await assert.rejects(client.submit(survey, RECORD), { message: /'health' needs one/ });
  assert.equal(collector.posted.length + storage.items.size, 0);
});

test("an unnecessary invitation is not sent", async () => {
  const { collector, client } = await setUp();
  await client.submit(await client.survey("health"), RECORD, { invitation: INVITATION });
  assert.deepEqual(Object.keys(last(collector)).sort(), ["id", "values"]);
});

test("the invitation waits with the report and is sent with it", async () => {
  const { collector, storage, client, open } = await setUp(INVITED);
  collector.trouble = [away];
  const survey = await client.survey("health");
  const { id } = await client.submit(survey, RECORD, { invitation: INVITATION });
  assert.ok([...storage.items.values()].join().includes(INVITATION));
  assert.deepEqual((await open().flush()).sent, [{ id, status: "accepted" }]);
  assert.deepEqual(collector.posted[0], collector.posted[1]);
  assert.equal(last(collector).invitation, INVITATION);
  // Then it is deleted, and it was in no URL or header.
  assert.ok(![...storage.items.values()].join().includes(INVITATION));
  for (const { url, headers } of collector.requests) {
    assert.ok(!(url + JSON.stringify(headers)).includes(INVITATION));
  }
});

// Sealed reports.

const KEY = newKey();
const SEALED = { terms: { invitations: false, sealing_key: KEY.publicHex } };
const BOTH = { terms: { invitations: true, sealing_key: KEY.publicHex } };

test("a sealed report has only an id and the encrypted values", async () => {
  const { collector, storage, client, survey } = await fetched(SEALED);
  assert.equal(survey.terms.sealingKey, KEY.publicHex);
  assert.equal((await client.submit(survey, RECORD)).status, "accepted");
  const [message] = collector.posted;
  assert.deepEqual(Object.keys(message).sort(), ["digest", "reports"]);
  const report = last(collector);
  assert.deepEqual(Object.keys(report).sort(), ["id", "sealed"]);
  const opened = openReport(report.sealed, KEY.privateHex, DIGEST, report.id);
  assert.deepEqual(new Uint8Array(opened), pack(drawn(storage), survey.schema.shape));
});

test("a survey that was not fetched is sent by its collector's terms", async () => {
  const { collector, storage, open } = await setUp(SEALED);
  const offline = open({ fetch: away });
  assert.equal((await offline.submit(new Survey(DOCUMENT), RECORD)).status, "waiting");
  assert.equal((await open().submit(new Survey(DOCUMENT), RECORD)).status, "accepted");
  assert.equal(collector.posted.length, 1);
  assert.deepEqual(Object.keys(last(collector)).sort(), ["id", "sealed"]);
  assert.equal(storage.reports.length, 1);
  const other = new Survey({ ...DOCUMENT, title: "Health, before" });
  const empty = open({ storage: new FakeStorage() });
  await assert.rejects(empty.submit(other, RECORD), { name: "SurveyRefused", field: "digest" });
  assert.equal(collector.posted.length, 1);
});

test("a waiting sealed report is the same report, encrypted again", async () => {
  const { collector, client, open } = await setUp(BOTH);
  collector.trouble = [away, away];
  const survey = await client.survey("health");
  await client.submit(survey, RECORD, { invitation: INVITATION });
  await client.flush();
  assert.equal((await open().flush()).sent[0].status, "accepted");
  const reports = collector.posted.map((message) => message.reports[0]);
  assert.equal(new Set(reports.map(({ sealed }) => sealed)).size, 3);
  const opened = reports.map(({ id, sealed }) =>
    openReport(sealed, KEY.privateHex, DIGEST, id).toString("hex"),
  );
  assert.equal(new Set(opened).size, 1);
  assert.ok(opened[0].endsWith(INVITATION));
  assert.ok(!JSON.stringify(collector.requests).includes(INVITATION));
});

test("a browser without X25519 neither answers a sealed survey nor sends plain reports", async () => {
  const { collector, storage, client, open, survey } = await fetched(SEALED);
  const restore = withoutAlgorithm("X25519");
  try {
    const error = { name: "SurveyRefused", field: "sealing_key", message: /this browser cannot/ };
    await assert.rejects(open().survey("health"), error);
    assert.equal(storage.items.size, 0);
    await assert.rejects(client.submit(survey, RECORD), { name: "NotSupportedError" });
    assert.deepEqual((await open().flush()).sent, []);
  } finally {
    restore();
  }
  assert.equal(collector.posted.length, 0);
});

test("a browser without Ed25519 answers nothing with pins", async () => {
  const { collector, client } = await setUp(OPERATOR.publish(DIGEST), { operatorKeys: [OPERATOR.key] });
  const restore = withoutAlgorithm("Ed25519");
  try {
    const error = { name: "SurveyRefused", message: /this browser cannot verify .* with Ed25519/ };
    await assert.rejects(client.submit(new Survey(DOCUMENT), RECORD), error);
  } finally {
    restore();
  }
  assert.equal(collector.posted.length, 0);
});

test("a survey with an invalid sealing key is refused", async () => {
  const { client } = await setUp({ terms: { invitations: false, sealing_key: "00".repeat(32) } });
  await assert.rejects(client.survey("health"), { name: "SurveyRefused", field: "sealing_key" });
});

// Changes of terms.

const refusing = () => problem(422, "report 0: cannot be opened", "sealed");

test("a refused report is sealed by its survey's new terms", async () => {
  const { collector, storage, client, survey } = await fetched();
  for (const [round, { publicHex, privateHex }] of [newKey(), newKey()].entries()) {
    collector.published = { terms: { invitations: false, sealing_key: publicHex } };
    collector.trouble = [() => problem(422, "report 0: expected a sealed report")];
    const { status } = await client.submit(survey, RECORD);
    assert.equal(status, round === 0 ? "accepted" : "duplicate");
    const { id, sealed, values } = last(collector);
    assert.equal(values, undefined);
    const opened = openReport(sealed, privateHex, DIGEST, id);
    assert.deepEqual(new Uint8Array(opened), pack(drawn(storage), survey.schema.shape));
    // From now on without fetching again.
    await client.submit(survey, RECORD);
    assert.deepEqual([fetches(collector), collector.posted.length], [round + 2, 3 * round + 3]);
  }
});

test("unsigned new terms are ignored by a client with pins", async () => {
  const published = OPERATOR.publish(DIGEST, SEALED.terms);
  const { collector, client, survey } = await fetched(published, { operatorKeys: [OPERATOR.key] });
  collector.published = { terms: { invitations: false, sealing_key: null }, signature: null };
  collector.trouble = [refusing];
  await assert.rejects(client.submit(survey, RECORD), {
    name: "SurveyRefused",
    field: "operatorKeys",
  });
  assert.equal(collector.posted.length, 1);
  assert.ok(client.isWaiting("health"));
});

test("a sealed report is not sent in the clear after a downgrade", async () => {
  const { collector, client, open, survey } = await fetched(SEALED);
  collector.published = { terms: { invitations: false, sealing_key: null } };
  collector.trouble = [refusing, refusing];
  const error = { name: "SurveyRefused", field: "sealing_key" };
  await assert.rejects(client.submit(survey, RECORD), error);
  assert.deepEqual((await client.flush()).sent, []);
  assert.ok(client.isWaiting("health"));
  for (const { reports } of collector.posted) assert.equal(reports[0].values, undefined);
  // A client that fetches the survey again uses its current terms.
  assert.equal((await open().flush()).sent[0].status, "accepted");
  assert.equal(last(collector).values.length, 2);
});

test("after a refusal terms are fetched once, and retried if changed", async () => {
  for (const changing of [false, true]) {
    const { collector, client, open, survey } = await fetched(SEALED);
    const refuse = () => {
      if (changing) collector.published = { terms: { sealing_key: newKey().publicHex } };
      return refusing();
    };
    collector.trouble = [refuse, refuse, refuse];
    const error = { name: "RequestRefused", status: 422 };
    await assert.rejects(client.submit(survey, RECORD), error);
    assert.deepEqual([collector.posted.length, fetches(collector)], [changing ? 2 : 1, 2]);
    assert.notEqual(client.report("health").refused, undefined);
    assert.deepEqual((await open().flush()).sent, []);
  }
});

test("a report waits while the new terms cannot be fetched", async () => {
  const { collector, client, open, survey } = await fetched(SEALED);
  const { fetch } = collector;
  const offline = open({
    fetch: (url, settings) => (settings.method === "GET" ? away() : fetch(url, settings)),
  });
  collector.trouble = [refusing];
  assert.equal((await offline.submit(survey, RECORD)).status, "waiting");
  assert.ok(client.isWaiting("health"));
});

test("a page with an older version sends the waiting report of a newer one", async () => {
  const { collector, client, open } = await setUp();
  await client.survey("health");
  collector.document = { ...DOCUMENT, title: "Health, again" };
  collector.digest = await new Survey(collector.document).digest();
  const newer = open();
  collector.trouble = [away];
  await newer.submit(await newer.survey("health"), RECORD);
  assert.equal((await client.flush()).sent[0].status, "accepted");
  assert.equal(client.report("health").refused, undefined);
});

test("a survey that opens later is neither asked nor drawn, and is answered once it has opened", async () => {
  const terms = { opens_at: "2131-03-31T22:00:00Z" };
  const { client, collector, storage, survey } = await fetched({ status: "planned", terms });
  assert.ok(survey.isPlanned && !survey.isClosed);
  const error = { name: "SurveyRefused", field: "opens_at", message: /opens at 2131-03-31T22:00:00Z; nothing was asked or sent/ };
  for (let i = 0; i < 2; i += 1) await assert.rejects(client.submit(survey, RECORD), error);
  assert.deepEqual([storage.written.length, collector.posted.length], [0, 0]);
  // The client asks again, since the survey may have opened meanwhile.
  collector.published = { ...collector.published, status: "open" };
  assert.equal((await client.submit(survey, RECORD)).status, "accepted");
  assert.equal(collector.reports.size, 1);
});

test("a report that was drawn before the opening was moved waits, and is sent unchanged", async () => {
  const { client, collector, survey } = await fetched();
  const early = () => problem(503, "survey 'health' opens later", "opens_at");
  collector.trouble = Array(9).fill(early);
  assert.equal((await client.submit(survey, RECORD)).status, "waiting");
  const [sent] = collector.posted.map(drawn);
  collector.trouble = [];
  assert.equal((await client.flush()).sent.length, 1);
  assert.deepEqual(drawn(collector.posted.at(-1)), sent);
});
