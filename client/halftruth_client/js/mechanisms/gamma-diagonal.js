/** The gamma-diagonal matrix, DET-GD (FRAPP §3): the true record γ times as likely as any other. */

import { Mixture } from "./mixture.js";
import { readGamma } from "./parameters.js";

/** @type {import("./index.js").Kind} */
export const gammaDiagonal = {
  kind: "gamma-diagonal",
  members: ["gamma"],
  read({ gamma }, schema) {
    const { numerator, denominator } = readGamma(gamma);
    return { response: new Mixture(schema.shape, { same: numerator, other: denominator }) };
  },
};
