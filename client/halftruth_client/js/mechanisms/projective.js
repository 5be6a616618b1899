/**
 * Projective geometry over the integers modulo a prime q: the points of PG(t−1, q), which represent
 * cells and symbols; the symbols of a cell are the points orthogonal to it (Feldman, Nelson, Nguyen &
 * Talwar 2022).
 */

/** Number of points, (q^t − 1)/(q − 1); exact below 2^53.
 * @type {(prime: number, dimension: number) => number} */
export function points(prime, dimension) {
  let count = 0;
  for (let i = 0; i < dimension; i += 1) count = count * prime + 1;
  return count;
}

/** @param {number} number */
export function isPrime(number) {
  if (number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) {
    if (number % divisor === 0) return false;
  }
  return true;
}

/**
 * Index of the point that represents a cell, a different one for each cell.
 *
 * In their original order, cells would be collinear. Cubing them, modulo a prime that is no smaller than
 * the number of points, spreads them like random points.
 *
 * @type {(cell: number, symbols: number) => number}
 */
export function pointOfCell(cell, symbols) {
  const ring = BigInt(ringOf(symbols));
  const shift = ring / 3n;
  const most = BigInt(symbols);
  let point = BigInt(cell);
  do {
    const moved = point + shift;
    point = (((moved * moved) % ring) * moved) % ring;
  } while (point >= most);
  return Number(point);
}

/** @type {Map<number, number>} */
const rings = new Map();

/** The smallest prime ≥ `symbols` that is 2 modulo 3, for which cubing is a bijection.
 * @param {number} symbols */
function ringOf(symbols) {
  let ring = rings.get(symbols);
  if (ring === undefined) {
    ring = Math.max(symbols, 5);
    while (ring % 3 !== 2 || !isPrime(ring)) ring += 1;
    rings.set(symbols, ring);
  }
  return ring;
}

/**
 * The coordinates of a point; the first nonzero coordinate is 1.
 *
 * Points are numbered by the place of that 1, and then by the following coordinates, read as digits of a
 * number.
 *
 * @type {(point: number, prime: number, dimension: number) => number[]}
 */
export function coordinates(point, prime, dimension) {
  let rest = point;
  let place = 0;
  let block = prime ** (dimension - 1);
  for (; rest >= block; block /= prime) {
    rest -= block;
    place += 1;
  }
  const vector = digits(rest, prime, dimension);
  vector[place] = 1;
  return vector;
}

/** The last `count` digits of a number, the most significant first.
 * @type {(number: number, base: number, count: number) => number[]} */
export function digits(number, base, count) {
  const vector = new Array(count).fill(0);
  for (let j = count - 1, rest = number; rest > 0; j -= 1) {
    vector[j] = rest % base;
    rest = Math.floor(rest / base);
  }
  return vector;
}

/** Index of the point of a nonzero vector: the inverse of `coordinates`.
 * @type {(vector: readonly number[], prime: number) => number} */
export function pointOf(vector, prime) {
  const place = vector.findIndex((entry) => entry !== 0);
  const scale = inverse(vector[place], prime);
  let block = prime ** (vector.length - 1);
  let before = 0;
  for (let j = 0; j < place; j += 1, block /= prime) before += block;
  let value = 0;
  for (let j = place + 1; j < vector.length; j += 1) {
    value = value * prime + ((vector[j] * scale) % prime);
  }
  return before + value;
}

/** The vector with a given scalar product with a point, and given coordinates except at the place of the
 * first 1 of the point.
 * @type {(point: readonly number[], others: readonly number[], product: number, prime: number) => number[]} */
export function solveCoordinate(point, others, product, prime) {
  const place = point.indexOf(1);
  const vector = [...others.slice(0, place), 0, ...others.slice(place)];
  const rest = (product - scalar(point, vector)) % prime;
  vector[place] = rest < 0 ? rest + prime : rest;
  return vector;
}

/** The scalar product, before it is taken modulo the prime.
 * @type {(a: readonly number[], b: readonly number[]) => number} */
export function scalar(a, b) {
  return a.reduce((sum, entry, j) => sum + entry * b[j], 0);
}

/** Of an entry that is not 0.
 * @type {(entry: number, prime: number) => number} */
function inverse(entry, prime) {
  let [a, b, x, y] = [entry, prime, 1, 0];
  while (b !== 0) {
    const quotient = Math.floor(a / b);
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  return x < 0 ? x + prime : x;
}
