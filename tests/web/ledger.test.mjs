// A browser adds up the cost of its reports, and refuses those that would exceed the promise.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { entryOf, Ledger } from "../../client/halftruth_client/js/ledger.js";
import { Rational } from "../../client/halftruth_client/js/rational.js";
import { ADDRESS, byName, cells, distribution, newOperator, setUp, surveyOf } from "./helpers.mjs";

const ORIGIN = "https://survey.example.org";
const RECORD = byName(["c0", "c1"]);

/** Return a wave of a series; without a series if `series` is null. */
function wave(number = 1, { id = `health-${number}`, series = "panel", total = "9", gamma = "3", ...more } = {}) {
  const member = series ? { series: { id: series, wave: number, total_gamma: total, origin: ORIGIN } } : {};
  return surveyOf([2, 2], { kind: "gamma-diagonal", gamma }, { id, ...member, ...more });
}

/** Return a browser that answered some waves, and a function that answers the next one. */
async function answered(waves, options = {}) {
  const made = await setUp(wave(), options);
  const ask = async (document, more) => {
    await made.collector.publish(document);
    const client = made.open(more);
    return client.submit(await client.survey(document.id), RECORD);
  };
  for (const document of waves) await ask(document);
  return { ...made, ask };
}

const numbers = (ledger) => ({
  whole: String(ledger.gamma),
  questions: Object.fromEntries([...ledger.questions].map(([name, { gamma }]) => [name, String(gamma)])),
});

test("waves are answered until the total is spent", async () => {
  const { collector, open, ask } = await answered([wave(1), wave(2)]);
  const ledger = await open().ledger();
  assert.deepEqual(numbers(ledger), { whole: "9", questions: { a0: "9", a1: "9" } });
  const error = { name: "LedgerRefused", field: "series.total_gamma" };
  await assert.rejects(ask(wave(3)), error);
  // A survey that was not fetched is checked against the ledger, too.
  await assert.rejects(open().submit(new Survey(wave(3)), RECORD), error);
  assert.equal(collector.posted.length, 2);
  assert.equal((await ask(wave(2))).status, "duplicate");
});

test("perturbed questions count even if not sensitive and allowed by the page", async () => {
  // Nine for each question, 81 for both.
  const kept = { kind: "randomized-response", keep: { a0: "9/10", a1: "9/10" } };
  const harmless = (number) => {
    const series = { id: "panel", wave: number, total_gamma: "6561", origin: ORIGIN };
    const survey = surveyOf([2, 2], kept, { id: `health-${number}`, series });
    survey.attributes[0].sensitive = false;
    return survey;
  };
  const { collector, open } = await setUp(harmless(1));
  const client = () => open({ maxGamma: "81", unprotected: ["a0"], digests: undefined });
  for (const number of [1, 2, 3]) {
    await collector.publish(harmless(number));
    const digests = [await new Survey(harmless(number)).digest()];
    const asks = async () => {
      const one = open({ maxGamma: "81", unprotected: ["a0"], digests });
      return one.submit(await one.survey(`health-${number}`), RECORD);
    };
    if (number < 3) await asks();
    else await assert.rejects(asks(), { name: "LedgerRefused", field: "series.total_gamma" });
  }
  assert.equal(collector.posted.length, 2);
  assert.equal(String((await client().ledger()).gamma), "6561");
});

test("a report that can reveal a sensitive answer exceeds every total", () => {
  const rulesOut = [["1/2", "0", "1/4"], ["1/2", "1/2", "1/4"], ["0", "1/2", "1/2"]];
  const survey = new Survey(surveyOf([3], { kind: "distortion-matrices", matrices: { a0: rulesOut } }));
  const entry = entryOf(survey, "d");
  assert.equal(entry.gamma, "infinite");
  const ledger = new Ledger([{ ...entry, digest: "e" }]);
  assert.equal(ledger.gamma, null);
  assert.throws(() => ledger.check(survey, entry, Rational.parse("19", "most")), { field: "maxTotalGamma" });
  ledger.check(survey, entry, null);
});

// Without reducing each factor first, this would take seven minutes.
test("a hundred numbers of a thousand digits are multiplied", { timeout: 60_000 }, () => {
  const gamma = (i) => `${"9".repeat(480)}${i}/${"7".repeat(470)}${i + 1}`;
  const entries = Array.from({ length: 100 }, (_, i) => ({ gamma: gamma(i), questions: {}, series: null }));
  const whole = new Ledger(entries).gamma;
  let [numerator, denominator] = [1n, 1n];
  for (const { gamma } of entries) {
    const [above, below] = gamma.split("/").map(BigInt);
    [numerator, denominator] = [numerator * above, denominator * below];
  }
  assert.ok(whole.numerator * denominator === numerator * whole.denominator);
});

const bounded = { maxTotalGamma: "8" };
const unnamed = (more) => wave(1, { id: "health-b", ...more });

// What a collector serves after wave 1 with a total of 9, options, and the field of the refusal.
const ATTACKS = {
  "repeats the wave as a survey of another name": [unnamed(), {}, "series.wave"],
  "repeats the wave in other words": [wave(1, { title: "Well?" }), {}, "survey"],
  "repeats the wave in another language": [
    unnamed({ title: { de: "Gesundheit" }, languages: ["de"] }), {}, "series.wave",
  ],
  "asks for more in a later wave": [wave(2, { gamma: "4" }), {}, "series.total_gamma"],
  "raises the total later": [wave(2, { total: "99", gamma: "4" }), {}, "series.total_gamma"],
  "lowers the total later": [wave(2, { total: "8" }), {}, "series.total_gamma"],
  "names the series anew": [unnamed({ series: "panel-b" }), {}, null],
  "names the series anew, where all reports are bounded": [
    unnamed({ series: "panel-b" }), bounded, "maxTotalGamma",
  ],
  "leaves the series out": [unnamed({ series: null }), {}, null],
  "leaves the series out, where all reports are bounded": [
    unnamed({ series: null }), bounded, "maxTotalGamma",
  ],
};

for (const [what, [served, options, field]] of Object.entries(ATTACKS)) {
  test(`a collector that ${what} gets no draw beyond the promised total`, async () => {
    const { collector, ask } = await answered([wave(1)], options);
    if (field === null) await ask(served);
    else await assert.rejects(ask(served), { field });
    assert.equal(collector.posted.length, field === null ? 2 : 1);
  });
}

test("the order of waves does not matter, and all addresses share the ledger", async () => {
  const { collector, storage, ask } = await answered([wave(3), wave(1)]);
  await assert.rejects(ask(wave(2)), { field: "series.total_gamma" });
  const options = { maxGamma: "19", storage, fetch: collector.fetch, retries: 0 };
  const elsewhere = new Client(`${ADDRESS}.elsewhere`, options);
  await assert.rejects(elsewhere.survey("health-2"), { field: "series.total_gamma" });
});

test("a report counts as soon as the collector may have it", async () => {
  const { collector, open, ask } = await answered([]);
  collector.trouble = [() => new Response("", { status: 422 })];
  await assert.rejects(ask(wave(1)));
  assert.equal(String((await open().ledger()).gamma), "3");
});

test("a draw that cannot be stored is not sent, and its cost is stored first", async () => {
  const { collector, storage, ask } = await answered([]);
  storage.fails = (method) => method === "setItem";
  await assert.rejects(ask(wave(1)), { name: "QuotaExceededError" });
  assert.equal(collector.posted.length + storage.items.size, 0);
  storage.fails = () => false;
  await ask(wave(1));
  assert.deepEqual(storage.written.slice(0, 2).map(([key]) => key), ["halftruth-ledger", "halftruth:health-1"]);
});

test("every report of a shared device counts", async () => {
  const shared = { terms: { shared_devices: true } };
  const { collector, open, ask } = await answered([unnamed({ series: null })], { published: shared });
  const survey = new Survey(unnamed({ series: null }));
  for (let person = 0; person < 2; person += 1) {
    await open().forget(survey);
    await ask(unnamed({ series: null }));
  }
  assert.equal(String((await open().ledger()).gamma), "27");
  // Answering again without forgetting sends the same report.
  await ask(unnamed({ series: null }));
  assert.equal(String((await open().ledger()).gamma), "27");
  collector.published = {};
  await assert.rejects(ask(wave(1), { maxTotalGamma: "80" }), { field: "maxTotalGamma" });
  assert.equal((await ask(wave(1), { maxTotalGamma: "81" })).status, "accepted");
});

test("a draw that a full storage lost does not count", async () => {
  const { storage, open, ask } = await answered([]);
  const { setItem } = storage;
  storage.setItem = (key, text) => {
    if (key.startsWith("halftruth:")) throw new DOMException("full", "QuotaExceededError");
    setItem.call(storage, key, text);
  };
  await assert.rejects(ask(wave(1)), { name: "QuotaExceededError" });
  storage.setItem = setItem;
  await ask(wave(1));
  assert.equal(String((await open().ledger()).gamma), "3");
});

for (const [what, document, options] of [
  ["a series", wave(1), {}],
  ["maxTotalGamma", unnamed({ series: null }), { maxTotalGamma: "9" }],
]) {
  test(`a total of one person excludes shared devices: ${what}`, async () => {
    const { collector, open, ask } = await answered([document], options);
    collector.published = { terms: { shared_devices: true } };
    const error = { name: "SurveyRefused", field: "shared_devices" };
    await assert.rejects(ask(document), error);
    await assert.rejects(open().submit(new Survey(document), RECORD), error);
    await assert.rejects(open().forget(new Survey(document)), error);
    assert.equal(collector.reports.size, 1);
  });
}

const [OLD, NEW] = [newOperator(), newOperator()];

for (const [what, before, after] of [
  ["both keys are pinned", [OLD, NEW], [OLD, NEW]],
  ["the new key replaces the old one", [OLD], [NEW]],
  ["the first key is pinned later", [], [NEW]],
  ["the last pin is removed", [OLD], []],
]) {
  test(`a rotation of keys does not double a total: ${what}`, async () => {
    const { collector, open } = await setUp(wave());
    const ask = async (document, signer, pins, more = {}) => {
      await collector.publish(document);
      collector.published = signer.publish(collector.digest);
      const operatorKeys = pins.length > 0 ? pins.map(({ key }) => key) : undefined;
      const client = open({ operatorKeys, ...more });
      return client.submit(await client.survey(document.id), RECORD);
    };
    await ask(wave(1, { total: "8" }), OLD, before);
    const beyond = ask(wave(2, { total: "8" }), NEW, after);
    await assert.rejects(beyond, { name: "LedgerRefused", field: "series.total_gamma" });
    await assert.rejects(ask(unnamed({ total: "99" }), NEW, after), { field: "series.wave" });
    const other = ask(unnamed({ series: null }), NEW, after, { maxTotalGamma: "8" });
    await assert.rejects(other, { field: "maxTotalGamma" });
    assert.equal(collector.posted.length, 1);
    assert.equal(String((await open().ledger()).gamma), "3");
  });
}

test("no sequence of keys, pins, terms and surveys exceeds a total", async () => {
  // What the collector received is multiplied here, independently of the ledger.
  let state = 49;
  const pick = (values) => {
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length];
  };
  const product = (waves) => waves.reduce((all, { mechanism }) => all * Number(mechanism.gamma), 1);
  const outcomes = new Map();
  for (let person = 0; person < 40; person += 1) {
    const { collector, open } = await setUp(wave());
    const documents = Array.from({ length: 5 }, (_, i) =>
      wave(pick([1, 2, 3]), {
        id: `survey-${i}`,
        series: pick(["panel", "other", null]),
        total: pick(["5", "9", "12"]),
        gamma: pick(["2", "3"]),
      }),
    );
    const sent = new Map();
    for (let step = 0; step < 12; step += 1) {
      const document = pick(documents);
      await collector.publish(document);
      const signer = pick([OLD, NEW]);
      collector.published = signer.publish(collector.digest, pick([{}, { shared_devices: true }]));
      const [limit, pins] = [pick([undefined, undefined, "6", "40"]), pick([undefined, [OLD], [OLD, NEW], [OLD, NEW]])];
      const client = open({ maxTotalGamma: limit, operatorKeys: pins?.map(({ key }) => key) });
      let outcome = "sent";
      try {
        const survey = await client.survey(document.id);
        await client.submit(survey, RECORD);
        if (survey.terms.sharedDevices && pick([true, false])) await client.forget(survey);
      } catch (error) {
        outcome = error.field;
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const fresh = collector.posted.flatMap(({ reports }) => reports).filter(({ id }) => !sent.has(id));
      for (const { id } of fresh) sent.set(id, document);
      const all = [...sent.values()];
      if (fresh.length > 0 && limit !== undefined) assert.ok(product(all) <= Number(limit));
      for (const id of ["panel", "other"]) {
        const waves = all.filter(({ series }) => series?.id === id);
        assert.equal(new Set(waves.map(({ series }) => series.wave)).size, waves.length);
        const totals = waves.map(({ series }) => Number(series.total_gamma));
        assert.ok(waves.length === 0 || product(waves) <= Math.min(...totals));
      }
    }
  }
  const fields = ["maxTotalGamma", "operatorKeys", "sent", "series.total_gamma", "series.wave", "shared_devices"];
  assert.deepEqual([...outcomes.keys()].sort(), fields);
  for (const [field, count] of outcomes) assert.ok(count > 5, `${field}: ${count}`);
});

test("a wave is asked at the web address of its series alone", async (t) => {
  const { collector, storage, open, ask } = await answered([wave(1)]);
  const on = (origin) => {
    Object.defineProperty(globalThis, "location", { value: { origin }, configurable: true });
    t.after(() => delete globalThis.location);
  };
  for (const elsewhere of ["https://survey.example.org:8443", "http://survey.example.org", "https://www.survey.example.org", "null"]) {
    on(elsewhere);
    const error = { name: "SurveyRefused", field: "series.origin" };
    await assert.rejects(ask(wave(2)), error);
    await assert.rejects(open().submit(new Survey(wave(2)), RECORD), error);
    assert.equal((await ask(unnamed({ id: `free-${elsewhere.length}`, series: null, gamma: "2" }))).status, "accepted");
  }
  on(ORIGIN);
  assert.equal((await ask(wave(2))).status, "accepted");
  await assert.rejects(ask(wave(3)), { field: "series.total_gamma" });
  assert.equal(storage.reports.length, collector.reports.size);
});

// A browser has a separate storage for each web address. This is stated, not prevented: a collector can
// publish a second series, which names another address.
test("another web address has a ledger of its own", async () => {
  const [here, there] = [await answered([wave(1), wave(2)]), await answered([])];
  await assert.rejects(here.ask(wave(3)), { field: "series.total_gamma" });
  assert.equal((await there.ask(wave(3))).status, "accepted");
});

test("a deleted ledger restarts; a damaged one refuses all surveys", async () => {
  const { storage, open, ask } = await answered([wave(1), wave(2)]);
  await open().forgetLedger();
  await ask(wave(3));
  assert.equal(String((await open().ledger()).gamma), "3");
  for (const text of ["no", '[{"gamma": 1.5}]', "{}"]) {
    storage.items.set("halftruth-ledger", text);
    await assert.rejects(ask(wave(4)), { name: "SurveyRefused", field: "ledger" });
  }
});

for (const maxTotalGamma of ["1", 0, "x"]) {
  test(`maxTotalGamma = ${maxTotalGamma} is refused`, async () => {
    await assert.rejects(setUp(wave(), { maxTotalGamma }), { field: "maxTotalGamma" });
  });
}

// Exactness: every pair of reports of two waves.

const MECHANISMS = {
  "gamma-diagonal": (gamma) => ({ kind: "gamma-diagonal", gamma }),
  "split questionnaire": (gamma) => ({
    kind: "split-questionnaire",
    gamma,
    prime: 5,
    direct: 6,
    views: [{ weight: 1, attributes: [["a0"]] }, { weight: 2, attributes: [["a1"]] }],
  }),
};

for (const [kind, mechanism] of Object.entries(MECHANISMS)) {
  test(`the ledger of two waves of a ${kind} is exact`, () => {
    const records = cells([2, 3]);
    const waves = ["3", "5"].map((gamma) => {
      const survey = new Survey(surveyOf([2, 3], mechanism(gamma)));
      const of = records.map((codes) => distribution(survey, byName(codes.map((code) => `c${code}`))));
      return { survey, of, reports: [...new Set(of.flatMap((each) => [...each.keys()]))] };
    });
    // Largest likelihood ratio, as a fraction, of two records that agree on some columns.
    const worst = ({ of }, report, isKept) => {
      let most = [1n, 1n];
      for (const [i, one] of records.entries()) {
        for (const [j, other] of records.entries()) {
          if (one.some((code, k) => isKept(k) && code !== other[k])) continue;
          const [[a, b], [c, d]] = [of[i].get(report), of[j].get(report)];
          if (a * d * most[1] > b * c * most[0]) most = [a * d, b * c];
        }
      }
      return most;
    };
    for (const first of waves[0].reports) {
      for (const second of waves[1].reports) {
        const reports = [first, second];
        const entries = waves.map(({ survey }, w) =>
          entryOf(survey, String(w), reports[w].split(",").map(Number)),
        );
        const { whole, questions } = numbers(new Ledger(entries));
        const total = (isKept) => {
          const [[a, b], [c, d]] = waves.map((each, w) => worst(each, reports[w], isKept));
          return [a * c, b * d];
        };
        const is = ([a, b], text) => assert.equal(a, b * BigInt(text));
        is(total(() => false), whole);
        for (const k of [0, 1]) is(total((each) => each !== k), questions[`a${k}`] ?? "1");
      }
    }
  });
}

/** Return a survey that asks one of four questions. */
function oneOfFour(number) {
  const views = [{ attributes: [["a0", "a1", "a2", "a3"]], choose: [1], weight: 1 }];
  const mechanism = { kind: "split-questionnaire", gamma: "2", prime: 3, direct: 2, views };
  return surveyOf([2, 2, 2, 2], mechanism, { id: `health-${number}` });
}

test("each survey and each person has a new draw of questions", async () => {
  const shared = { published: { terms: { shared_devices: true } } };
  const { collector, open, storage } = await setUp(oneOfFour(1), shared);
  const views = () => [...storage.items.keys()].filter((key) => key.startsWith("halftruth-view:"));
  const found = [];
  for (let number = 1; number <= 19; number += 1) {
    await collector.publish(oneOfFour(number));
    const survey = await open().survey(`health-${number}`);
    for (let person = 0; person < 3; person += 1) {
      const [name] = await open().asked(survey);
      assert.deepEqual(await open().asked(survey), [name]);
      assert.equal(views().length, 1);
      found.push(name);
      await open().submit(survey, { [name]: "c1" });
      await open().forget(survey);
      assert.equal(views().length, 0);
    }
  }
  // All of 57 draws differ from the one before with probability (3/4)^56, below 1 in 10⁶.
  assert.ok(found.some((name, i) => name === found[i - 1]));
  assert.equal(new Set(found).size, 4);
});
