/** The mechanisms, by the name that surveys give them. */

import { ParameterError, SurveyError } from "../errors.js";
import { DistortionMatrices } from "./distortion-matrices.js";
import { GammaDiagonal } from "./gamma-diagonal.js";
import { RandomizedGammaDiagonal } from "./randomized-gamma-diagonal.js";
import { RandomizedResponse } from "./randomized-response.js";
import { SplitQuestionnaire } from "./split-questionnaire.js";

/**
 * What a mechanism's file exports: its name, the members that a survey writes it with, and how
 * these are read and checked for a schema.
 *
 * @typedef {(new (parameters: Record<string, unknown>, schema: import("../schema.js").Schema) =>
 *   import("./base.js").Mechanism) & {kind: string, members: readonly string[]}} Kind
 */

/** @type {Map<string, Kind>} */
const KINDS = new Map();

/**
 * Let surveys name a mechanism.
 *
 * @param {Kind} mechanism
 */
export function register(mechanism) {
  KINDS.set(mechanism.kind, mechanism);
}

for (const mechanism of [
  GammaDiagonal,
  RandomizedGammaDiagonal,
  RandomizedResponse,
  DistortionMatrices,
  SplitQuestionnaire,
]) {
  register(mechanism);
}

/**
 * The mechanism that a published survey names.
 *
 * @param {unknown} written
 * @param {import("../schema.js").Schema} schema
 */
export function readMechanism(written, schema) {
  const parameters = /** @type {Record<string, unknown>} */ (written ?? {});
  const found = KINDS.get(String(parameters.kind));
  if (found === undefined) {
    const kinds = [...KINDS.keys()].join(", ");
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
