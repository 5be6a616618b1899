/** The gamma-diagonal matrix, DET-GD (FRAPP §3): the true record γ times as likely as any other. */

import { SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";
import { RecordMechanism, twoLikelihoods } from "./base.js";
import { sampleColumns } from "./columns.js";

export class GammaDiagonal extends RecordMechanism {
  static kind = "gamma-diagonal";
  static members = ["gamma"];

  /** @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema */
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

  /** Probability of each record except the true one, averaged over random matrices. */
  get #chance() {
    return ONE.over(this.gamma.plus(new Rational(this.schema.size - 1n)));
  }

  /** @type {import("./base.js").Mechanism["likelihoods"]} */
  likelihoods(values, codes) {
    const fits = values.every((code, j) => code === codes[j]);
    // Only the reported record makes the report likelier.
    const kinds = fits ? [false] : this.schema.size > 2n ? [true, false] : [true];
    return twoLikelihoods(fits, kinds, this.gamma, this.#chance);
  }

  /** @param {number} j */
  chanceOfOthers(j) {
    const share = this.#chance.times(new Rational(this.schema.size / this.schema.shape[j]));
    return { least: share, most: share };
  }

  fit() {
    const kept = this.gamma.times(this.#chance);
    return { least: kept, most: kept };
  }

  /** @type {import("./base.js").Mechanism["practice"]} */
  practice() {
    const { size } = this.schema;
    if (size > BigInt(Number.MAX_SAFE_INTEGER)) return null;
    return {
      size: Number(size),
      draw: (code, below) => sampleColumns([code], [size], ...this.drawWeights(below), below)[0],
      fits: (code, sent) => code === sent,
      chance: () => this.fit().least,
    };
  }

  /** @type {import("./base.js").Mechanism["perturb"]} */
  perturb(codes, below) {
    return sampleColumns(codes, this.schema.shape, ...this.drawWeights(below), below);
  }

  /** Weights of the true record and of each other one.
   * @type {(below: import("../sampling.js").RandomBelow) => [same: bigint, other: bigint]} */
  drawWeights(_below) {
    return [this.gamma.numerator, this.gamma.denominator];
  }
}
