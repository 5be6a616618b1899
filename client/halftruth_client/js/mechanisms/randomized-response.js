/** Randomized response for each attribute (Warner): keep the answer, or report another one. */

import { SurveyError } from "../errors.js";
import { gcd, ONE, Rational } from "../rational.js";
import { otherValue } from "./columns.js";
import { AttributeMechanism, byAttribute } from "./per_attribute.js";

/** Integer weights of one attribute: of the true value, of each other value, and their sum.
 * @typedef {{same: bigint, other: bigint, total: bigint}} Weights */

export class RandomizedResponse extends AttributeMechanism {
  static kind = "randomized-response";
  static members = ["keep"];

  /** @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema */
  constructor(parameters, schema) {
    super(schema);
    this.keep = byAttribute(parameters.keep, "keep", schema, (written, field, size) => {
      const p = Rational.parse(written, field);
      if (p.compare(new Rational(1n, size)) <= 0 || p.compare(ONE) > 0) {
        throw new SurveyError(
          `${field}: expected a probability above 1/${size} and at most 1`,
          field,
        );
      }
      return p;
    });
    this.weights = this.keep.map((p, j) => weightsOf(p, schema.shape[j]));
    this.outcomes = this.weights.reduce((all, { total }) => all * total, 1n);
  }

  /** @param {number} j */
  amplificationOf(j) {
    const p = this.keep[j];
    const others = new Rational(this.schema.shape[j] - 1n);
    return p.compare(ONE) === 0 ? null : p.times(others).over(ONE.minus(p));
  }

  /** @type {AttributeMechanism["chance"]} */
  chance(j, reported, code) {
    const others = new Rational(this.schema.shape[j] - 1n);
    return reported === code ? this.keep[j] : ONE.minus(this.keep[j]).over(others);
  }

  /** @type {import("./base.js").Mechanism["perturb"]} */
  perturb(codes, below) {
    // The digits of one uniform number in mixed radix are independent draws.
    let draws = below(this.outcomes);
    const report = [...codes];
    for (let j = codes.length - 1; j >= 0; j -= 1) {
      const { same, other, total } = this.weights[j];
      const draw = draws % total;
      if (draw >= same) report[j] = otherValue(Number((draw - same) / other), codes[j]);
      draws /= total;
    }
    return report;
  }
}

/** @type {(p: Rational, size: bigint) => Weights} */
function weightsOf(p, size) {
  let same = p.numerator * (size - 1n);
  let other = p.denominator - p.numerator;
  const common = gcd(same, other);
  same /= common;
  other /= common;
  return { same, other, total: same + other * (size - 1n) };
}
