/** Response by whole records: one weight for the true record, and another for every other record. */

import { Rational } from "../rational.js";
import { otherValue } from "./base.js";
import { Likelier } from "./likelier.js";

/**
 * @import { RandomBelow } from "../sampling.js"
 * @import { Response } from "./base.js"
 * @typedef {{same: bigint, other: bigint, shift?: bigint, steps?: bigint}} Weights
 */

export class Mixture extends Likelier {
  /** With `steps`, the weights are drawn first: same + shift·(n−1)·t and other − shift·t, for a uniform t from
   * −steps to steps.
   * @param {readonly bigint[]} sizes
   * @param {Weights} weights */
  constructor(sizes, { same, other, shift = 0n, steps = 0n }) {
    const size = sizes.reduce((product, size) => product * size, 1n);
    super(new Rational(same, other), 1n, size - 1n);
    this.sizes = sizes;
    this.size = size;
    this.weights = { same, other, shift, steps };
  }

  /** @type {Response["draw"]} */
  draw(codes, below) {
    const { same, other, shift, steps } = this.weights;
    const t = steps > 0n ? below(2n * steps + 1n) - steps : 0n;
    return sampleColumns(codes, this.sizes, same + shift * (this.size - 1n) * t, other - shift * t, below);
  }

  /** @type {Response["likelihoods"]} */
  likelihoods(sent, codes) {
    const fits = sent.every((code, j) => code === codes[j]);
    // Only the reported record makes the report likelier.
    const kinds = fits ? [false] : this.size > 2n ? [true, false] : [true];
    return this.twoLikelihoods(fits, kinds);
  }

  /** @param {number} axis */
  others(axis) {
    const share = this.chance.times(new Rational(this.size / this.sizes[axis]));
    return { least: share, most: share };
  }
}

/**
 * Dependent-column sampling (FRAPP §5, eq. 36) with one draw, by the weights of the true record and of each
 * other one.
 *
 * The total weight of a column equals the keeping weight of the column before it. So a draw that keeps
 * a column is also a draw for the next one, and a draw that changes a column leaves a remainder that is
 * uniform over its other values and the values of all later columns.
 *
 * @type {(codes: readonly number[], shape: readonly bigint[], same: bigint, other: bigint, below: RandomBelow) => number[]}
 */
function sampleColumns(codes, shape, same, other, below) {
  const report = [...codes];
  let later = shape.reduce((product, size) => product * size, 1n);
  const draw = below(same + other * (later - 1n));
  const changed = shape.findIndex((size) => {
    later /= size;
    return draw >= same + other * (later - 1n);
  });
  if (changed < 0) return report;
  let rest = (draw - same) / other - later + 1n;
  for (let j = shape.length - 1; j > changed; j -= 1) {
    report[j] = Number(rest % shape[j]);
    rest /= shape[j];
  }
  report[changed] = otherValue(Number(rest), codes[changed]);
  return report;
}
