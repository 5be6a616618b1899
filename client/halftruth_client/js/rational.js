/** Exact rational parameters: fractions of integers, never binary floating point. */

import { ParameterError } from "./errors.js";

const TEXT = /^[+-]?\d+(?:\.\d+|\/\d+)?$/;
const MOST_CHARACTERS = 1000;

/**
 * A fraction in lowest terms with a positive denominator.
 */
export class Rational {
  /** @param {bigint} numerator
   * @param {bigint} denominator Not 0.
   * @param {bigint} divisor Common divisor of both, with the sign of the denominator. */
  constructor(
    numerator,
    denominator = 1n,
    divisor = gcd(numerator, denominator) * (denominator < 0n ? -1n : 1n),
  ) {
    this.numerator = numerator / divisor;
    this.denominator = denominator / divisor;
  }

  /** Parse "19", "0.9" or "19/2".
   * @type {(value: unknown, field: string) => Rational} */
  static parse(value, field) {
    if (Number.isSafeInteger(value)) return new Rational(BigInt(/** @type {number} */ (value)));
    if (typeof value === "string" && value.length <= MOST_CHARACTERS && TEXT.test(value)) {
      const [whole, below] = value.split("/");
      if (below === undefined) {
        const [integer, decimals = ""] = whole.split(".");
        const digits = BigInt((integer + decimals).replace("+", ""));
        return new Rational(digits, 10n ** BigInt(decimals.length));
      }
      if (BigInt(below) !== 0n) return new Rational(BigInt(whole.replace("+", "")), BigInt(below));
    }
    throw new ParameterError(
      `${field}: expected an exact number written as text such as "19", "0.9" or "19/2"`,
      field,
    );
  }

  /** @param {Rational} other */
  plus(other) {
    const sum = this.numerator * other.denominator + other.numerator * this.denominator;
    return new Rational(sum, this.denominator * other.denominator);
  }

  /** @param {Rational} other */
  minus(other) {
    return this.plus(new Rational(-other.numerator, other.denominator));
  }

  /** @param {Rational} other */
  times(other) {
    // Reduce before multiplying, since the divisor of a long product takes very long to compute.
    const [a, b] = [gcd(this.numerator, other.denominator), gcd(other.numerator, this.denominator)];
    return new Rational(
      (this.numerator / a) * (other.numerator / b),
      (this.denominator / b) * (other.denominator / a),
      1n,
    );
  }

  /** @param {Rational} other Not 0. */
  over(other) {
    const sign = other.numerator < 0n ? -1n : 1n;
    return this.times(new Rational(other.denominator, other.numerator, sign));
  }

  /** @param {Rational} other */
  compare(other) {
    const [own, its] = [this.numerator * other.denominator, other.numerator * this.denominator];
    return own < its ? -1 : own > its ? 1 : 0;
  }

  /** -1, 0 or 1. */
  sign() {
    return this.numerator === 0n ? 0 : this.numerator < 0n ? -1 : 1;
  }

  /** The nearest floating-point number, for showing it. */
  toNumber() {
    // Divide before converting, since both integers can exceed the range of a number.
    const scale = 10n ** 17n;
    const whole = this.numerator / this.denominator;
    const rest = ((this.numerator % this.denominator) * scale) / this.denominator;
    return Number(whole) + Number(rest) / Number(scale);
  }

  /** Lowest terms, "19" or "9/10". */
  toString() {
    return this.denominator === 1n ? `${this.numerator}` : `${this.numerator}/${this.denominator}`;
  }
}

export const ZERO = new Rational(0n);
export const ONE = new Rational(1n);

/** Greatest common divisor. Positive; 1 if both are 0.
 * @type {(a: bigint, b: bigint) => bigint} */
export function gcd(a, b) {
  while (b !== 0n) [a, b] = [b, a % b];
  return a === 0n ? 1n : a < 0n ? -a : a;
}

/** @param {bigint[]} values */
export function lcm(values) {
  return values.reduce((a, b) => (a / gcd(a, b)) * b, 1n);
}
