/** Sampling of records with one weight for the true record and another for every other record. */

/**
 * Dependent-column sampling (FRAPP §5, eq. 36) with one draw, by the weights of the true record and of each
 * other one.
 *
 * The total weight of a column equals the keeping weight of the column before it. So a draw that keeps
 * a column is also a draw for the next one, and a draw that changes a column leaves a remainder that is
 * uniform over the values of all later columns.
 *
 * @typedef {import("../sampling.js").RandomBelow} RandomBelow
 * @type {(codes: readonly number[], shape: readonly bigint[], same: bigint, other: bigint, below: RandomBelow) => number[]}
 */
export function sampleColumns(codes, shape, same, other, below) {
  let later = shape.reduce((product, size) => product * size, 1n);
  const draw = below(same + other * (later - 1n));
  for (let changed = 0; changed < shape.length; changed += 1) {
    later /= shape[changed];
    const kept = same + other * (later - 1n);
    if (draw >= kept) return changedFrom(codes, shape, changed, later, (draw - kept) / other);
  }
  return [...codes];
}

/** A record whose first changed column is given, by a draw of it and of the `later` combinations behind it.
 * @type {(codes: readonly number[], shape: readonly bigint[], changed: number, later: bigint, draw: bigint) => number[]} */
function changedFrom(codes, shape, changed, later, draw) {
  const report = [...codes];
  report[changed] = otherValue(Number(draw / later), codes[changed]);
  let rest = draw % later;
  for (let j = shape.length - 1; j > changed; j -= 1) {
    report[j] = Number(rest % shape[j]);
    rest /= shape[j];
  }
  return report;
}

/** The value at a position among all values except the true one.
 * @type {(position: number, code: number) => number} */
export function otherValue(position, code) {
  return position < code ? position : position + 1;
}
