// Exact numbers, encoding of records, amplification, and invalid surveys.

import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordError, Survey, SurveyError } from "../../client/halftruth_client/js/index.js";
import { Rational } from "../../client/halftruth_client/js/rational.js";
import { Schema } from "../../client/halftruth_client/js/schema.js";
import { byName, readVectors, surveyOf } from "./helpers.mjs";

const read = (text) => Rational.parse(text, "x");

test("products, quotients and comparisons match integer arithmetic", () => {
  const some = ["0", "-0.5", "1", "6/4", "-9/10", "35/6", "2/35", "-7"].map(read);
  for (const one of some) {
    for (const other of some) {
      const { numerator: a, denominator: b } = one;
      const { numerator: c, denominator: d } = other;
      assert.deepEqual(one.times(other), new Rational(a * c, b * d));
      if (c !== 0n) assert.deepEqual(one.over(other), new Rational(a * d, b * c));
      assert.equal(one.compare(other), Math.sign(Number(a * d - c * b)));
    }
  }
});

test("numbers are read exactly and written in lowest terms", () => {
  const written = {
    "19": "19",
    "+19": "19",
    "-19": "-19",
    "0.9": "9/10",
    "0.90": "9/10",
    "-0.5": "-1/2",
    "+0.25": "1/4",
    "-0.0": "0",
    "0/7": "0",
    "38/4": "19/2",
    "-6/4": "-3/2",
    "007": "7",
    "0.1000000000000000000000000000001": "1000000000000000000000000000001/1" + "0".repeat(31),
    [`${2n ** 200n}/${2n ** 199n}`]: "2",
  };
  for (const [text, expected] of Object.entries(written)) {
    assert.equal(read(text).toString(), expected, text);
  }
  assert.equal(read(19).toString(), "19");
  assert.equal(read(-3).toString(), "-3");
  assert.equal(read("9".repeat(1000)).toString(), "9".repeat(1000));
});

const BAD = ["", " ", " 1", "1 ", "1\n", "1e3", "1/0", "0/0", "1/-2", "1//2", "1/2/3", "1.5/2"]
  .concat([".5", "5.", "--1", "+-1", "0x10", "1_000", "1,5", "٣", "１", "½", "NaN", "Infinity"])
  .concat([0.5, NaN, Infinity, 2 ** 53, null, undefined, true, 5n, [], {}, ["1"]])
  .concat(["1/2.5", "1n", "9".repeat(1001)]);

test("inexact or malformed numbers are refused with the field", () => {
  for (const value of BAD) {
    assert.throws(() => Rational.parse(value, "keep.age"), (error) => {
      assert.equal(error.name, "ParameterError", String(value));
      assert.equal(error.field, "keep.age");
      return true;
    });
  }
});

test("numbers that are equal in floating point are compared exactly", () => {
  const ascending = ["-3", "-5/2", "-1/3", "0", "1/3", "0.9", "1", "1.00000000000000000001", "19"];
  ascending.push(`${10n ** 40n}/${10n ** 38n + 1n}`, "100", `${10n ** 40n + 1n}/${10n ** 38n}`);
  ascending.forEach((a, i) => {
    ascending.forEach((b, j) => {
      assert.equal(read(a).compare(read(b)), Math.sign(i - j), `${a} ${b}`);
    });
  });
});

test("sums, differences, products and quotients are exact", () => {
  assert.equal(read("1/3").plus(read("1/6")).toString(), "1/2");
  assert.equal(read("0.1").plus(read("0.2")).minus(read("0.3")).sign(), 0);
  assert.equal(read("-2/3").times(read("9/4")).toString(), "-3/2");
  assert.equal(read("2/3").over(read("-4/9")).toString(), "-3/2");
});

test("numbers with very long parts are converted to floating point", () => {
  assert.equal(new Rational(19n * 10n ** 400n, 2n * 10n ** 400n).toNumber(), 9.5);
  assert.equal(new Rational(-1n, 4n).toNumber(), -0.25);
});

const ATTRIBUTES = [
  { name: "smoker", categories: ["no", "yes"] },
  { name: "drinks", categories: ["never", "weekly", "daily"] },
];
const SECRET = "XyzzyAnswerOfAPerson";

test("a record is encoded in the order of the schema, not its own", () => {
  const schema = new Schema(ATTRIBUTES);
  assert.deepEqual(schema.encode({ drinks: "weekly", smoker: "yes" }), [1, 1]);
});

test("errors about unknown names suggest only names of the survey", () => {
  const schema = new Schema(ATTRIBUTES);
  const message = /^record: 3 unknown attribute\(s\), perhaps smoker, drinks; expected only: smoker/;
  assert.throws(() => schema.encode({ Smoker: "no", "drinks ": "no", [SECRET]: "no" }), { message });
  assert.throws(() => schema.encode({ [SECRET]: "no" }), { message: /^record: 1 unknown attribute\(s\); / });
});

test("no error about a record contains an answer", () => {
  const schema = new Schema(ATTRIBUTES);
  const records = [
    { smoker: SECRET, drinks: "daily" },
    { smoker: "yes", drinks: SECRET },
    { smoker: "yes", [SECRET]: "daily" },
    { smoker: "yes", drinks: "daily", [SECRET]: SECRET },
    { smoker: SECRET },
    { smoker: [SECRET], drinks: { toString: () => SECRET } },
    SECRET,
    [SECRET],
    new Map([["smoker", SECRET]]),
    Object.create({ smoker: SECRET, drinks: "daily" }),
  ];
  for (const record of records) {
    assert.throws(() => schema.encode(record), (error) => {
      assert.ok(error instanceof RecordError);
      const seen = [error.message, error.stack, error.field, error.cause, JSON.stringify(error)];
      assert.ok(!seen.some((text) => String(text).includes(SECRET)));
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  }
});

test("an error about a record names the attribute", () => {
  const schema = new Schema(ATTRIBUTES);
  assert.throws(() => schema.encode({ smoker: "yes" }), { field: "drinks", message: /missing/ });
  assert.throws(() => schema.encode({ smoker: "Yes", drinks: "daily" }), { field: "smoker" });
  const inherited = Object.create({ smoker: "yes", drinks: "daily" });
  assert.throws(() => schema.encode(inherited), { field: "smoker", message: /missing/ });
});

test("names of inherited object properties are ordinary names", () => {
  const schema = new Schema([{ name: "constructor", categories: ["a", "b"] }]);
  assert.throws(() => schema.encode({}), { name: "RecordError", field: "constructor" });
  assert.deepEqual(schema.encode({ constructor: "b" }), [1]);
  const keep = { kind: "randomized-response", keep: {} };
  const document = surveyOf([2], keep, { attributes: schema.attributes });
  assert.throws(() => new Survey(document), SurveyError);
});

// Amplification.

const ZEROS = [["1/2", "1/7", "0"], ["1/2", "0", "5/12"], ["0", "6/7", "7/12"]];
const KEEP = { kind: "randomized-response", keep: byName(["9/10", "1/2", "1"]) };
const MATRICES = {
  kind: "distortion-matrices",
  // Rows 9/10 : 1/3 and 1/10 : 2/3, of which the second is the larger quotient.
  matrices: byName([[["9/10", "1/3"], ["1/10", "2/3"]], ZEROS, [["4/5", "1/5"], ["1/5", "4/5"]]]),
};

const FORCED = { design: "forced-response", yes: "1/6", no: "1/6", answer: "c1" };
const TRIANGULAR = { design: "triangular", prevalence: "1/4", answer: "c1", not_sensitive: "c0" };
const DESIGNS = { kind: "distortion-matrices", designs: byName([FORCED, TRIANGULAR]) };

const RANDOM = { kind: "randomized-gamma-diagonal", gamma: "19", alpha: "1/19", steps: 5 };
const DIAGONAL = { kind: "gamma-diagonal", gamma: "19/2" };

test("amplification excludes attributes allowed to be unperturbed", () => {
  for (const [shape, mechanism, unprotected, expected] of [
    // Gamma-diagonal has its gamma until every attribute is known.
    [[2, 3], DIAGONAL, [], "19/2"],
    [[2, 3], DIAGONAL, ["a0", "a9"], "19/2"],
    [[2, 3], DIAGONAL, ["a0", "a1"], "1"],
    [[2, 3], { ...RANDOM, gamma: "19/2", alpha: "1/4" }, ["a0"], "19/2"],
    // Attributes by themselves multiply: 0.9/0.1 = 9 and (1/2)/(1/6) = 3; one that is kept tells.
    [[2, 4, 2], KEEP, ["a2"], "27"],
    [[2, 4, 2], KEEP, ["a2", "a0"], "3"],
    [[2, 4, 2], KEEP, ["a0", "a1", "a2"], "1"],
    [[2, 4, 2], KEEP, ["a0", "a1"], undefined],
    // A matrix has the largest quotient within a row, and a zero reveals answers.
    [[2, 3, 2], MATRICES, ["a1", "a2"], "20/3"],
    [[2, 3, 2], MATRICES, ["a1"], "80/3"],
    [[2, 3, 2], MATRICES, ["a0", "a2"], undefined],
    // 5/6 : 1/6, and a report that can prove an answer.
    [[2, 2], DESIGNS, ["a1"], "5"],
    [[2, 2], DESIGNS, ["a0"], undefined],
  ]) {
    const survey = new Survey(surveyOf(shape, mechanism));
    const gamma = survey.mechanism.amplification(new Set(unprotected));
    assert.equal(gamma?.toString(), expected, `${mechanism.kind} without ${unprotected}`);
  }
});

// Invalid surveys.

const GAMMA = { kind: "gamma-diagonal", gamma: "19" };
const one = (more) => ({ attributes: [{ name: "a0", categories: ["x", "y"], ...more }] });
const matrix = (rows) => ({ kind: "distortion-matrices", matrices: { a0: rows } });
const design = (more) => ({ kind: "distortion-matrices", designs: { a0: { ...FORCED, ...more } } });
const proving = (more) => design({ yes: undefined, no: undefined, ...TRIANGULAR, ...more });
const kept = (keep) => ({ kind: "randomized-response", keep });

const SPLIT = {
  kind: "split-questionnaire",
  gamma: "19",
  prime: 19,
  direct: 28,
  views: [{ attributes: [["a1"]], weight: 1 }],
};

const NO_SURVEYS = {
  "an id in capitals": surveyOf([2], GAMMA, { id: "Health" }),
  "an id with a line feed": surveyOf([2], GAMMA, { id: "health\n" }),
  "an unknown member of an attribute": surveyOf([2], GAMMA, one({ pattern: ".*" })),
  "a name that is no own one": surveyOf([2], GAMMA, one({ name: "__proto__" })),
  "a category twice": surveyOf([2], GAMMA, one({ categories: ["x", "y", "x"] })),
  "an attribute sent as it is that is not plainly said to be insensitive": surveyOf(
    [2, 2],
    { ...SPLIT, public: ["a0"] },
    { attributes: [...one({ sensitive: "no" }).attributes, { name: "a1", categories: ["x", "y"] }] },
  ),
  "a name twice": surveyOf([2], GAMMA, {
    attributes: [...one({}).attributes, ...one({}).attributes],
  }),
  "an unknown mechanism": surveyOf([2], { kind: "none" }),
  "an unknown member of a mechanism": surveyOf([2], { ...GAMMA, alpha: "1/2" }),
  "a negative alpha": surveyOf([20], { ...RANDOM, alpha: "-1/19" }),
  "alpha above 1": surveyOf([200], { ...RANDOM, alpha: "20/19" }),
  // αγ = 20/19 > n − 1 = 1, so that other records would have negative weights.
  "alpha of negative weights": surveyOf([2], { ...RANDOM, alpha: "20/361" }),
  "too many steps": surveyOf([20], { ...RANDOM, steps: 2 ** 20 + 1 }),
  "a keep of nothing": surveyOf([2], kept({ a0: "9/10", a1: "9/10" })),
  "keep 1/d": surveyOf([4], kept({ a0: "1/4" })),
  "keep above 1": surveyOf([2], kept({ a0: "1.0001" })),
  "a matrix of another size": surveyOf([3], matrix([["1/2", "1/2"], ["1/2", "1/2"]])),
  // Its rows sum to 1, which is the other way round.
  "a matrix whose columns do not sum to 1": surveyOf(
    [2],
    matrix([["9/10", "1/10"], ["1/5", "4/5"]]),
  ),
  "columns that miss 1 by very little": surveyOf(
    [2],
    matrix([["0.9", "1/3"], ["0.1000000000000000000001", "2/3"]]),
  ),
  "a matrix and a design": surveyOf([2], { ...design(), ...matrix([["1", "0"], ["0", "1"]]) }),
  "answers that respondents randomized": surveyOf(
    [2],
    { ...design(), randomized_by: "respondent" },
  ),
  "an unknown design": surveyOf([2], design({ design: "constructor" })),
  "a design of three answers": surveyOf([3], design()),
  "a design with a number more": surveyOf([2], design({ p: "1/2" })),
  "a design with a chance of 1": surveyOf([2], design({ no: "1" })),
  "forced answers that leave no room": surveyOf([2], design({ yes: "1/2", no: "1/2" })),
  "a design of another answer": surveyOf([2], design({ answer: "c2" })),
  "a design without its answer": surveyOf([2], design({ answer: undefined })),
  "a declared answer that no report proves": surveyOf([2], design({ not_sensitive: "c0" })),
  "an answer that is proved and not declared": surveyOf([2], proving({ not_sensitive: undefined })),
  "another answer declared": surveyOf([2], proving({ not_sensitive: "c1" })),
  "a report that is chance alone": surveyOf(
    [2],
    { kind: "distortion-matrices", designs: { a0: { design: "warner", p: "1/2", answer: "c1" } } },
  ),
  "a matrix with a negative entry": surveyOf([2], matrix([["11/10", "0"], ["-1/10", "1"]])),
};

for (const [what, document] of Object.entries(NO_SURVEYS)) {
  test(`a survey is refused for ${what}`, () => {
    // As received: members without a value are absent.
    const received = JSON.parse(JSON.stringify(document));
    assert.throws(() => new Survey(received), (error) => {
      assert.ok(error instanceof SurveyError, `${error.name}: ${error.message}`);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  });
}

const { accepted, refused } = readVectors("relayed");

test("a survey with a relay is read", () => {
  for (const document of accepted) {
    const { relay } = new Survey(document);
    const { url, key, sealing_key: sealingKey, tickets_key: ticketsKey = null, batch, release } = document.relay;
    assert.deepEqual({ ...relay }, { url, key, sealingKey, ticketsKey, batch, release });
  }
});

const series = readVectors("series");

test("a survey of a series is read", () => {
  for (const document of series.accepted) {
    const { id, wave, totalGamma, origin } = new Survey(document).series;
    assert.deepEqual({ id, wave, total_gamma: String(totalGamma), origin }, document.series);
  }
});

test("an invalid relay or series is refused in one line that names the field", () => {
  for (const { field, survey } of [...refused, ...series.refused]) {
    assert.throws(() => new Survey(survey), (error) => {
      assert.ok(error instanceof SurveyError, `${error.name}: ${error.message}`);
      assert.equal(error.field, field, error.message);
      return !error.message.includes("\n");
    });
  }
});

test("the limits themselves are allowed", () => {
  for (const document of [
    surveyOf([2], { ...RANDOM, alpha: "1/19" }),
    surveyOf([20], { ...RANDOM, alpha: "1", steps: 2 ** 20 }),
    surveyOf([4], kept({ a0: "0.2500000000000000000001" })),
    surveyOf([2], GAMMA, one({ items: null, label: "", help: "", sensitive: true })),
    surveyOf([2], GAMMA, { id: "a".repeat(64), title: "é", description: "" }),
  ]) {
    assert.ok(new Survey(document));
  }
});

const ADDRESSES = [
  ["https://example.org/a?b=c#d", "/thanks"],
  ["http://example.org", "//example.org", "/\\example.org", "javascript:alert(1)", "thanks", 7,
    "https://user@example.org", "https:///x", "/a b", "", "https://[", "/\u00fc"],
];

const FRAMINGS = {
  redirect: ADDRESSES,
  privacy_notice: ADDRESSES,
  contact: [
    ["survey@example.org", "a.b+c@mail.example.org", "https://example.org/contact"],
    ["survey", "a@b", "a@b.org?subject=c", "mailto:a@b.org", "a b@c.org", "/contact", "", 7,
      `${"a".repeat(2_000)}@b.org`],
  ],
  thanks: [["", "Danke", { en: "Thanks", de: "Danke" }], []],
  anything: [[], ["else"]],
};

for (const [member, [good, bad]] of Object.entries(FRAMINGS)) {
  test(`framing texts are accepted or refused: ${member}`, () => {
    const read = (value) =>
      new Survey(surveyOf([2], { kind: "gamma-diagonal", gamma: "19" }, { form: { [member]: value } }));
    for (const value of good) assert.ok(read(value).framing, String(value));
    for (const value of bad) assert.throws(() => read(value), { name: "SurveyError" }, String(value));
  });
}
