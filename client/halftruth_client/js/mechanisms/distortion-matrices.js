/** Distortion matrices: any column-stochastic matrix for each attribute, or a named design. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { lcm, ONE, Rational, ZERO } from "../rational.js";
import { largest } from "./base.js";
import { readDesign } from "./designs.js";
import { AttributeMechanism, byAttribute } from "./per_attribute.js";

const MOST_CATEGORIES = 1024;

/** Cumulative integer weights of the reported values, for each true value.
 * @typedef {{total: bigint, bounds: bigint[][]}} Cumulative */

export class DistortionMatrices extends AttributeMechanism {
  static kind = "distortion-matrices";
  static members = ["matrices", "designs"];

  /** @param {Record<string, unknown>} parameters
   * @param {import("../schema.js").Schema} schema */
  constructor(parameters, schema) {
    super(schema);
    const matrices = membersOf(parameters.matrices ?? {}, schema.names, "matrices");
    const designs = membersOf(parameters.designs ?? {}, schema.names, "designs");
    const twice = Object.keys(designs).find((name) => Object.hasOwn(matrices, name));
    if (twice !== undefined) {
      throw new SurveyError(`designs: '${twice}': expected a design or a matrix`, "designs");
    }
    /** Designs of attributes without a matrix.
     * @type {Map<string, import("./designs.js").Design>} */
    this.designs = new Map();
    const either = { ...matrices, ...designs };
    this.matrices = byAttribute(either, "matrices", schema, (written, field, size, attribute) => {
      if (!Object.hasOwn(designs, attribute.name)) return readMatrix(written, field, size);
      const design = readDesign(written, `designs.${attribute.name}`, attribute);
      this.designs.set(attribute.name, design);
      return design.matrix;
    });
    this.cumulative = this.matrices.map(cumulate);
  }

  /** @type {NonNullable<import("./base.js").Mechanism["provable"]>} */
  provable() {
    return new Map(
      [...this.designs].flatMap(([name, { provable }]) => (provable ? [[name, provable]] : [])),
    );
  }

  /** @param {number} j */
  amplificationOf(j) {
    const ratios = this.matrices[j].map((row) => {
      const sorted = [...row].sort((a, b) => a.compare(b));
      return sorted[0].sign() === 0 ? null : sorted[sorted.length - 1].over(sorted[0]);
    });
    return largest(ratios);
  }

  /** @type {AttributeMechanism["chance"]} */
  chance(j, reported, code) {
    return this.matrices[j][reported][code];
  }

  /** @type {import("./base.js").Mechanism["perturb"]} */
  perturb(codes, below) {
    return codes.map((code, j) => {
      const { total, bounds } = this.cumulative[j];
      const draw = below(total);
      return bounds[code].findIndex((bound) => draw < bound);
    });
  }
}

/** @type {(written: unknown, field: string, size: bigint) => Rational[][]} */
function readMatrix(written, field, size) {
  const rows = /** @type {unknown[][]} */ (written);
  const square =
    Array.isArray(written) &&
    BigInt(written.length) === size &&
    written.length <= MOST_CATEGORIES &&
    rows.every((row) => Array.isArray(row) && row.length === written.length);
  if (!square) throw new SurveyError(`${field}: expected ${size} rows and columns`, field);
  const matrix = rows.map((row) => row.map((entry) => Rational.parse(entry, field)));
  matrix.forEach((_, u) => {
    const column = matrix.map((row) => row[u]);
    const sum = column.reduce((total, entry) => total.plus(entry), ZERO);
    if (column.some((entry) => entry.sign() < 0) || sum.compare(ONE) !== 0) {
      throw new SurveyError(`${field}: expected columns of probabilities that sum to 1`, field);
    }
  });
  return matrix;
}

/** @type {(matrix: Rational[][]) => Cumulative} */
function cumulate(matrix) {
  const total = lcm(matrix.flat().map((entry) => entry.denominator));
  const bounds = matrix.map((_, u) => {
    let sum = 0n;
    return matrix.map((row) => (sum += (row[u].numerator * total) / row[u].denominator));
  });
  return { total, bounds };
}
