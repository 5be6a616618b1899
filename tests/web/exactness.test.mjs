// Enumerates all outcomes of all draws: the exact probabilities of reports are those of the
// matrices.

import assert from "node:assert/strict";
import { test } from "node:test";

import { randomBelow } from "../../client/halftruth_client/js/sampling.js";
import { assertChannel, byName, cells, fraction, multiply, surveyOf } from "./helpers.mjs";

const SHAPES = [[2], [3], [2, 2], [3, 2], [2, 2, 3]];
const same = (v, u) => v.join() === u.join();

/** FRAPP eq. 17: γ/(γ+n−1) for the true record, 1/(γ+n−1) for any other. */
const diagonal = ([a, b], n) => (v, u) => [same(v, u) ? a : b, a + b * (n - 1n)];

const count = (shape) => BigInt(cells(shape).length);

for (const shape of SHAPES) {
  for (const gamma of ["3", "19/2", "8/7"]) {
    test(`gamma-diagonal ${gamma} on ${shape.join("·")} has its matrix`, () => {
      const document = surveyOf(shape, { kind: "gamma-diagonal", gamma });
      assertChannel(document, diagonal(fraction(gamma), count(shape)));
    });
  }
}

test("gamma-diagonal has the expected 4 × 4 matrix", () => {
  const P = [
    ["5/8", "1/8", "1/8", "1/8"],
    ["1/8", "5/8", "1/8", "1/8"],
    ["1/8", "1/8", "5/8", "1/8"],
    ["1/8", "1/8", "1/8", "5/8"],
  ];
  const document = surveyOf([2, 2], { kind: "gamma-diagonal", gamma: "5" });
  assertChannel(document, ([a, b], [c, d]) => fraction(P[2 * a + b][2 * c + d]));
});

/** γ, α, steps and shape; αγ = n − 1 in the third and fourth, where weights reach 0. */
const RANDOMIZED = [
  ["5/2", "1/4", 2, [2, 3]],
  ["2", "0", 3, [2, 2]],
  ["11", "1", 1, [2, 2, 3]],
  ["3", "1", 2, [2, 2]],
  ["7/3", "2/5", 4, [2, 2, 3]],
];

for (const [gamma, alpha, steps, shape] of RANDOMIZED) {
  const document = surveyOf(shape, { kind: "randomized-gamma-diagonal", gamma, alpha, steps });
  const n = count(shape);
  const [a, b] = fraction(gamma);

  test(`randomized gamma-diagonal ${gamma}, ${alpha}, ${steps} has the matrix of its mean`, () => {
    assertChannel(document, diagonal([a, b], n));
  });

  test(`randomized gamma-diagonal ${gamma}, ${alpha}, ${steps} has every client's matrix`, () => {
    const [e, f] = fraction(alpha);
    for (let i = -steps; i <= steps; i += 1) {
      // FRAPP eq. 25: γx(1 + αi/steps) for the true record; the others share the rest.
      const share = [BigInt(steps) * f + e * BigInt(i), BigInt(steps) * f];
      const own = multiply([a, a + b * (n - 1n)], share);
      const other = [own[1] - own[0], own[1] * (n - 1n)];
      assertChannel(document, (v, u) => (same(v, u) ? own : other), { first: BigInt(i + steps) });
    }
  });
}

/** Product of one entry per attribute. */
const kronecker = (matrices) => (v, u) =>
  matrices.map((P, j) => fraction(P[v[j]][u[j]])).reduce(multiply);

const WARNER = [["3/4", "1/4"], ["1/4", "3/4"]];
const TENTH = [["9/10", "1/10"], ["1/10", "9/10"]];
const THIRDS = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]];
const LONG = [["5/7", "1/7", "1/7"], ["1/7", "5/7", "1/7"], ["1/7", "1/7", "5/7"]];
const KEPT = [["1", "0"], ["0", "1"]];

const RESPONSES = [
  [["3/4"], [WARNER]],
  [["1/2"], [THIRDS]],
  [["9/10", "3/4"], [TENTH, WARNER]],
  [["5/7", "9/10"], [LONG, TENTH]],
  [["3/4", "1", "1/2"], [WARNER, KEPT, THIRDS]],
  [["1", "1"], [KEPT, KEPT]],
];

for (const [keep, matrices] of RESPONSES) {
  test(`randomized response ${keep.join(", ")} has the product of its matrices`, () => {
    const mechanism = { kind: "randomized-response", keep: byName(keep) };
    assertChannel(surveyOf(matrices.map((P) => P.length), mechanism), kronecker(matrices));
  });
}

const SKEW = [["9/10", "1/3"], ["1/10", "2/3"]];
const ZEROS = [["1/2", "1/7", "0"], ["1/2", "0", "5/12"], ["0", "6/7", "7/12"]];
const TURN = [["0", "0", "1"], ["1", "0", "0"], ["0", "1", "0"]];

for (const matrices of [[SKEW], [ZEROS], [TURN, SKEW], [SKEW, WARNER, ZEROS]]) {
  const shape = matrices.map((P) => P.length);
  test(`distortion matrices on ${shape.join("·")} give exactly their reports`, () => {
    const mechanism = { kind: "distortion-matrices", matrices: byName(matrices) };
    assertChannel(surveyOf(shape, mechanism), kronecker(matrices));
  });
}

/** P(report c1 | c1) and P(report c1 | c0) by the published formulas. */
const DESIGNS = [
  [{ design: "warner", p: "3/10" }, "3/10", "7/10"],
  [{ design: "forced-response", yes: "1/6", no: "1/4" }, "3/4", "1/6"],
  [{ design: "unrelated-question", p: "2/5", prevalence: "1/3" }, "3/5", "1/5"],
  [{ design: "kuk", theta1: "4/5", theta2: "3/10" }, "4/5", "3/10"],
  [{ design: "crosswise", prevalence: "1/4" }, "1/4", "3/4"],
  [{ design: "triangular", prevalence: "1/4", not_sensitive: "c0" }, "1", "1/4"],
  [{ design: "mangat", p: "2/3", not_sensitive: "c0" }, "1", "1/3"],
];

for (const [design, fromYes, fromNo] of DESIGNS) {
  test(`the design ${design.design} has its matrix next to another attribute`, () => {
    const rest = (text) => fraction(text).reduce((a, b) => `${b - a}/${b}`);
    const own = [[rest(fromNo), rest(fromYes)], [fromNo, fromYes]];
    const designs = { a0: { ...design, answer: "c1" } };
    const mechanism = { kind: "distortion-matrices", designs, matrices: { a1: ZEROS } };
    assertChannel(surveyOf([2, 3], mechanism), kronecker([own, ZEROS]));
  });
}

/** A shared error: creating one takes longer than a draw. */
const REJECTED = new Error("rejected");

/** Count each integer drawn from all byte arrays of a size, and the rejections. */
function walkBytes(k, size) {
  const counts = new Map();
  for (let word = 0; word < 256 ** size; word += 1) {
    let calls = 0;
    const draw = randomBelow((bytes) => {
      if (calls++ > 0) throw REJECTED;
      assert.equal(bytes.length, size);
      for (let i = 0; i < size; i += 1) bytes[i] = (word >> (8 * (size - 1 - i))) & 255;
    });
    try {
      const value = draw(k);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    } catch (error) {
      if (error !== REJECTED) throw error;
    }
  }
  return counts;
}

test("bytes give each integer below a bound equally often", () => {
  for (let k = 1n; k < 256n; k += 1n) {
    const counts = walkBytes(k, 1);
    const each = 256 / 2 ** k.toString(2).length;
    assert.deepEqual([...counts.keys()].sort((a, b) => Number(a - b)), range(k));
    assert.deepEqual(new Set(counts.values()), new Set([each]), `bound ${k}`);
  }
});

test("pairs of bytes give each integer below a bound equally often", () => {
  for (const k of [256n, 257n, 1000n, 40000n]) {
    const counts = walkBytes(k, 2);
    assert.equal(BigInt(counts.size), k);
    const each = 65536 / 2 ** k.toString(2).length;
    assert.deepEqual(new Set(counts.values()), new Set([each]), `bound ${k}`);
  }
});

test("a rejected draw is discarded as a whole", () => {
  // 3 bits of each byte: 111 and 101 are not below 5.
  const bytes = [0b111_00000, 0b101_11111, 0b100_00001];
  assert.equal(randomBelow((array) => array.set([bytes.shift()]))(5n), 4n);
  assert.equal(bytes.length, 0);
});

test("a bound of 0 or less is an error", () => {
  for (const k of [0n, -5n]) assert.throws(() => randomBelow()(k), { name: "ParameterError" });
});

test("bounds may need more bytes than one call of getRandomValues returns", () => {
  // 65 537 bytes, and almost no draw is rejected.
  const k = (1n << 524_289n) - 1n;
  const value = randomBelow()(k);
  assert.ok(value >= 0n && value < k);
  // Below 2^1000 with a probability of 2^−523289.
  assert.ok(value >> 1000n > 0n);
});

function range(k) {
  return Array.from({ length: Number(k) }, (_, i) => BigInt(i));
}
