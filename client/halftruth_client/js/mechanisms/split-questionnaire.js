/**
 * Split questionnaire: each report is about a few questions, drawn before they are answered. It is one
 * symbol, γ times as likely for some combinations of answers as for the others.
 */

import { SurveyError } from "../errors.js";
import { readGamma } from "./parameters.js";
import { isPrime } from "./projective.js";
import { SetOfOptions } from "./set.js";
import { Subset } from "./subset.js";
import { expand, isWithin, positionsOf, readClasses } from "./views.js";

const MOST_PRIME = 65_521;
const MOST_DIRECT = 2 ** 20;
const MOST_PAIRS = 512;

/** @type {import("./index.js").Kind} */
export const splitQuestionnaire = {
  kind: "split-questionnaire",
  members: ["gamma", "prime", "direct", "pairs", "views", "public", "tables"],
  read(parameters, schema) {
    const gamma = readGamma(parameters.gamma);
    const [prime, direct] = [Number(parameters.prime), Number(parameters.direct)];
    if (!isWithin(parameters.prime, 2, MOST_PRIME) || !isPrime(prime)) {
      throw new SurveyError(`prime: expected a prime up to ${MOST_PRIME}`, "prime");
    }
    if (!isWithin(parameters.direct, 2, MOST_DIRECT)) {
      throw new SurveyError(`direct: expected an integer from 2 to ${MOST_DIRECT}`, "direct");
    }
    const { public: written = [], pairs } = parameters;
    if (pairs !== undefined && !isWithin(pairs, direct + 1, MOST_PAIRS)) {
      throw new SurveyError(`pairs: expected an integer from ${direct + 1} to ${MOST_PAIRS}`, "pairs");
    }
    const none = Array.isArray(written) && written.length === 0;
    const unperturbed = none ? [] : positionsOf(written, schema, "public");
    const protect = unperturbed.map((j) => schema.attributes[j]).find(({ sensitive, groups }) => sensitive || groups);
    if (protect !== undefined) {
      throw new SurveyError(`public: '${protect.name}': expected sensitive = false, and no collapsed`, "public");
    }
    const open = schema.sets.find(({ positions }) => positions.some((j) => unperturbed.includes(j)));
    if (open !== undefined) throw new SurveyError(`public: options of '${open.name}': expected no at_most`, "public");
    const classes = readClasses(parameters.views, schema, unperturbed);
    const views = expand(schema, classes, (cells, asSet) => {
      if (asSet === undefined) return new Subset(gamma, cells, prime, direct, Number(pairs ?? 0));
      const { set, pairs: isOfPairs } = asSet;
      const missing = schema.attributes[set.positions[0]].missing.length;
      return new SetOfOptions(gamma, set.positions.length, set.atMost, missing, cells, isOfPairs);
    });
    checkPairs(views);
    return { unperturbed, views };
  },
};

/** Check that there is a view of options for each view of pairs of options.
 * @param {readonly import("./base.js").View[]} views */
function checkPairs(views) {
  const isOf = (/** @type {import("./base.js").View} */ { response }, /** @type {boolean} */ pairs) =>
    /** @type {unknown} */ (response) instanceof SetOfOptions && response.pairs === pairs;
  const alone = views.filter((view) => isOf(view, false));
  for (const view of views.filter((view) => isOf(view, true))) {
    if (!alone.some(({ positions }) => view.positions.every((j) => positions.includes(j)))) {
      throw new SurveyError("views: expected a view of the options themselves for each of pairs of options", "views");
    }
  }
}
