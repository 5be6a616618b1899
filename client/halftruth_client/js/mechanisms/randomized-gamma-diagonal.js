/** The randomized gamma-diagonal matrix, RAN-GD (FRAPP §4), drawn anew by each client. */

import { SurveyError } from "../errors.js";
import { lcm, ONE, Rational } from "../rational.js";
import { Mixture } from "./mixture.js";
import { readGamma } from "./parameters.js";
import { isWithin } from "./views.js";

const MOST_STEPS = 2 ** 20;

/** @type {import("./index.js").Kind} */
export const randomizedGammaDiagonal = {
  kind: "randomized-gamma-diagonal",
  members: ["gamma", "alpha", "steps"],
  read(parameters, schema) {
    const gamma = readGamma(parameters.gamma);
    const alpha = Rational.parse(parameters.alpha, "alpha");
    if (!isWithin(parameters.steps, 1, MOST_STEPS)) {
      throw new SurveyError(`steps: expected an integer from 1 to ${MOST_STEPS}`, "steps");
    }
    const others = new Rational(schema.size - 1n);
    const range = gamma.times(alpha);
    if (alpha.sign() < 0 || alpha.compare(ONE) > 0 || range.compare(others) > 0) {
      throw new SurveyError("alpha: expected that no probability is negative", "alpha");
    }
    const steps = BigInt(Number(parameters.steps));
    const shift = range.over(others).over(new Rational(steps));
    const other = lcm([gamma.denominator, shift.denominator]);
    const whole = (/** @type {Rational} */ weight) => (weight.numerator * other) / weight.denominator;
    return { response: new Mixture(schema.shape, { same: whole(gamma), other, shift: whole(shift), steps }) };
  },
};
