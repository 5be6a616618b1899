/** Readers of parameters that mechanisms have in common. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { ONE, Rational } from "../rational.js";

/** @param {unknown} written */
export function readGamma(written) {
  const gamma = Rational.parse(written, "gamma");
  if (gamma.compare(ONE) <= 0) {
    throw new SurveyError("gamma: expected an amplification above 1", "gamma");
  }
  return gamma;
}

/**
 * Read exactly one parameter for each attribute.
 *
 * @template T
 * @param {unknown} written
 * @param {string} field
 * @param {import("../schema.js").Schema} schema
 * @param {(value: unknown, field: string, size: bigint, attribute: import("../attribute.js").Attribute) => T} read
 * @returns {T[]}
 */
export function byAttribute(written, field, schema, read) {
  const parameters = membersOf(written, schema.names, field);
  const missing = schema.names.find((name) => !Object.hasOwn(parameters, name));
  if (missing !== undefined) {
    throw new SurveyError(`${field}: '${missing}': expected one entry for each attribute`, field);
  }
  return schema.attributes.map((attribute, j) =>
    read(parameters[attribute.name], `${field}.${attribute.name}`, schema.shape[j], attribute),
  );
}
