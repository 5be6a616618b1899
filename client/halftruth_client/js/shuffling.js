/**
 * Privacy amplification by shuffling the batch of a relay; the same bounds as in
 * `halftruth_shared.shuffling`, which has their sources. Loaded only for surveys with a relay.
 */

import { spentAmplification } from "./protection.js";

/** Distinct numbers of clones; those in between count as the next smaller one. */
const STEPS = 512;

/** Probability, as a part of delta, of fewer clones than evaluated: these count as none. */
const IGNORED = 1e-6;

/** Bound on the relative rounding error of every probability. */
const ROUNDING = 1e-9;

const SEARCH = 40;
const MOST_PEOPLE = 10 ** 10;
const LARGEST = 1e12;

/** Exponent below which the integrand of a tail is left out. */
const FALL = 45;

/** Nodes and weights of Gauss-Legendre quadrature. */
const LEGENDRE = legendre(64);

/** log n! - n log n + n, up to 15. */
const FACTORIALS = Array.from({ length: 16 }, (_, n) => {
  let sum = n === 0 ? 0 : n - n * Math.log(n);
  for (let k = 2; k <= n; k += 1) sum += Math.log(k);
  return sum;
});

/**
 * Numbers of the privacy promise of a survey with a relay.
 *
 * @typedef {object} RelayFigures
 * @property {number} batch Assumed number of honest reports.
 * @property {number} delta Probability with which the bound `apart` may fail.
 * @property {number} apart
 *   Largest posterior in percent of a property with prior 5 %, if relay and collector do not
 * cooperate.
 * @property {number} together The same, if they cooperate.
 */

/** Compute these numbers for a survey with a relay.
 * @type {(survey: import("./survey.js").Survey) => RelayFigures} */
export function relayFigures(survey) {
  const { batch } = /** @type {import("./survey.js").Relay} */ (survey.relay);
  const gamma = /** @type {import("./rational.js").Rational} */ (spentAmplification(survey));
  const delta = batch >= 2_000 ? 1e-8 : 1e-6;
  const { numerator, denominator } = gamma;
  // 500 gamma / (5 gamma + 95), rounded up.
  const below = 5n * numerator + 95n * denominator;
  const together = Number((500n * numerator + below - 1n) / below);
  const odds = (5 / 95) * Math.exp(largestLoss(gamma.toNumber(), batch, delta));
  const apart = Math.min(Math.ceil((100 * odds) / (1 + odds)), together);
  return { batch, delta, apart, together };
}

/** A bound on the privacy loss, the log-likelihood ratio of a batch for two answers of one person;
 * the loss exceeds it with probability at most delta.
 * @type {(gamma: number, people: number, delta: number) => number} */
export function largestLoss(gamma, people, delta) {
  const local = Math.log(gamma);
  if (gamma <= 1) return 0;
  if (gamma > LARGEST) return local;
  const clones = distribution(gamma, Math.min(people, MOST_PEOPLE) - 1, IGNORED * delta);
  const tail = (/** @type {number} */ epsilon) => {
    const left = 1 - meanDivergence(epsilon, gamma, clones) / delta;
    return left > 0 ? epsilon - Math.log(left) : Infinity;
  };
  // Golden-section search; every value it finds is a valid bound.
  const golden = (Math.sqrt(5) - 1) / 2;
  let [start, end] = [0, local];
  let [first, second] = [end - golden * (end - start), start + golden * (end - start)];
  let [lower, upper] = [tail(first), tail(second)];
  let best = Math.min(local, lower, upper);
  for (let i = 0; i < SEARCH; i += 1) {
    if (lower < upper) {
      [end, second, upper] = [second, first, lower];
      first = end - golden * (end - start);
      lower = tail(first);
    } else {
      // Below the smallest epsilon there is no finite loss.
      [start, first, lower] = [first, second, upper];
      second = start + golden * (end - start);
      upper = tail(second);
    }
    best = Math.min(best, lower, upper);
  }
  return best;
}

/** Distribution of the number of clones among other people, in blocks that count as their smallest
 * number.
 * @typedef {{blocks: {clones: number, mass: number}[], without: number}} Clones
 * @type {(gamma: number, others: number, ignored: number) => Clones} */
function distribution(gamma, others, ignored) {
  const chance = 1 / gamma;
  const likely = -Math.log(ignored);
  // Bernstein's inequality.
  const away =
    likely / 3 + Math.sqrt(likely ** 2 / 9 + 2 * likely * others * chance * (1 - chance));
  const fewest = Math.max(Math.floor(others * chance - away), 0);
  const most = Math.min(Math.ceil(others * chance + away), others);
  const size = Math.max(Math.ceil((most - fewest + 1) / STEPS), 1);
  /** @type {{clones: number, mass: number}[]} */
  const blocks = [];
  for (let clones = fewest; clones <= most; clones += 1) {
    if ((clones - fewest) % size === 0) blocks.push({ clones, mass: 0 });
    blocks[blocks.length - 1].mass += binomial(clones, others, chance);
  }
  return { blocks, without: fewest > 0 ? ignored : 0 };
}

/** @type {(epsilon: number, gamma: number, clones: Clones) => number} */
function meanDivergence(epsilon, gamma, { blocks, without }) {
  let mean = (without * Math.max(gamma - Math.exp(epsilon), 0)) / (gamma + 1);
  for (const { clones, mass } of blocks) mean += mass * divergence(epsilon, gamma, clones);
  return mean;
}

/** Hockey-stick divergence between two answers given the number of clones, rounded up.
 * @type {(epsilon: number, gamma: number, clones: number) => number} */
function divergence(epsilon, gamma, clones) {
  const factor = Math.exp(epsilon);
  const [likelier, rarer] = [Math.max(gamma - factor, 0), gamma * factor - 1];
  const share = rarer / ((gamma - 1) * (1 + factor));
  const smallest = Math.floor(share * (clones + 1)) + 1;
  const atLeast = upperHalfTail(smallest, clones);
  const gained = likelier * (atLeast + binomial(smallest - 1, clones, 0.5));
  const lost = rarer * atLeast;
  return (Math.max(gained - lost, 0) + ROUNDING * (gained + lost)) / (gamma + 1);
}

/** Binomial probability with a small relative error (Loader 2000).
 * @type {(k: number, n: number, chance: number) => number} */
function binomial(k, n, chance) {
  if (k < 0 || k > n) return 0;
  const size = stirling(n) - stirling(k) - stirling(n - k);
  return Math.exp(size - deviance(k, n * chance) - deviance(n - k, n * (1 - chance)));
}

/** @type {(n: number) => number} log n! - n log n + n. */
function stirling(n) {
  if (n < FACTORIALS.length) return FACTORIALS[n];
  const square = 1 / (n * n);
  const series = (1 / 12 - (1 / 360 - (1 / 1260 - square / 1680) * square) * square) / n;
  return series + Math.log(2 * Math.PI * n) / 2;
}

/** @type {(observed: number, expected: number) => number} x log(x/m) + m - x. */
function deviance(observed, expected) {
  const change = observed - expected;
  return observed > 0 ? observed * Math.log1p(change / expected) - change : -change;
}

/** Probability that at least k > n/2 of n fair coins show heads: an incomplete beta function, k
 * P(k) times the integral of (1 - s)^(k-1) (1 + s)^(n-k) from 0 to 1.
 * @type {(k: number, n: number) => number} */
function upperHalfTail(k, n) {
  if (k > n) return 0;
  const [curve, slope] = [n - k, Math.max(2 * k - 1 - n, 0)];
  const root = Math.sqrt(slope ** 2 + 4 * FALL * curve);
  const half = Math.min((2 * FALL) / Math.max(slope + root, 2 * FALL), 1) / 2;
  let integral = 0;
  for (const { node, weight } of LEGENDRE) {
    const s = half * (node + 1);
    integral += weight * Math.exp((k - 1) * Math.log1p(-s) + curve * Math.log1p(s));
  }
  return k * binomial(k, n, 0.5) * half * integral;
}

/** Nodes and weights by Newton's method, which starts at Chebyshev nodes.
 * @param {number} count */
function legendre(count) {
  return Array.from({ length: count }, (_, i) => {
    let node = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let step = 0; step < 10; step += 1) {
      let [before, now] = [1, node];
      for (let k = 2; k <= count; k += 1) {
        [before, now] = [now, ((2 * k - 1) * node * now - (k - 1) * before) / k];
      }
      slope = (count * (node * now - before)) / (node * node - 1);
      node -= now / slope;
    }
    return { node, weight: 2 / ((1 - node * node) * slope * slope) };
  });
}
