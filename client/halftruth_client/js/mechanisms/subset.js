/**
 * Subset response to one of some cells: each cell has a subset of the symbols, γ times as likely as the
 * others. The subset is one symbol (k-ary randomized response); or symbols are the pairs of cells, and the
 * subset is the pairs with the cell; or it is the symbols whose points are orthogonal to the point of the cell
 * (projective geometry response).
 */

import { otherValue } from "./base.js";
import { Likelier } from "./likelier.js";
import { coordinates, digits, pointOf, pointOfCell, points, scalar, solveCoordinate } from "./projective.js";

/** @import { Response } from "./base.js" */

export class Subset extends Likelier {
  /** @param {import("../rational.js").Rational} gamma
   * @param {number} cells
   * @param {number} prime
   * @param {number} direct Largest number of cells of k-ary randomized response.
   * @param {number} pairs Largest number of cells whose pairs are symbols. */
  constructor(gamma, cells, prime, direct, pairs) {
    let dimension = cells <= direct ? 0 : cells <= pairs ? 2 : 3;
    while (dimension > 2 && points(prime, dimension) < cells) dimension += 1;
    const [symbols, subsetSize] =
      dimension > 2
        ? [points(prime, dimension), points(prime, dimension - 1)]
        : dimension > 0
          ? [pairOf(0, cells), cells - 1]
          : [cells, 1];
    super(gamma, BigInt(subsetSize), BigInt(symbols - subsetSize));
    this.cells = cells;
    this.symbols = symbols;
    /** Number of symbols in the subset of each cell. */
    this.subsetSize = subsetSize;
    this.prime = prime;
    /** t of PG(t−1, q); 2 for pairs, and 0 for single symbols. */
    this.dimension = dimension;
  }

  /** @type {Response["draw"]} */
  draw([cell], below) {
    const { numerator, denominator } = this.gamma;
    const own = numerator * BigInt(this.subsetSize);
    const draw = below(own + denominator * BigInt(this.symbols - this.subsetSize));
    const isOwn = draw < own;
    const place = Number(isOwn ? draw / numerator : (draw - own) / denominator);
    if (this.dimension === 0) return [isOwn ? cell : otherValue(place, cell)];
    if (this.dimension === 2) {
      const [a, b] = isOwn ? [place, -1] : cellsOf(place);
      return [pairOf(otherValue(a, cell), isOwn ? cell : otherValue(b, cell))];
    }
    // An orthogonal point is given by all coordinates but the pivot, which follows from ⟨u,y⟩ = 0.
    // Every other point has one vector with ⟨u,y⟩ = 1, found in the same way.
    const others = (isOwn ? coordinates : digits)(place, this.prime, this.dimension - 1);
    return [pointOf(solveCoordinate(this.#pointOf(cell), others, isOwn ? 0 : 1, this.prime), this.prime)];
  }

  /** @param {number} cell */
  #pointOf(cell) {
    return coordinates(pointOfCell(cell, this.symbols), this.prime, this.dimension);
  }

  /** @type {(symbol: number, cell: number) => boolean} */
  isOwn(symbol, cell) {
    if (this.dimension === 0) return symbol === cell;
    if (this.dimension === 2) return cellsOf(symbol).includes(cell);
    const vector = coordinates(symbol, this.prime, this.dimension);
    return scalar(this.#pointOf(cell), vector) % this.prime === 0;
  }

  /** @type {Response["likelihoods"]} */
  likelihoods([symbol], [own]) {
    /** @type {Set<boolean>} */
    const kinds = new Set();
    for (let cell = 0; cell < this.cells && kinds.size < 2; cell += 1) {
      if (cell !== own) kinds.add(this.isOwn(symbol, cell));
    }
    return this.twoLikelihoods(this.isOwn(symbol, own), [...kinds]);
  }

  /** @param {number} symbol */
  likelier(symbol) {
    let count = 0;
    for (let cell = 0; cell < this.cells; cell += 1) if (this.isOwn(symbol, cell)) count += 1;
    return count;
  }
}

/** Number of a pair of cells; pairs are ordered by their larger cell, then by the smaller one.
 * @type {(a: number, b: number) => number} */
function pairOf(a, b) {
  const larger = Math.max(a, b);
  return (larger * (larger - 1)) / 2 + Math.min(a, b);
}

/** The cells of a pair, the smaller one first.
 * @param {number} pair */
export function cellsOf(pair) {
  const larger = Math.floor((1 + Math.sqrt(1 + 8 * pair)) / 2);
  return [pair - pairOf(0, larger), larger];
}
