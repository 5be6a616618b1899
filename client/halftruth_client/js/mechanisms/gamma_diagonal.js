/** The gamma-diagonal matrix, DET-GD (FRAPP §3): the true record γ times as likely as any other. */

import { SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";
import { sampleColumns } from "./columns.js";

export class GammaDiagonal {
  static kind = "gamma-diagonal";
  static members = ["gamma"];

  /**
   * @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema
   */
  constructor(parameters, schema) {
    this.schema = schema;
    this.gamma = Rational.parse(parameters.gamma, "gamma");
    if (this.gamma.compare(ONE) <= 0) {
      throw new SurveyError("gamma: expected an amplification above 1", "gamma");
    }
  }

  /**
   * Largest factor by which a report can be likelier under one record than under another.
   *
   * @param {ReadonlySet<string>} known Attributes taken as known.
   * @returns {Rational | null} Null where a report can rule a record out.
   */
  amplification(known) {
    return this.schema.names.every((name) => known.has(name)) ? ONE : this.gamma;
  }

  /**
   * Perturb one record, exactly.
   *
   * @param {readonly number[]} codes
   * @param {import("../sampling.js").RandomBelow} below
   * @returns {number[]}
   */
  perturb(codes, below) {
    const { numerator, denominator } = this.gamma;
    return sampleColumns(codes, this.schema.shape, numerator, denominator, below);
  }
}
