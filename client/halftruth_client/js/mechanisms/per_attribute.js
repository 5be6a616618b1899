/** What mechanisms share that perturb each attribute by itself. */

import { SurveyError } from "../errors.js";
import { ONE } from "../rational.js";

/**
 * Read one parameter for each attribute, and no other.
 *
 * @template T
 * @param {unknown} written
 * @param {string} field
 * @param {import("../schema.js").Schema} schema
 * @param {(value: unknown, field: string, size: bigint) => T} read
 * @returns {T[]}
 */
export function byAttribute(written, field, schema, read) {
  const given = /** @type {Record<string, unknown>} */ (written);
  if (typeof written !== "object" || written === null || Array.isArray(written)) {
    throw new SurveyError(`${field}: expected one entry for each attribute`, field);
  }
  const names = new Set(schema.names);
  const wrong =
    Object.keys(given).find((name) => !names.has(name)) ??
    schema.names.find((name) => !Object.hasOwn(given, name));
  if (wrong !== undefined) {
    throw new SurveyError(`${field}: '${wrong}': expected one entry for each attribute`, field);
  }
  return schema.names.map((name, j) => read(given[name], `${field}.${name}`, schema.shape[j]));
}

/**
 * Product of the amplifications of the attributes that are not known.
 *
 * @param {import("../schema.js").Schema} schema
 * @param {ReadonlySet<string>} known
 * @param {(j: number) => import("../rational.js").Rational | null} ofAttribute
 */
export function product(schema, known, ofAttribute) {
  let all = ONE;
  for (let j = 0; j < schema.names.length; j += 1) {
    if (known.has(schema.names[j])) continue;
    const factor = ofAttribute(j);
    if (factor === null) return null;
    all = all.times(factor);
  }
  return all;
}
