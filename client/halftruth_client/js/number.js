/** Numeric questions, and the bins into which answers are grouped before perturbation. */

import { SurveyError } from "./errors.js";
import { ONE, Rational } from "./rational.js";

const ANSWER = /^([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d{1,3}))?$/;
const MOST_CHARACTERS = 100;
const MOST_BINS = 65_536n;

/** Range of a numeric question, in bins of equal width that start at the minimum. */
export class NumberRange {
  /**
   * @param {Record<string, unknown>} written
   *   With `minimum`, `maximum` and `step`, the width of a bin; the last bin can be narrower. If all
   *   three are whole and `whole` is not false, only whole numbers are answers.
   */
  constructor({ minimum, maximum, step, whole }) {
    this.minimum = Rational.parse(minimum, "minimum");
    this.maximum = Rational.parse(maximum, "maximum");
    this.step = Rational.parse(step, "step");
    const ends = [this.minimum, this.maximum, this.step];
    this.whole = whole !== false && ends.every(({ denominator }) => denominator === 1n);
    const count = this.step.sign() > 0 ? this.count() : 0n;
    if (count < 2n || count > MOST_BINS) {
      throw new SurveyError(`step: expected the width of 2 to ${MOST_BINS} bins`, "step");
    }
    /** Names of the bins, in order. */
    this.categories = Array.from({ length: Number(count) }, (_, i) => this.category(i));
    Object.freeze(this);
  }

  /** @returns {bigint} */
  count() {
    const width = this.maximum.minus(this.minimum);
    const { numerator, denominator } = (this.whole ? width.plus(ONE) : width).over(this.step);
    return (numerator + denominator - 1n) / denominator;
  }

  /** @param {number} i */
  category(i) {
    const { low, high, isOpen } = this.ends(i) ?? { low: "", high: "", isOpen: false };
    if (!this.whole) return `[${low}, ${high}${isOpen ? ")" : "]"}`;
    return low === high ? low : `${low} to ${high}`;
  }

  /** The ends of a bin, the upper one excluded if `isOpen`; null if there is no such bin.
   * @param {number} i */
  ends(i) {
    const last = Number(this.count()) - 1;
    if (i > last) return null;
    const low = this.minimum.plus(this.step.times(new Rational(BigInt(i))));
    const next = low.plus(this.step);
    const high = i === last ? this.maximum : this.whole ? next.minus(ONE) : next;
    return { low: decimals(low), high: decimals(high), isOpen: !this.whole && i < last };
  }

  /** Index of the bin of an answer; -1 for an invalid answer.
   * @type {(answer: unknown) => number} */
  bin(answer) {
    const value = readNumber(answer);
    if (value === null || value.compare(this.minimum) < 0 || value.compare(this.maximum) > 0) {
      return -1;
    }
    if (this.whole && value.denominator !== 1n) return -1;
    const { numerator, denominator } = value.minus(this.minimum).over(this.step);
    return Math.min(Number(numerator / denominator), this.categories.length - 1);
  }

  /** Description of the accepted numbers, for messages. */
  toString() {
    const kind = this.whole ? "a whole number" : "a number";
    return `${kind} from ${decimals(this.minimum)} to ${decimals(this.maximum)}`;
  }
}

/** Parse an answer as an exact number. A floating-point number is read as its shortest decimal text.
 * @type {(answer: unknown) => Rational | null} */
function readNumber(answer) {
  const written = typeof answer === "number" ? String(answer) : answer;
  if (typeof written !== "string" || written.length > MOST_CHARACTERS) return null;
  const match = ANSWER.exec(written);
  if (match === null) return null;
  const [, sign, whole = "", after = "", alone = "", exponent = "0"] = match;
  const places = BigInt(exponent) - BigInt((after + alone).length);
  const digits = BigInt(whole + after + alone) * (sign === "-" ? -1n : 1n);
  return places < 0n
    ? new Rational(digits, 10n ** -places)
    : new Rational(digits * 10n ** places);
}

/** Format a number as a finite decimal if possible, else as a quotient in lowest terms.
 * @param {Rational} value */
export function decimals(value) {
  let rest = value.denominator;
  const places = [2n, 5n].map((factor) => {
    let count = 0;
    for (; rest % factor === 0n; rest /= factor) count += 1;
    return count;
  });
  if (rest !== 1n) return value.toString();
  const digits = Math.max(...places);
  const sign = value.sign() < 0 ? "-" : "";
  const size = value.sign() < 0 ? -value.numerator : value.numerator;
  const scaled = ((size * 10n ** BigInt(digits)) / value.denominator).toString();
  if (digits === 0) return sign + scaled;
  const padded = scaled.padStart(digits + 1, "0");
  return `${sign}${padded.slice(0, -digits)}.${padded.slice(-digits)}`;
}
