/** Distortion matrices: any column-stochastic matrix for each attribute, or a named design. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { ONE, Rational, ZERO } from "../rational.js";
import { Columns, Transitions } from "./columns.js";
import { readDesign } from "./designs.js";
import { byAttribute } from "./parameters.js";

const MOST_CATEGORIES = 1024;

/** @type {import("./index.js").Kind} */
export const distortionMatrices = {
  kind: "distortion-matrices",
  members: ["matrices", "designs"],
  read(parameters, schema) {
    const matrices = membersOf(parameters.matrices ?? {}, schema.names, "matrices");
    const named = membersOf(parameters.designs ?? {}, schema.names, "designs");
    const twice = Object.keys(named).find((name) => Object.hasOwn(matrices, name));
    if (twice !== undefined) {
      throw new SurveyError(`designs: '${twice}': expected a design or a matrix`, "designs");
    }
    /** @type {Map<string, import("./designs.js").Design>} */
    const designs = new Map();
    const either = { ...matrices, ...named };
    const columns = byAttribute(either, "matrices", schema, (written, field, size, attribute) => {
      if (!Object.hasOwn(named, attribute.name)) return new Transitions(readMatrix(written, field, size));
      const design = readDesign(written, `designs.${attribute.name}`, attribute);
      designs.set(attribute.name, design);
      return new Transitions(design.matrix);
    });
    return { response: new Columns(columns), designs };
  },
};

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
