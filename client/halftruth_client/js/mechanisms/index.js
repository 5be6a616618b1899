/** The mechanisms, by their names in surveys. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { DistortionMatrices } from "./distortion-matrices.js";
import { GammaDiagonal } from "./gamma-diagonal.js";
import { RandomizedGammaDiagonal } from "./randomized-gamma-diagonal.js";
import { RandomizedResponse } from "./randomized-response.js";
import { SplitQuestionnaire } from "./split-questionnaire.js";

/**
 * Class of a mechanism: its name, its members in a survey, and the constructor that validates these for
 * a schema.
 *
 * @typedef {(new (parameters: Record<string, unknown>, schema: import("../schema.js").Schema) =>
 *   import("./base.js").Mechanism) & {kind: string, members: readonly string[]}} Kind
 */

/** @type {readonly Kind[]} */
const KINDS = [
  GammaDiagonal,
  RandomizedGammaDiagonal,
  RandomizedResponse,
  DistortionMatrices,
  SplitQuestionnaire,
];

/** @param {unknown} written
 * @param {import("../schema.js").Schema} schema */
export function readMechanism(written, schema) {
  const kind = KINDS.find((each) => each.kind === Object(written).kind);
  if (kind === undefined) {
    const kinds = KINDS.map(({ kind }) => kind).join(", ");
    throw new SurveyError(`mechanism: expected one of: ${kinds}`, "mechanism");
  }
  return new kind(membersOf(written, ["kind", ...kind.members], "mechanism"), schema);
}
