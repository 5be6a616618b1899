/** Symbols of a split questionnaire by single answers: only promises need them. */

import { codesOf, coordinates, eachOrthogonal, placed } from "./projective.js";

/**
 * For each question that is not given, the number of cells of each of its answers, and how many
 * of these a symbol belongs to for the answer with the most and for that with the least; what
 * occurs, once each.
 *
 * @param {readonly number[]} shape
 * @param {readonly boolean[]} within Which answers are given.
 * @param {import("./views.js").Response} response
 * @returns {number[][]}
 * @param {number} prime
 */
export function extremes(shape, within, { cells, symbols, inside, dimension }, prime) {
  const own = new Uint32Array(cells * inside);
  let next = 0;
  /** @type {{cell: number, codes: number[]}[][]} */
  const groups = [];
  for (let cell = 0; cell < cells; cell += 1) {
    const codes = codesOf(cell, shape);
    const group = codes.reduce((sum, code, i) => (within[i] ? sum * shape[i] + code : sum), 0);
    (groups[group] ??= []).push({ cell, codes });
    const point = coordinates(placed(cell, symbols), prime, dimension);
    eachOrthogonal(point, prime, (symbol) => {
      own[next++] = symbol;
    });
  }
  return shape.flatMap((size, axis) => {
    if (within[axis]) return [];
    const alike = groups[0].length / size;
    /** @type {Set<number>} */
    const pairs = new Set();
    for (const group of groups) {
      const counts = new Uint32Array(symbols * size);
      for (const { cell, codes } of group) {
        const code = codes[axis];
        for (let i = cell * inside; i < (cell + 1) * inside; i += 1) {
          counts[own[i] * size + code] += 1;
        }
      }
      for (let start = 0; start < counts.length; start += size) {
        let [most, least] = [0, alike];
        for (let i = start; i < start + size; i += 1) {
          if (counts[i] > most) most = counts[i];
          if (counts[i] < least) least = counts[i];
        }
        pairs.add(most * (alike + 1) + least);
      }
    }
    return [...pairs].map((pair) => [alike, Math.floor(pair / (alike + 1)), pair % (alike + 1)]);
  });
}
