// A mechanism of the tests alone, whose report is no record: one symbol of a larger alphabet about
// all answers together. It is one object that is registered, as any mechanism is.

import { SurveyError } from "../../client/halftruth_client/js/errors.js";
import { ONE, Rational } from "../../client/halftruth_client/js/rational.js";

/** Each cell u has two symbols of its own, 2u and 2u + 1, γ times as likely as each other one. */
export class TestSymbol {
  static kind = "test-symbol";
  static members = ["gamma", "size"];

  constructor({ gamma, size }, schema) {
    this.schema = schema;
    this.gamma = Rational.parse(gamma, "gamma");
    if (this.gamma.compare(ONE) <= 0) throw new SurveyError("gamma: expected more than 1", "gamma");
    if (!Number.isInteger(size) || BigInt(size) < 2n * schema.size) {
      throw new SurveyError(`size: expected ${2n * schema.size} or more`, "size");
    }
    this.size = BigInt(size);
    this.reportSpace = { names: ["symbol"], shape: [this.size] };
  }

  amplification(known) {
    return this.schema.names.every((name) => known.has(name)) ? ONE : this.gamma;
  }

  answerAmplification(known) {
    const { names, shape } = this.schema;
    // Where the others are equally likely, d/n of the cells with an answer have a given symbol.
    const free = shape.filter((_, j) => !known.has(names[j]));
    const most = free.reduce((a, b) => (a > b ? a : b), 0n);
    const share = new Rational(most, free.reduce((a, b) => a * b, 1n));
    return {
      known: this.amplification(known),
      unknown: ONE.plus(this.gamma.minus(ONE).times(share)),
    };
  }

  perturb(codes, below) {
    const { numerator: own, denominator: other } = this.gamma;
    const cell = codes.reduce((all, code, j) => all * this.schema.shape[j] + BigInt(code), 0n);
    const draw = below(2n * own + (this.size - 2n) * other);
    if (draw < 2n * own) return [Number(2n * cell + draw / own)];
    const place = (draw - 2n * own) / other;
    return [Number(place < 2n * cell ? place : place + 2n)];
  }

  contents([code]) {
    const positions = this.schema.names.map((_, j) => j);
    return { codes: [], symbol: { code, gamma: this.gamma, positions, likelier: [] } };
  }
}
