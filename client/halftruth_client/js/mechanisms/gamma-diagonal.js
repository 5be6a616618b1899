/** The gamma-diagonal matrix, DET-GD (FRAPP §3): the true record γ times as likely as any other. */

import { SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";
import { largest, RecordMechanism, uniformChannel } from "./base.js";
import { sampleColumns } from "./columns.js";

export class GammaDiagonal extends RecordMechanism {
  static kind = "gamma-diagonal";
  static members = ["gamma"];

  /**
   * @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema
   */
  constructor(parameters, schema) {
    super(schema);
    this.gamma = Rational.parse(parameters.gamma, "gamma");
    if (this.gamma.compare(ONE) <= 0) {
      throw new SurveyError("gamma: expected an amplification above 1", "gamma");
    }
  }

  /** @param {ReadonlySet<string>} known */
  amplification(known) {
    return this.schema.names.every((name) => known.has(name)) ? ONE : this.gamma;
  }

  /** @param {ReadonlySet<string>} known */
  answerAmplification(known) {
    const { names, shape } = this.schema;
    // Of conditional attributes an answer may leave a single combination: they count as one cell.
    const sizes = shape.map((d, j) => (this.schema.conditional.has(names[j]) ? 1n : d));
    const hidden = sizes.filter((_, j) => !known.has(names[j]));
    const cells = hidden.reduce((product, size) => product * size, 1n);
    // One of n/d combinations of the others has the weight γ; they are equally likely.
    const alone = hidden.map((d) => ONE.plus(this.gamma.minus(ONE).times(new Rational(d, cells))));
    return { known: this.amplification(known), unknown: largest(alone) };
  }

  /** @param {number} size */
  single(size) {
    return uniformChannel(size, this.gamma);
  }

  /** @type {import("./base.js").Mechanism["perturb"]} */
  perturb(codes, below) {
    const { numerator, denominator } = this.gamma;
    return sampleColumns(codes, this.schema.shape, numerator, denominator, below);
  }
}
