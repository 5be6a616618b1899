/** Response to each question independently, by integer weights. */

import { lcm, Rational } from "../rational.js";
import { largest, least, most, otherValue, product } from "./base.js";

/**
 * @import { Response } from "./base.js"
 *
 * Response to one question: a function of the answer and of a uniform integer below `total`.
 *
 * @typedef {object} Column
 * @property {number} size Number of answers.
 * @property {bigint} total
 * @property {(sent: number, code: number) => bigint} weight Of a value given an answer.
 * @property {(code: number, drawn: bigint) => number} value
 * @property {() => Rational | null} amplification
 */

/** Weight `same` for the true value, and `other` for each other one.
 * @implements {Column} */
export class Kept {
  /** @param {number} size
   * @param {bigint} same
   * @param {bigint} other */
  constructor(size, same, other) {
    this.size = size;
    this.same = same;
    this.other = other;
    this.total = same + other * BigInt(size - 1);
  }

  /** @type {Column["weight"]} */
  weight(sent, code) {
    return sent === code ? this.same : this.other;
  }

  /** @type {Column["value"]} */
  value(code, drawn) {
    return drawn < this.same ? code : otherValue(Number((drawn - this.same) / this.other), code);
  }

  amplification() {
    return this.other === 0n ? null : new Rational(this.same, this.other);
  }
}

/** Any matrix, with one row for each reported value, and one column for each true one.
 * @implements {Column} */
export class Transitions {
  /** @param {readonly (readonly Rational[])[]} matrix */
  constructor(matrix) {
    this.size = matrix.length;
    this.total = lcm(matrix.flat().map((entry) => entry.denominator));
    this.weights = matrix.map((row) => row.map((p) => (p.numerator * this.total) / p.denominator));
    /** Cumulative weights of the reported values, for each true value. */
    this.bounds = matrix.map((_, u) => {
      let sum = 0n;
      return this.weights.map((row) => (sum += row[u]));
    });
  }

  /** @type {Column["weight"]} */
  weight(sent, code) {
    return this.weights[sent][code];
  }

  /** @type {Column["value"]} */
  value(code, drawn) {
    return this.bounds[code].findIndex((bound) => drawn < bound);
  }

  amplification() {
    const ratios = this.weights.map((row) => {
      const rising = row.map((weight) => new Rational(weight));
      return least(rising).sign() === 0 ? null : most(rising).over(least(rising));
    });
    return largest(ratios);
  }
}

export class Columns {
  /** With `atOnce`, a record takes one draw, whose digits in the mixed radix of the totals are those of the
   * columns; otherwise it takes a draw for each column.
   * @param {readonly Column[]} columns */
  constructor(columns, atOnce = false) {
    this.columns = columns;
    this.atOnce = atOnce;
    /** Axes that are perturbed. */
    this.perturbed = columns.flatMap((column, axis) =>
      codesOf(column).every((code) => column.weight(code, code) === column.total) ? [] : [axis],
    );
  }

  /** @type {(axis: number, sent: number, code: number) => Rational} */
  chance(axis, sent, code) {
    return new Rational(this.columns[axis].weight(sent, code), this.columns[axis].total);
  }

  /** Probabilities of a value given each answer.
   * @type {(axis: number, sent: number) => Rational[]} */
  #row(axis, sent) {
    return codesOf(this.columns[axis]).map((code) => this.chance(axis, sent, code));
  }

  /** @type {Response["draw"]} */
  draw(codes, below) {
    if (!this.atOnce) return this.columns.map((column, j) => column.value(codes[j], below(column.total)));
    let draws = below(this.columns.reduce((all, { total }) => all * total, 1n));
    const report = [...codes];
    for (let j = codes.length - 1; j >= 0; j -= 1) {
      const { total } = this.columns[j];
      report[j] = this.columns[j].value(codes[j], draws % total);
      draws /= total;
    }
    return report;
  }

  /** @type {Response["amplification"]} */
  amplification(axes) {
    return product(axes.map((axis) => this.columns[axis].amplification()));
  }

  /** @type {Response["likelihoods"]} */
  likelihoods(sent, codes, axes) {
    const rows = this.perturbed.map((axis) => {
      const row = this.#row(axis, sent[axis]);
      return { own: row[codes[axis]], rest: axes.includes(axis) ? without(row, codes[axis]) : [] };
    });
    const own = product(rows.map((row) => row.own));
    if (rows.every(({ rest }) => rest.length === 0)) return { own, others: null };
    const extreme = (/** @type {typeof least} */ pick) => {
      const best = rows.map((row) => pick([row.own, ...row.rest]));
      // At least one answer must differ.
      const differing = rows.flatMap(({ rest }, j) => {
        return rest.length > 0 ? [product(best.map((share, i) => (i === j ? pick(rest) : share)))] : [];
      });
      return pick(differing);
    };
    return { own, others: { least: extreme(least), most: extreme(most) } };
  }

  /** @type {import("./base.js").ToCodes["others"]} */
  others(axis, code) {
    const others = without(this.#row(axis, code), code);
    const greatest = most(others);
    return greatest.sign() > 0 ? { least: least(others), most: greatest } : null;
  }

  fit() {
    const kept = this.perturbed.map((axis) =>
      codesOf(this.columns[axis]).map((code) => this.chance(axis, code, code)),
    );
    return { least: product(kept.map(least)), most: product(kept.map(most)) };
  }
}

/** @param {Column} column */
function codesOf({ size }) {
  return Array.from({ length: size }, (_, code) => code);
}

/** @type {(row: readonly Rational[], code: number) => Rational[]} */
function without(row, code) {
  return row.filter((_, u) => u !== code);
}
