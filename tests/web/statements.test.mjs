// Statements on surveys, answers and reports for pages with their own form.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LedgerRefused, SurveyRefused } from "../../client/halftruth_client/js/errors.js";
import { reasonOf } from "../../client/halftruth_client/js/form/closing.js";
import { promiseOf, readingOf, receiptOf } from "../../client/halftruth_client/js/form/index.js";
import { Survey } from "../../client/halftruth_client/js/index.js";
import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { loadWording } from "../../client/halftruth_client/js/form/languages.js";
import { LANGUAGES } from "../../client/halftruth_client/js/form/words.js";
import { byName, setUp, surveyOf } from "./helpers.mjs";
import { newKey } from "./hpke.mjs";

const GAMMA = surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "9" });

const SYMPTOMS = {
  id: "health",
  title: "Health",
  languages: ["en", "de"],
  attributes: [
    {
      name: "smoker",
      categories: ["no", "yes"],
      label: { en: "Do you smoke?", de: "Rauchen Sie?" },
      answers: { no: { en: "No", de: "Nein" }, yes: { en: "Yes", de: "Ja" } },
    },
    { kind: "several", name: "symptoms", label: "Symptoms", options: [{ name: "cough" }, { name: "ache" }] },
  ],
  mechanism: { kind: "gamma-diagonal", gamma: "9" },
};

/** Sentences and lines as one text, to search in. */
const text = (said) => JSON.stringify(said, (_, value) => (value instanceof Map ? [...value] : value));

test("the promise has the survey's figures and sentences", async () => {
  const { client } = await setUp(GAMMA);
  const said = await promiseOf(client, await client.survey("health"), { language: "en" });
  // γ = 9: from 5 % to 9 · 0.05 / (9 · 0.05 + 0.95) = 32.1…, rounded up.
  assert.equal(said.figures.whole.gamma, "9");
  assert.equal(said.figures.whole.posterior, 322);
  const [before, after] = said.outlook;
  assert.deepEqual([before.count, after.count], [5, 33]);
  assert.match(said.suppose, /\b5\b/);
  assert.match(said.exactly.join(" "), /32\.2/);
  assert.ok(said.happening.length > 1);
});

const BY_ANSWER = {
  ...surveyOf([2, 2, 2], { kind: "randomized-response", keep: { a0: "5/6", a1: "5/6", a2: "5/6" } }),
  promise: "answer",
};

/** γ = 5 for each answer, to 20.9 %; γ = 125 for the record, to 86.9 %. */
const OF_ANSWER = /\b21\b|\b20[.,]9\b|γ = 5\b/;
const OF_RECORD = /\b87\b|\b86[.,]9\b/;

for (const language of LANGUAGES) {
  test(`the figure of an answer never stands without that of the record: ${language}`, async () => {
    const { client, collector } = await setUp(BY_ANSWER, { maxGamma: "19", maxAnswerGamma: "5" });
    const survey = await client.survey("health");
    const { outlook, happening, exactly } = await promiseOf(client, survey, { language });
    // The bars are those of the record.
    assert.deepEqual(outlook.map(({ count }) => count), [5, 87, 100]);
    const both = [...happening, ...exactly].filter((said) => OF_ANSWER.test(said));
    assert.equal(both.length, 2);
    for (const said of both) assert.match(said, OF_RECORD);
    await client.submit(survey, byName(["c1", "c0", "c1"]));
    assert.equal(collector.posted.length, 1);
    const lines = await receiptOf(client, survey, { language });
    const learnt = lines[lines.length - 1].value;
    assert.match(learnt, OF_RECORD);
    assert.doesNotMatch(text(lines), OF_ANSWER);
  });
}

test("the promise of an answer is in plain words", async () => {
  const { client } = await setUp(BY_ANSWER, { maxGamma: "19", maxAnswerGamma: "5" });
  const { happening } = await promiseOf(client, await client.survey("health"), { language: "en" });
  assert.equal(
    happening[0],
    "If someone knows all your other answers, the number rises from 5 to at most 21 of 100. Someone who does" +
      " not know them can learn more if answers are related: at most 87 of 100.",
  );
});

test("a promise without a bound states only that", async () => {
  const matrices = { a0: [["1", "0"], ["0", "1"]] };
  const open = { unprotected: ["a0"] };
  const { client } = await setUp(surveyOf([2], { kind: "distortion-matrices", matrices }), open);
  const said = await promiseOf(client, await client.survey("health"), { language: "en" });
  assert.deepEqual([said.suppose, said.outlook, said.happening], ["", [], []]);
  assert.equal(said.exactly.length, 1);
  assert.match(said.exactly[0], /a0/);
});

test("promise and answers are in the requested language", async () => {
  const { client } = await setUp(SYMPTOMS);
  const survey = await client.survey("health");
  const [english, german] = await Promise.all(
    ["en", "de-AT"].map((language) => promiseOf(client, survey, { language })),
  );
  assert.match(text(german.exactly), /Antwort/);
  assert.doesNotMatch(text(english), /Antwort/);
  assert.deepEqual(await readingOf(survey, { smoker: "yes" }, { language: "de" }), [
    { label: "Rauchen Sie?", value: "Ja" },
  ]);
});

test("answers are described as in the form, including lists of options", async () => {
  const survey = new Survey(SYMPTOMS);
  assert.deepEqual(await readingOf(survey, { smoker: "no", symptoms: ["ache"] }, { language: "en" }), [
    { label: "Do you smoke?", value: "No" },
    { label: "Symptoms", value: "ache" },
  ]);
});

test("invalid answers are refused without quoting them", async () => {
  const survey = new Survey(SYMPTOMS);
  for (const record of [{ smoker: "sometimes" }, { symptoms: ["sometimes"] }, { sometimes: "yes" }]) {
    await assert.rejects(readingOf(survey, record), (error) => {
      assert.equal(error.name, "RecordError");
      assert.doesNotMatch(error.message, /sometimes/);
      return true;
    });
  }
});

test("a receipt is available only to its owner and once it is counted", async () => {
  const { client, collector, open } = await setUp(GAMMA);
  const survey = await client.survey("health");
  const record = byName(["c1", "c2"]);
  assert.equal(await receiptOf(client, survey), null);
  collector.trouble = [() => { throw new TypeError("fetch failed"); }];
  const { status } = await client.submit(survey, record);
  assert.equal(status, "waiting");
  assert.equal(await receiptOf(client, survey), null);
  await client.flush();
  const lines = await receiptOf(client, survey, { language: "en" });
  assert.equal(lines.length, 4);
  const [{ values }] = collector.posted[collector.posted.length - 1].reports;
  const shown = lines.slice(1, -1).map(({ label, value }) => [label, value.split("\n")[0]]);
  assert.deepEqual(shown, values.map((code, j) => [`a${j}`, `c${code}`]));
  const more = await receiptOf(client, survey, { language: "en", record });
  assert.deepEqual(more.slice(1), lines.slice(1));
  assert.match(more[0].value, /with your answers/);
  assert.doesNotMatch(lines[0].value, /with your answers/);
  assert.equal(await receiptOf(open(), survey), null);
});

for (const [error, said] of [
  [new LedgerRefused("", "series.wave"), /answered in this browser at this web address, under another name/],
  [new LedgerRefused("", "series.total_gamma"), /than was promised for the whole series/],
  [new LedgerRefused("", "maxTotalGamma"), /than this page allows for all surveys/],
  [new SurveyRefused("", "storage"), /It stores nothing for this page/],
  [
    new SurveyRefused("", "series.origin", { series: { origin: "https://survey.example.org" } }),
    /asked only at the web address https:\/\/survey\.example\.org,/,
  ],
]) {
  test(`refusals are explained in the form's words: ${error.field}`, () => {
    const reason = reasonOf(error, false, new Wording()).join("");
    assert.match(reason, said);
    assert.match(reason, /nothing was asked or sent/);
  });
}

test("other errors state whether a report may have been sent", () => {
  const [sent, unsent] = [true, false].map((left) => reasonOf(new TypeError("x"), left, new Wording()).join(""));
  assert.match(sent, /^Your report may have been sent.*an unexpected error/);
  assert.match(unsent, /^Nothing was sent: an unexpected error/);
});

/** By batch size, at most so many of 100 people without collusion, but for one of so many batches, for
 * γ = 100; formulas, §22. */
const BATCHES = { 500: [85, 10 ** 6], 5_000: [37, 10 ** 8], 40_000: [9, 10 ** 8] };
const RELAY = { url: "https://relay.example/surveys", key: newKey().publicHex, sealing_key: newKey().publicHex };

for (const [size, [apart, chance]] of Object.entries(BATCHES)) {
  test(`every statement in every language covers the relay: ${size}`, async () => {
    const relay = { ...RELAY, batch: Number(size) };
    const { client, collector } = await setUp(surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "100" }, { relay }), {
      maxGamma: "100",
    });
    const survey = await client.survey("health");
    assert.equal((await client.submit(survey, byName(["c1", "c2"]))).status, "accepted");
    assert.equal(collector.posted.length, 1);
    for (const language of LANGUAGES) {
      const numbers = (said) => said.match(/\d+/g).map(Number);
      const { outlook, happening, exactly } = await promiseOf(client, survey, { language });
      // Small batches hide nothing and have no figure.
      const most = apart < 85 ? [apart, 85] : [85];
      const bounds = apart < 85 ? [apart, 100, 1, chance, 85] : [85];
      assert.deepEqual(outlook.map(({ count }) => count), [5, ...most, 100]);
      assert.deepEqual(outlook.map(({ value }) => numbers(value)[0]), [5, ...most, 100]);
      if (apart < 85) assert.match(outlook[1].label, new RegExp(` 1 .*${String(chance).replace(/0{3}(?=(0{3})*$)/g, "\u202f000")}`));
      const of = (text) => numbers(text.replace(/(?<=\d)[.,\u202f\u00a0](?=\d)/g, "")).join();
      const through = apart < 85 ? [relay.batch, 5, 100, ...bounds] : [relay.batch, 85, 100];
      assert.ok(exactly.some((text) => of(text) === through.join()), exactly.join("\n"));
      assert.ok(happening.some((text) => text.includes("relay.example") && /\d/.test(text)));
      const lines = await receiptOf(client, survey, { language });
      const learnt = apart < 85 ? [5, 100, ...bounds] : [5, 100, 100, 85];
      const [said, rarely] = lines.at(-1).value.split("\n");
      assert.equal(of(said), learnt.join());
      // γ = 100 holds whatever the relay does: from 25 % to 100 · 25 / (100 · 25 + 75) = 97.1 %.
      assert.equal(of(rarely), "25,100,98");
      assert.ok(happening.includes(rarely));
      const { text } = await loadWording(language).then((words) => ({ text: words.counted(survey) }));
      assert.equal(text.replace(/\D/g, ""), String(relay.batch - 1));
    }
  });
}

test("a wave with a relay states in every language that waves add up", async () => {
  const more = { relay: { ...RELAY, batch: 40_000 }, series: { id: "panel", wave: 1, total_gamma: "10000", origin: "https://a.test" } };
  const document = surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "100" }, more);
  const { client } = await setUp(document, { maxGamma: "100" });
  const survey = await client.survey("health");
  for (const language of LANGUAGES) {
    const words = await loadWording(language);
    const { happening, outlook } = await promiseOf(client, survey, { language });
    assert.equal(happening.at(-1), words.say("relayWaves"));
    // 50 000 of 50 095, rounded up.
    assert.deepEqual(outlook.map(({ count }) => count), [5, 9, 85, 100, 100]);
  }
});

test("the sentence about a relay is the shared one", async () => {
  const words = new Wording();
  assert.equal(
    words.relayed({ batch: 40_000, delta: 1e-8, apart: 9, together: 84 }),
    "If the relay does not cooperate with the people who run the survey, passes on all reports and adds none," +
      " and the other reports are honest and can be decrypted: at most 9 of 100 people, except with a probability" +
      " of 1 in 100\u202f000\u202f000. In any other case: at most 84.",
  );
});
