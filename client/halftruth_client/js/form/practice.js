/**
 * A practice round: what a survey's mechanism does to one harmless question, with nothing of the
 * survey's answers and nothing that is kept.
 */

import { DistortionMatrices } from "../mechanisms/distortion-matrices.js";
import { randomBelow } from "../sampling.js";
import { Schema } from "../schema.js";

/** Numbers of answers that a harmless question may have, the liveliest first. */
const SIZES = [6, 8, 7, 5, 4, 3, 2];

/**
 * @typedef {object} Practice
 * @property {number} size How many answers the question has.
 * @property {(code: number) => number} draw What would be sent for an answer.
 */

/**
 * The channel of a survey, as strong as it is there, for a question with a few answers.
 *
 * @param {import("../survey.js").Survey} survey
 * @param {import("../sampling.js").RandomBelow} [below]
 * @returns {Practice | null} Null where the mechanism cannot be shown by one question.
 */
export function practiceOf({ mechanism }, below = randomBelow()) {
  for (const size of SIZES) {
    const channel = mechanism.single(size);
    if (channel) {
      const categories = channel.map((_, code) => String(code));
      const matrices = { practice: channel.map((row) => row.map(String)) };
      const schema = new Schema([{ name: "practice", categories }]);
      const small = new DistortionMatrices({ matrices }, schema);
      return { size, draw: (code) => small.perturb([code], below)[0] };
    }
  }
  return null;
}
