// All figures shown to respondents equal those found by enumerating all draws of the mechanism,
// independently of the formulas of the code that displays them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { loadWording } from "../../client/halftruth_client/js/form/languages.js";
import { happening, outlook } from "../../client/halftruth_client/js/form/opening.js";
import { practiceOf } from "../../client/halftruth_client/js/form/practice.js";
import { filterQuestions, receipt } from "../../client/halftruth_client/js/form/receipt.js";
import { LANGUAGES } from "../../client/halftruth_client/js/form/words.js";
import { Survey } from "../../client/halftruth_client/js/index.js";
import { protection } from "../../client/halftruth_client/js/protection.js";
import { Rational } from "../../client/halftruth_client/js/rational.js";
import { byName, cells, distribution, surveyOf } from "./helpers.mjs";

const KEPT = { sensitive: false };
const WARNER = [["3/4", "1/4"], ["1/4", "3/4"]];
const THREE = [["7/10", "1/10", "1/5"], ["1/5", "4/5", "1/5"], ["1/10", "1/10", "3/5"]];
const split = (more) => ({ kind: "split-questionnaire", gamma: "19", prime: 3, direct: 6, ...more });
const public_ = surveyOf([2, 3], split({ public: ["a0"], views: [{ attributes: [["a1"]], weight: 1 }] }));
Object.assign(public_.attributes[0], KEPT);
const pair = [{ attributes: [["a0", "a1"]], weight: 1 }];
const single = [{ attributes: [["a0", "a1"]], choose: [1], weight: 1 }];
const partly = surveyOf([2, 3], { kind: "randomized-response", keep: byName(["1", "1/2"]) });
Object.assign(partly.attributes[0], KEPT);
const IMPURE = [["3/4", "0"], ["1/4", "1"]];
const excluding = surveyOf([2, 2], { kind: "distortion-matrices", matrices: byName([IMPURE, WARNER]) });
Object.assign(excluding.attributes[0], KEPT);
const TRIANGULAR = { design: "triangular", prevalence: "1/4", answer: "c1", not_sensitive: "c0" };
const designs = { a0: TRIANGULAR, a1: { design: "warner", p: "3/4", answer: "c1" } };
const proving = surveyOf([2, 2], { kind: "distortion-matrices", designs });

/** Return a survey of two questions, the first of which has two groups of answers. */
function grouped(more) {
  const document = surveyOf([4, 2], split({ views: pair, ...more }));
  document.attributes[0].collapsed = { high: ["c3"], low: ["c0", "c1", "c2"] };
  return document;
}

/** What reports about some questions depend on: the answers to them, or the groups of these. */
function combination({ attributes }, about, record) {
  const groupOf = (j) =>
    Object.entries(attributes[j].collapsed ?? {}).find(([, answers]) => answers.includes(`c${record[j]}`))?.[0];
  return about.map((j) => (about.length > 1 && groupOf(j)) || record[j]).join();
}

/** Surveys, with the first draw that selects each view, their unperturbed questions, and the questions
 * of which a report proves an answer by its code. */
const SURVEYS = {
  "gamma-diagonal": [surveyOf([2, 3], { kind: "gamma-diagonal", gamma: "19/2" })],
  "gamma-diagonal, two answers": [surveyOf([2], { kind: "gamma-diagonal", gamma: "3" })],
  "randomized-gamma-diagonal": [
    surveyOf([2, 3], { kind: "randomized-gamma-diagonal", gamma: "9", alpha: "1/3", steps: 2 }),
  ],
  "randomized-response": [surveyOf([2, 3], { kind: "randomized-response", keep: byName(["3/4", "1/2"]) })],
  "randomized-response, in part": [partly, { bare: [0] }],
  "distortion-matrices": [
    surveyOf([2, 3], { kind: "distortion-matrices", matrices: byName([WARNER, THREE]) }),
  ],
  "split, one view": [surveyOf([2, 3], split({ views: pair })), { views: [0n] }],
  "split, two views": [surveyOf([2, 3], split({ views: single })), { views: [0n, 1n] }],
  "split, a plane": [surveyOf([2, 3], split({ direct: 2, gamma: "5", views: pair })), { views: [0n] }],
  "split, pairs": [surveyOf([2, 3], split({ direct: 2, pairs: 6, gamma: "5", views: pair })), { views: [0n] }],
  "split, in part": [public_, { views: [0n], bare: [0] }],
  "split, collapsed": [grouped(), { views: [0n] }],
  "split, collapsed, a plane": [grouped({ direct: 2, gamma: "5" }), { views: [0n] }],
  "split, collapsed or alone": [grouped({ views: [...pair, ...single] }), { views: [0n, 1n, 2n] }],
};

/** Surveys of which some reports exclude answers. */
const EXCLUDING = {
  "distortion-matrices, excluding an answer": [excluding, { bare: [0] }],
  "distortion-matrices, proving an answer": [proving, { proved: [[0, 0]] }],
};

const rational = ([a, b]) => new Rational(a, b);
const sum = (shares) => shares.reduce((a, b) => a.plus(b), new Rational(0n));
const extremes = (shares) => {
  const sorted = [...shares].sort((a, b) => a.compare(b));
  return { least: sorted[0], most: sorted.at(-1) };
};
const text = (object) => JSON.stringify(object, (_, each) => (each instanceof Rational ? String(each) : each));

/** Return the probability of each report for each record, by enumerating all draws. */
function walk(document, first) {
  const survey = new Survey(document);
  const records = cells(document.attributes.map(({ categories }) => categories.length));
  const rows = records.map((codes) => {
    const walked = distribution(survey, byName(codes.map((code) => `c${code}`)), first);
    return new Map([...walked].map(([report, share]) => [report, rational(share)]));
  });
  return { survey, records, rows, reports: [...new Set(rows.flatMap((row) => [...row.keys()]))] };
}

/** Parse a displayed share as a range: 0.45 of "about 45", and 0 to 0.01 of "fewer than 1". */
function read(figure, base) {
  if (figure === "none") return [0, 0];
  if (figure === "all") return [1, 1];
  const number = Number(figure.match(/[\d.,\u202f\u00a0 ]*\d/)[0].replace(/\D/g, ""));
  if (figure.startsWith("fewer")) return [0, number / base];
  if (figure.startsWith("more")) return [number / base, 1];
  return [(number - 0.5) / base, (number + 0.5) / base];
}

const within = (share, [low, high], what) =>
  assert.ok(low - 1e-12 <= share.toNumber() && share.toNumber() <= high + 1e-12, `${what}: ${share} in ${low}–${high}`);

/** Return the numbers of some lines, without names of categories and questions. */
const numbers = (lines) =>
  lines.flatMap(({ label, value }) =>
    (`${label} ${value}`.replace(/[ac]\d/g, "").match(/\d[\d.,\u202f\u00a0]*/g) ?? []).map((number) => Number(number.replace(/\D/g, ""))),
  );

/** Positions of the answers that people who send a report have in common: unperturbed and proved ones. */
function common(report, bare, proved) {
  const values = report.split(",").map(Number);
  return [...bare, ...proved.filter(([j, code]) => values[j] === code).map(([j]) => j)];
}

/** Largest posterior share in percent, over all secrets with a prior (by default 5 %) among people with the same
 * unperturbed and proved answers, given some reports. */
function largestPosterior(rows, records, reports, bare, proved, prior = 5n) {
  const after = reports.flatMap((report) => {
    const groups = new Map();
    for (const [i, row] of rows.entries()) {
      const key = common(report, bare, proved).map((j) => records[i][j]).join();
      groups.set(key, [...(groups.get(key) ?? []), row.get(report) ?? new Rational(0n)]);
    }
    return [...groups.values()].map(extremes).filter(({ most }) => most.sign() > 0).map(({ least, most }) => {
      const [some, none] = [most.times(new Rational(prior)), least.times(new Rational(100n - prior))];
      return some.over(some.plus(none)).toNumber() * 100;
    });
  });
  return Math.ceil(Math.max(...after) - 1e-9);
}

for (const [name, [document, { views = [undefined], bare = [], proved = [] } = {}]] of Object.entries({ ...SURVEYS, ...EXCLUDING })) {
  test(`the number of people with the same report matches the draws: ${name}`, async () => {
    const wordings = await Promise.all(LANGUAGES.map((language) => loadWording(language)));
    const [words, ...translations] = wordings;
    for (const first of views) {
      const { survey, records, rows, reports } = walk(document, first);
      const { mechanism } = survey;
      const [learnt, commoner] = [5n, 25n].map((prior) => largestPosterior(rows, records, reports, bare, proved, prior));
      const known = new Set(bare.map((j) => `a${j}`));
      for (const report of reports) {
        const values = report.split(",").map(Number);
        const shares = rows.map((row) => row.get(report) ?? new Rational(0n));
        // Questions that the report is not about keep their answers.
        const { symbol } = mechanism.contents(values, 0);
        const about = symbol?.positions ?? records[0].map((_, j) => j);
        for (const [i, codes] of records.entries()) {
          if (shares[i].sign() === 0) continue;
          const others = shares.filter(
            (_, k) => about.some((j) => records[k][j] !== codes[j]) && bare.every((j) => records[k][j] === codes[j]),
          );
          const said = mechanism.likelihoods(values, codes, known);
          const truth = { own: shares[i], others: others.length > 0 ? extremes(others) : null };
          assert.equal(text(said), text(truth), `${report} of ${codes}`);
          const record = byName(codes.map((code) => `c${code}`));
          const lines = receipt(survey, { values, sent: true }, words, { record });
          // All languages show the same numbers.
          for (const other of translations) {
            assert.deepEqual(numbers(receipt(survey, { values, sent: true }, other, { record })), numbers(lines), other.locale);
          }
          const [{ label, value }] = lines;
          assert.equal(label.startsWith("Other answers can lead to the same report"), truth.others.most.sign() > 0);
          const base = Number(label.match(/\d[\d,]*/)[0].replaceAll(",", ""));
          const [other, yours] = value.split("\n").map((line) => line.split(": ")[1]);
          within(truth.own, read(yours, base), value);
          const figures = other.replace(/^from /, "").split(" to ");
          within(truth.others.least, read(figures[0], base), value);
          within(truth.others.most, read(figures.at(-1), base), value);
          assert.equal(value.includes("protected"), bare.length > 0);
          const named = (text) => text.match(/“[^”]*”/g) ?? [];
          assert.deepEqual(named(label), bare.map((j) => `“a${j}”`));
          assert.deepEqual(numbers(lines.slice(-1)), [5, 100, 100, learnt, 25, 100, commoner]);
          assert.deepEqual(named(lines.at(-1).value), common(report, bare, proved).map((j) => `“a${j}”`));
        }
        const lines = receipt(survey, { values, sent: true }, words);
        const [any] = lines[0].value.split("\n")[0].split(": ").slice(1);
        const [low, high = low] = any.replace(/^from /, "").split(" to ");
        const [base] = numbers([{ label: lines[0].label, value: "" }]);
        for (const share of shares.filter((each) => each.sign() > 0)) {
          const range = [read(low, base)[0], read(high, base)[1]];
          within(share, range, lines[0].value);
        }
      }
    }
  });

  test(`the share of matching reports and the largest posterior match the draws: ${name}`, async () => {
    const words = await loadWording("en");
    for (const [view, first] of views.entries()) {
      const { survey, records, rows, reports } = walk(document, first);
      const drawn = first === undefined ? undefined : view;
      const most = extremes(rows.flatMap((row) => [...row.values()])).most;
      const kept = rows.map((row, i) => {
        const fits = ([report, share]) =>
          drawn === undefined ? report === records[i].join() : share.compare(most) === 0;
        return sum([...row].filter(fits).map(([, share]) => share));
      });
      assert.equal(text(survey.mechanism.fit(drawn)), text(extremes(kept)));
      const promised = protection(survey, new Set(bare.map((j) => `a${j}`)));
      const [rarely, sentence] = happening(promised, survey, words, drawn);
      const [, figure, base] = sentence.match(/Reports that match [^:]*: (.*) of ([\d,]+)\. Others cannot see which\.$/);
      const [low, high = low] = figure.replace("from ", "").split(" to ");
      within(extremes(kept).least, read(low, Number(base)), sentence);
      within(extremes(kept).most, read(high, Number(base)), sentence);
      // Any secret of 5 in 100 has at most this share among those who send the same report.
      const lines = outlook(promised, words);
      assert.deepEqual([lines[0].count, lines.at(-1).count], [5, 100]);
      const said = Number(lines[1].value.match(/\d+/)[0]);
      assert.equal(said, largestPosterior(rows, records, reports, bare, proved), name);
      const commoner = largestPosterior(rows, records, reports, bare, proved, 25n);
      assert.deepEqual(numbers([{ label: "", value: rarely }]), [25, 100, commoner]);
      const all = [...bare, ...proved.map(([j]) => j)].map((j) => `“a${j}”`);
      assert.deepEqual(words.suppose(promised, survey.schema).match(/“[^”]*”/g) ?? [], all);
    }
  });

  if (name in EXCLUDING) continue;

  test(`practice uses the probabilities of the survey: ${name}`, () => {
    for (const [view, first] of views.entries()) {
      const { survey, records, rows, reports } = walk(document, first);
      const drawn = first === undefined ? undefined : view;
      const practice = practiceOf(survey.mechanism, drawn);
      const { least, most } = survey.mechanism.fit(drawn);
      // Independent attributes are practised one at a time, over the records with the answer.
      const isEach = ["randomized-response", "distortion-matrices"].includes(document.mechanism.kind);
      const j = bare.length;
      const { symbol } = survey.mechanism.contents(reports[0].split(",").map(Number));
      const about = isEach ? [j] : (symbol?.positions ?? records[0].map((_, i) => i));
      const answers = new Set(records.map((record) => combination(document, about, record)));
      assert.equal(practice.size, answers.size);
      for (let code = 0; code < practice.size; code += 1) {
        const one = { perturb: (_, below) => [practice.draw(code, below)] };
        const walked = [...distribution(one, null)].map(([sent, share]) => [Number(sent), rational(share)]);
        const row = rows[records.findIndex((record) => !isEach || record[j] === code)];
        const told = new Map();
        for (const [report, share] of row) {
          const sent = isEach ? report.split(",")[j] : report;
          told.set(sent, share.plus(told.get(sent) ?? new Rational(0n)));
        }
        const shares = [...told.values()];
        assert.deepEqual(walked.map(([, share]) => String(share)).sort(), shares.map(String).sort());
        assert.equal(practice.isCode ?? false, shares.length > answers.size);
        const { most: likeliest } = extremes(shares);
        for (const [sent, share] of walked) {
          assert.equal(practice.fits(code, sent), share.compare(likeliest) === 0);
        }
        const fits = sum(walked.filter(([sent]) => practice.fits(code, sent)).map(([, share]) => share));
        assert.equal(String(fits), String(practice.chance(code)));
        // A single question matches more often than all together.
        assert.equal(practice.isOne ?? false, isEach && bare.length === 0);
        if (practice.isOne) assert.ok(most.compare(fits) < 0);
        else assert.ok(least.compare(fits) <= 0 && fits.compare(most) <= 0);
      }
    }
  });
}

const UNPRACTISED = {
  "no answer is perturbed": surveyOf([2], { kind: "randomized-response", keep: byName(["1"]) }),
  "views that have different chances are not drawn": SURVEYS["split, two views"][0],
  "there are more records than exact numbers": surveyOf(Array(54).fill(2), { kind: "gamma-diagonal", gamma: "19" }),
};

for (const [reason, document] of Object.entries(UNPRACTISED)) {
  test(`there is no practice if ${reason}`, () => {
    assert.equal(practiceOf(new Survey(document).mechanism), null);
  });
}

test("receipts state how often other answers give the same report, and name the answers for which it is likelier", async () => {
  const words = await loadWording("en");
  let decoded = 0;
  for (const [name, [document, { views = [undefined], bare = [] } = {}]] of Object.entries(SURVEYS)) {
    for (const first of views) {
      const { survey, records, rows, reports } = walk(document, first);
      const fewest = extremes(rows.flatMap((row) => [...row.values()])).least;
      for (const report of reports) {
        const values = report.split(",").map(Number);
        const about = survey.mechanism.contents(values).symbol?.positions ?? [];
        const lines = receipt(survey, { values, sent: true }, words);
        for (const { label, value } of lines) {
          const j = survey.schema.names.indexOf(label);
          const [, said, of] = value.match(/people with another answer who send this too: (.*) of ([\d,]+)$/) ?? [];
          assert.equal(said !== undefined, j >= 0 && !bare.includes(j), `${name}, ${label}: ${value}`);
          if (j >= 0) assert.equal(value.split("\n")[0], `c${values[j]}`);
          if (said !== undefined) {
            const alike = rows.filter((_, i) => records[i][j] !== values[j]).map((row) =>
              sum([...row].filter(([each]) => Number(each.split(",")[j]) === values[j]).map(([, share]) => share)),
            );
            const [least, most = least] = said.replace(/^from /, "").split(" to ");
            const number = Number(of.replaceAll(",", ""));
            within(extremes(alike).least, read(least, number), value);
            within(extremes(alike).most, read(most, number), value);
          }
          if (label !== words.say("says")) {
            assert.equal(/\bc\d/.test(value), j >= 0);
            continue;
          }
          const shares = new Map(
            rows.flatMap((row, i) => (row.has(report) ? [[combination(document, about, records[i]), row.get(report)]] : [])),
          );
          const likelier = [...shares.values()].filter((share) => share.compare(fewest) > 0);
          const { value: count } = lines.find((line) => line.label === words.say("code", { code: String(values.at(-1)) }));
          if (likelier.length === 0) {
            assert.deepEqual([count, value], [words.say("likelierNone"), words.say("likelierNone")]);
            continue;
          }
          assert.deepEqual(numbers([{ label: "", value: count }]), [likelier.length, shares.size]);
          const [first, ...named] = value.split("\n");
          if (likelier.length > 1) assert.equal(first, words.say("saysOneOf"));
          else named.unshift(first);
          // The answers, or groups of answers, by the enumerated shares alone.
          const nameOf = (each, i) => {
            const { name, collapsed = {} } = document.attributes[about[i]];
            const answer = each in collapsed ? each : `c${each}`;
            return likelier.length > 1 ? answer : `${name} – ${answer}`;
          };
          const owners = [...shares].flatMap(([key, share]) => (share.compare(fewest) > 0 ? [key.split(",")] : []));
          const listed = named.map((line) => line.replace("• ", "").split(", "));
          const found = owners.length > 1 ? listed : [listed.flat()];
          assert.deepEqual(found.map(String).sort(), owners.map((codes) => String(codes.map(nameOf))).sort(), name);
          decoded += 1;
        }
      }
    }
  }
  assert.ok(decoded > 30, String(decoded));
});

test("a better bound for single answers has its own line", async () => {
  const words = await loadWording("en");
  const survey = new Survey(SURVEYS["randomized-response"][0]);
  // 3/4 : 1/4 and 1/2 : 1/4, so 3 for one answer and 6 for both: 15/110 and 30/125.
  const counts = outlook(protection(survey, new Set()), words).map(({ count }) => count);
  assert.deepEqual(counts, [5, 24, 14, 100]);
});

const ROUNDED = [
  [["1/2", "1/4"], 100, ["about 50", "about 25"]],
  [["94/10000", "5/10000"], 10_000, ["about 94", "about 5"]],
  [["1/3", "0"], 100, ["about 33", "none"]],
  [["1", "1/100"], 100, ["all", "about 1"]],
  [["999/1000", "1/1000"], 1_000, ["about 999", "about 1"]],
  [["1/2", "1/10000000000"], 1_000_000_000, ["about 500,000,000", "fewer than 1"]],
  [["9999999999/10000000000", "1/2"], 1_000_000_000, ["more than 999,999,999", "about 500,000,000"]],
  [["5/1000", "1/2"], 1_000, ["about 5", "about 500"]],
];

for (const [shares, base, figures] of ROUNDED) {
  test(`frequencies are rounded without false statements: ${shares}`, async () => {
    const words = await loadWording("en");
    const said = words.frequencies(shares.map((share) => Rational.parse(share, "share")));
    assert.deepEqual(said, { base, figures });
  });
}

test("the form says of which answers a report has only the group, in every language", async () => {
  const document = grouped({ views: [...pair, ...single] });
  Object.assign(document, { languages: ["en", "de", "fr", "es"] });
  const [asked] = document.attributes;
  asked.label = { en: "Income", de: "Einkommen", fr: "Revenu", es: "Ingresos" };
  asked.answers = { low: { en: "little", de: "wenig", fr: "peu", es: "poco" }, high: { en: "much", de: "viel", fr: "beaucoup", es: "mucho" } };
  const survey = new Survey(document);
  const promise = protection(survey, new Set());
  for (const language of LANGUAGES) {
    const words = await loadWording(language);
    const named = [asked.label, asked.answers.low, asked.answers.high].map((text) => text[language]);
    const hasAll = (text) => named.every((name) => text.includes(name));
    const of = (view) => happening(promise, survey, words, view);
    assert.equal(of(0).filter(hasAll).length, 1, language);
    assert.equal(of(undefined).filter(hasAll).length, 1, language);
    // About the question alone, the report has the answer.
    assert.equal(of(1).filter(hasAll).length, 0, language);
    const lines = (symbol) => receipt(survey, { values: [symbol], sent: true }, words).map(({ value }) => value);
    assert.equal(lines(0).filter(hasAll).length, 1, language);
    assert.ok(lines(0).some((value) => value.includes(words.say("likelierGroups", { some: 1, all: 4 }))));
    assert.equal(lines(4).filter(hasAll).length, 0, language);
    assert.ok(lines(4).some((value) => value.includes(words.say("likelier", { some: 1, all: 4 }))));
  }
});

test("questions asked only as conditions of others are listed as such", async () => {
  const document = surveyOf([2, 2, 2], split({ views: [{ attributes: [["a1"]], weight: 1 }, { attributes: [["a0", "a2"]], weight: 1 }] }));
  document.attributes[1].ask_if = { a0: ["c1"] };
  const survey = new Survey(document);
  assert.deepEqual(filterQuestions(survey.schema, survey.mechanism.asked(0)).map(({ name }) => name), ["a0"]);
  const lines = receipt(survey, { values: [1], sent: true }, await loadWording("en"), { record: { a0: "c1", a1: "c0" } });
  assert.deepEqual(lines.slice(1, 3), [
    { label: "Your report is about this one of the 3 questions", value: "a1" },
    { label: "Asked only to decide which other questions to ask", value: "a0" },
  ]);
});
