/** The randomized gamma-diagonal matrix, RAN-GD (FRAPP §4), drawn anew by each client. */

import { SurveyError } from "../errors.js";
import { lcm, ONE, Rational } from "../rational.js";
import { GammaDiagonal } from "./gamma-diagonal.js";

const MOST_STEPS = 2 ** 20;

export class RandomizedGammaDiagonal extends GammaDiagonal {
  static kind = "randomized-gamma-diagonal";
  static members = ["gamma", "alpha", "steps"];

  /** @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema */
  constructor(parameters, schema) {
    super(parameters, schema);
    const alpha = Rational.parse(parameters.alpha, "alpha");
    const steps = /** @type {number} */ (parameters.steps);
    if (!Number.isInteger(steps) || steps < 1 || steps > MOST_STEPS) {
      throw new SurveyError(`steps: expected an integer from 1 to ${MOST_STEPS}`, "steps");
    }
    const others = new Rational(schema.size - 1n);
    const range = this.gamma.times(alpha);
    if (alpha.sign() < 0 || alpha.compare(ONE) > 0 || range.compare(others) > 0) {
      throw new SurveyError("alpha: expected that no probability is negative", "alpha");
    }
    this.steps = BigInt(steps);
    const shift = range.over(others).over(new Rational(this.steps));
    const scale = lcm([this.gamma.denominator, shift.denominator]);
    this.same = (this.gamma.numerator * scale) / this.gamma.denominator;
    this.other = scale;
    this.shift = (shift.numerator * scale) / shift.denominator;
  }

  /** @type {GammaDiagonal["drawWeights"]} */
  drawWeights(below) {
    const t = below(2n * this.steps + 1n) - this.steps;
    return [this.same + this.shift * (this.schema.size - 1n) * t, this.other - this.shift * t];
  }
}
