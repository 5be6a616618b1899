/**
 * Split questionnaire: each report is about a few questions, drawn before they are answered. It is one
 * symbol, γ times as likely for some combinations of answers as for the others.
 */

import { SurveyError } from "../errors.js";
import { readGamma } from "./parameters.js";
import { isPrime } from "./projective.js";
import { Subset } from "./subset.js";
import { expand, isWithin, positionsOf, readClasses } from "./views.js";

const MOST_PRIME = 65_521;
const MOST_DIRECT = 2 ** 20;

/** @type {import("./index.js").Kind} */
export const splitQuestionnaire = {
  kind: "split-questionnaire",
  members: ["gamma", "prime", "direct", "views", "public", "tables"],
  read(parameters, schema) {
    const gamma = readGamma(parameters.gamma);
    const [prime, direct] = [Number(parameters.prime), Number(parameters.direct)];
    if (!isWithin(parameters.prime, 2, MOST_PRIME) || !isPrime(prime)) {
      throw new SurveyError(`prime: expected a prime up to ${MOST_PRIME}`, "prime");
    }
    if (!isWithin(parameters.direct, 2, MOST_DIRECT)) {
      throw new SurveyError(`direct: expected an integer from 2 to ${MOST_DIRECT}`, "direct");
    }
    const { public: written = [] } = parameters;
    const none = Array.isArray(written) && written.length === 0;
    const unperturbed = none ? [] : positionsOf(written, schema, "public");
    const sensitive = unperturbed.find((j) => schema.attributes[j].sensitive !== false);
    if (sensitive !== undefined) {
      throw new SurveyError(
        `public: '${schema.names[sensitive]}' would be sent unperturbed; expected attributes with` +
          " sensitive = false",
        "public",
      );
    }
    const open = unperturbed.find((j) => schema.attributes[j].groups !== null);
    if (open !== undefined) {
      throw new SurveyError(`'${schema.names[open]}': collapsed: expected without public`, schema.names[open]);
    }
    const classes = readClasses(parameters.views, schema, unperturbed);
    return { unperturbed, views: expand(schema, classes, (cells) => new Subset(gamma, cells, prime, direct)) };
  },
};
