// A browser adds up the cost of its reports, and refuses those that would exceed the promise.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, Survey } from "../../client/halftruth_client/js/index.js";
import { entryOf, Ledger } from "../../client/halftruth_client/js/ledger.js";
import { ADDRESS, byName, cells, distribution, setUp, surveyOf } from "./helpers.mjs";

const RECORD = byName(["c0", "c1"]);

/** Return a wave of a series; without a series if `series` is null. */
function wave(number = 1, { id = `health-${number}`, series = "panel", total = "9", gamma = "3", ...more } = {}) {
  const member = series ? { series: { id: series, wave: number, total_gamma: total } } : {};
  return surveyOf([2, 2], { kind: "gamma-diagonal", gamma }, { id, ...member, ...more });
}

/** Return a browser that answered some waves, and a function that answers the next one. */
async function answered(waves, options = {}) {
  const made = await setUp(wave(), options);
  const ask = async (document) => {
    await made.collector.publish(document);
    const client = made.open();
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
  const ledger = await open().ledger(new Survey(wave(3)));
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
    const series = { id: "panel", wave: number, total_gamma: "6561" };
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
  assert.equal(String((await client().ledger(new Survey(harmless(3)))).gamma), "6561");
});

test("a report that can reveal a sensitive answer exceeds every total", () => {
  const rulesOut = [["1/2", "0", "1/4"], ["1/2", "1/2", "1/4"], ["0", "1/2", "1/2"]];
  const survey = new Survey(surveyOf([3], { kind: "distortion-matrices", matrices: { a0: rulesOut } }));
  const entry = entryOf(survey, "d");
  assert.equal(entry.gamma, "infinite");
  const ledger = new Ledger([{ ...entry, digest: "e" }]);
  assert.equal(ledger.gamma, null);
  assert.throws(() => ledger.check(survey, entry, new Survey(wave()).mechanism.gamma), { field: "maxTotalGamma" });
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
  assert.equal(String((await open().ledger(new Survey(wave(1)))).gamma), "3");
});

test("a draw that cannot be stored is not sent, and its cost is stored first", async () => {
  const { collector, storage, ask } = await answered([]);
  storage.fails = (method) => method === "setItem";
  await assert.rejects(ask(wave(1)), { name: "QuotaExceededError" });
  assert.equal(collector.posted.length + storage.items.size, 0);
  storage.fails = () => false;
  await ask(wave(1));
  assert.deepEqual(storage.written.slice(0, 2).map(([key]) => key), ["halftruth-ledger:", "halftruth:health-1"]);
});

test("a survey counts once per device, and another version counts again", async () => {
  const shared = { published: { terms: { shared_devices: true } } };
  const { open, ask } = await answered([wave(1)], shared);
  for (let person = 0; person < 3; person += 1) {
    await open().forget(new Survey(wave(1)));
    await ask(wave(1));
  }
  await ask(wave(2));
  await open().forget(new Survey(wave(2)));
  assert.equal(String((await open().ledger(new Survey(wave(2)))).gamma), "9");
  await assert.rejects(ask(wave(2, { title: "Well?" })), { field: "series.wave" });
});

test("a deleted ledger restarts; a damaged one refuses all surveys", async () => {
  const { storage, open, ask } = await answered([wave(1), wave(2)]);
  await open().forgetLedger(new Survey(wave(3)));
  await ask(wave(3));
  assert.equal(String((await open().ledger(new Survey(wave(3)))).gamma), "3");
  for (const text of ["no", '[{"gamma": 1.5}]', "{}"]) {
    storage.items.set("halftruth-ledger:", text);
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

/** Return a wave that asks one of four questions. */
function oneOfFour(number) {
  const views = [{ attributes: [["a0", "a1", "a2", "a3"]], choose: [1], weight: 1 }];
  const mechanism = { kind: "split-questionnaire", gamma: "2", prime: 3, direct: 2, views };
  const series = { id: "panel", wave: number, total_gamma: "1000000" };
  return surveyOf([2, 2, 2, 2], mechanism, { id: `health-${number}`, series });
}

test("each wave and each person has a new draw of questions", async () => {
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
