/** The mechanisms, by the name that surveys give them. */

import { ParameterError, SurveyError } from "../errors.js";
import { DistortionMatrices } from "./distortion_matrices.js";
import { GammaDiagonal } from "./gamma_diagonal.js";
import { RandomizedGammaDiagonal } from "./randomized_gamma_diagonal.js";
import { RandomizedResponse } from "./randomized_response.js";

const MECHANISMS = [
  GammaDiagonal,
  RandomizedGammaDiagonal,
  RandomizedResponse,
  DistortionMatrices,
];

/** @typedef {GammaDiagonal | RandomizedResponse | DistortionMatrices} Mechanism */

/**
 * The mechanism that a published survey names.
 *
 * @param {unknown} written
 * @param {import("../schema.js").Schema} schema
 * @returns {Mechanism}
 */
export function readMechanism(written, schema) {
  const parameters = /** @type {Record<string, unknown>} */ (written ?? {});
  const found = MECHANISMS.find(({ kind }) => kind === parameters.kind);
  if (found === undefined) {
    const kinds = MECHANISMS.map(({ kind }) => kind).join(", ");
    throw new SurveyError(`mechanism: expected one of: ${kinds}`, "mechanism");
  }
  for (const member of Object.keys(parameters)) {
    if (member !== "kind" && !found.members.includes(member)) {
      throw new SurveyError(`mechanism: unknown member '${member}'`, member);
    }
  }
  try {
    return new found(parameters, schema);
  } catch (error) {
    // A number that cannot be read is no setting of the caller here.
    if (!(error instanceof ParameterError)) throw error;
    throw new SurveyError(error.message, error.field);
  }
}

export { DistortionMatrices, GammaDiagonal, RandomizedGammaDiagonal, RandomizedResponse };
