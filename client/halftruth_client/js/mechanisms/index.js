/** The mechanisms, by their names in surveys. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { Mechanism } from "./base.js";
import { distortionMatrices } from "./distortion-matrices.js";
import { gammaDiagonal } from "./gamma-diagonal.js";
import { randomizedGammaDiagonal } from "./randomized-gamma-diagonal.js";
import { randomizedResponse } from "./randomized-response.js";
import { splitQuestionnaire } from "./split-questionnaire.js";

/**
 * A kind of mechanism: its name, its members in a survey, and their validation for a schema.
 *
 * @typedef {object} Kind
 * @property {string} kind
 * @property {readonly string[]} members
 * @property {(parameters: Record<string, unknown>, schema: import("../schema.js").Schema) =>
 *   import("./base.js").Form} read
 */

/** @type {readonly Kind[]} */
const KINDS = [
  gammaDiagonal,
  randomizedGammaDiagonal,
  randomizedResponse,
  distortionMatrices,
  splitQuestionnaire,
];

/** @param {unknown} written
 * @param {import("../schema.js").Schema} schema */
export function readMechanism(written, schema) {
  const kind = KINDS.find((each) => each.kind === Object(written).kind);
  if (kind === undefined) {
    const kinds = KINDS.map(({ kind }) => kind).join(", ");
    throw new SurveyError(`mechanism: expected one of: ${kinds}`, "mechanism");
  }
  return new Mechanism(schema, kind.read(membersOf(written, ["kind", ...kind.members], "mechanism"), schema));
}
