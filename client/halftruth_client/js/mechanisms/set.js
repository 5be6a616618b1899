/**
 * Set response to a question with several answers, perhaps with groups of people (cells of other questions).
 * The units are the options and the missing categories, or the pairs of options. A person has at most m of U
 * units, and their set is padded to m symbols by dummies: each symbol of it is γ times as likely as any other.
 * Symbols of a group are its units, and then m dummies, of which a person with k units has the first m − k.
 */

import { SurveyError } from "../errors.js";
import { Likelier } from "./likelier.js";

/** @import { Response } from "./base.js" */

export class SetOfOptions extends Likelier {
  /** @param {import("../rational.js").Rational} gamma
   * @param {number} options
   * @param {number} atMost Largest number of chosen options.
   * @param {number} missing Number of missing categories.
   * @param {number} groups
   * @param {boolean} pairs Whether units are pairs of options. */
  constructor(gamma, options, atMost, missing, groups, pairs) {
    const units = pairs ? (options * (options - 1)) / 2 : options + missing;
    const most = pairs ? (atMost * (atMost - 1)) / 2 : atMost;
    if (most < 1) throw new SurveyError("views: pairs: expected at_most of 2 or more", "views");
    super(gamma, BigInt(most), BigInt(groups * (units + most) - most));
    this.options = options;
    this.atMost = atMost;
    this.missing = missing;
    this.groups = groups;
    this.pairs = pairs;
    this.units = units;
    this.most = most;
    /** Number of symbols of a group. */
    this.block = units + most;
    this.symbols = groups * this.block;
  }

  /** Number of different answers, in all groups. */
  get cells() {
    return this.groups * this.answers(() => true);
  }

  /** Number of answers by the number k of chosen options, and of missing categories, which have none.
   * @param {(chosen: number, isMissing: boolean) => boolean} counts */
  answers(counts) {
    let number = counts(0, true) ? this.missing : 0;
    for (let k = 0; k <= this.atMost; k += 1) if (counts(k, false)) number += choose(this.options, k);
    return number;
  }

  /** Symbols of the padded set, in increasing order.
   * @param {readonly number[]} codes The cell of the other questions, and the code of each option. */
  padded([cell, ...own]) {
    const chosen = own.flatMap((code, option) => (code === 1 ? [option] : []));
    let units = own[0] < 2 ? chosen : [this.options + own[0] - 2];
    if (this.pairs) {
      units = chosen.flatMap((larger, i) => chosen.slice(0, i).map((smaller) => (larger * (larger - 1)) / 2 + smaller));
    }
    const dummies = Array.from({ length: this.most - units.length }, (_, i) => this.units + i);
    return [...units, ...dummies].map((unit) => cell * this.block + unit);
  }

  /** @type {Response["draw"]} */
  draw(codes, below) {
    const { numerator, denominator } = this.gamma;
    const padded = this.padded(codes);
    const own = numerator * BigInt(this.most);
    const draw = below(own + denominator * BigInt(this.symbols - this.most));
    if (draw < own) return [padded[Number(draw / numerator)]];
    const place = Number((draw - own) / denominator);
    return [padded.reduce((symbol, each) => (symbol >= each ? symbol + 1 : symbol), place)];
  }

  /** @type {(symbol: number, codes: readonly number[]) => boolean} */
  isOwn(symbol, codes) {
    return this.padded(codes).includes(symbol);
  }

  /** @type {Response["likelihoods"]} */
  likelihoods([symbol], codes) {
    const fits = this.isOwn(symbol, codes);
    const others = [this.likelier(symbol) - Number(fits), this.cells - this.likelier(symbol) - Number(!fits)];
    return this.twoLikelihoods(fits, [true, false].filter((_, i) => others[i] > 0));
  }

  /** Number of answers for which a symbol is likelier: these have its unit, or its dummy.
   * @param {number} symbol */
  likelier(symbol) {
    const unit = symbol % this.block;
    const { options, atMost, pairs, units, most } = this;
    if (unit >= units) {
      const few = most - 1 - (unit - units);
      // A missing category is a unit of its own, and no pair.
      const unitsOf = (/** @type {number} */ k) => (pairs ? (k * (k - 1)) / 2 : k);
      return this.answers((k, isMissing) => (isMissing ? Number(!pairs) : unitsOf(k)) <= few);
    }
    if (!pairs && unit >= options) return 1;
    const taken = pairs ? 2 : 1;
    let number = 0;
    for (let k = taken; k <= atMost; k += 1) number += choose(options - taken, k - taken);
    return number;
  }
}

/** Number of subsets of a size.
 * @type {(all: number, size: number) => number} */
function choose(all, size) {
  let count = 1;
  for (let i = 1; i <= size; i += 1) count = (count * (all - size + i)) / i;
  return Math.round(count);
}
