/**
 * A practice round: a survey's own mechanism on one harmless question, with nothing of the survey's
 * answers and nothing that is kept.
 */

import { HalftruthError } from "./errors.js";
import { randomBelow } from "./sampling.js";
import { Schema } from "./schema.js";

/** Numbers of answers that a harmless question may have, the liveliest first. */
const SIZES = [6, 8, 7, 5, 4, 3, 2];

/**
 * @typedef {object} Practice
 * @property {number} size How many answers the question has.
 * @property {(code: number) => number} draw What would be sent for an answer.
 */

/**
 * The mechanism of a survey, as strong as it is there, for a question with a few answers.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {import("./sampling.js").RandomBelow} [below]
 * @returns {Practice | null} Null where the mechanism cannot be shown by one question.
 */
export function practiceOf({ mechanism }, below = randomBelow()) {
  for (const size of SIZES) {
    const categories = Array.from({ length: size }, (_, code) => String(code));
    const small = smaller(mechanism, new Schema([{ name: "practice", categories }]));
    const [column, ...others] = small?.reportSpace.shape ?? [];
    if (small !== null && column === BigInt(size) && others.length === 0) {
      return { size, draw: (code) => small.perturb([code], below)[0] };
    }
  }
  return null;
}

/**
 * @param {import("./mechanisms/base.js").Mechanism} mechanism
 * @param {Schema} schema
 */
function smaller(mechanism, schema) {
  try {
    return mechanism.practice?.(schema) ?? null;
  } catch (error) {
    // Of extreme parameters there is none so small; nobody has to practise.
    if (error instanceof HalftruthError) return null;
    throw error;
  }
}
