/**
 * Projective geometry over the integers modulo a prime q: the points of PG(t−1, q), which stand
 * for cells and for symbols, and which symbols are a cell's own (Feldman, Nelson, Nguyen & Talwar
 * 2022).
 */

/**
 * Number of points, (q^t − 1)/(q − 1); exact below 2^53.
 *
 * @param {number} prime
 * @param {number} dimension t.
 */
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
 * Index of the point that stands for a cell, another one for each.
 *
 * Cells in their own order would lie in lines; as cubes, in a ring that is no smaller than the
 * number of points, they lie like random ones.
 *
 * @param {number} cell
 * @param {number} symbols Number of points.
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

/**
 * The smallest prime of at least so many that is 2 modulo 3, where cubing is one to one.
 *
 * @param {number} symbols
 */
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
 * The coordinates of a point, of which the first that is not 0 is 1.
 *
 * Points are numbered by the place of that 1, and where it is the same by the coordinates that
 * follow, as digits of a number.
 *
 * @param {number} point
 * @param {number} prime
 * @param {number} dimension
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

/**
 * So many digits of a number, the last one least significant.
 *
 * @param {number} number
 * @param {number} base
 * @param {number} count
 */
export function digits(number, base, count) {
  const vector = new Array(count).fill(0);
  for (let j = count - 1, rest = number; rest > 0; j -= 1) {
    vector[j] = rest % base;
    rest = Math.floor(rest / base);
  }
  return vector;
}

/**
 * Index of the point of a vector that is not 0 everywhere; the inverse of `coordinates`.
 *
 * @param {readonly number[]} vector
 * @param {number} prime
 */
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

/**
 * The vector whose scalar product with a point is given, and whose coordinates are but for the
 * one where the point has its first 1.
 *
 * @param {readonly number[]} point
 * @param {readonly number[]} others
 * @param {number} product
 * @param {number} prime
 */
export function solveCoordinate(point, others, product, prime) {
  const place = point.indexOf(1);
  const vector = [...others.slice(0, place), 0, ...others.slice(place)];
  const rest = (product - scalar(point, vector)) % prime;
  vector[place] = rest < 0 ? rest + prime : rest;
  return vector;
}

/**
 * The scalar product, before it is taken modulo the prime.
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
export function scalar(a, b) {
  return a.reduce((sum, entry, j) => sum + entry * b[j], 0);
}

/** @type {(entry: number, prime: number) => number} Of an entry that is not 0. */
function inverse(entry, prime) {
  let [a, b, x, y] = [entry, prime, 1, 0];
  while (b !== 0) {
    const quotient = Math.floor(a / b);
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  return x < 0 ? x + prime : x;
}
