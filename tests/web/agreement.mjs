// Prints the JavaScript client's results for surveys: one line of JSON in, one line out.

import { readFileSync } from "node:fs";

import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { HalftruthError, Survey } from "../../client/halftruth_client/js/index.js";
import { entryOf } from "../../client/halftruth_client/js/ledger.js";
import { protection } from "../../client/halftruth_client/js/protection.js";
import { loadRelayFigures } from "../../client/halftruth_client/js/session.js";

async function made({ survey: written, unprotected = [], record, draws = [] }) {
  try {
    const survey = new Survey(written);
    const promise = protection(survey, new Set(unprotected));
    const left = draws.map(BigInt);
    const digest = await survey.digest();
    const report = record && survey.perturb(record, (below) => (left.shift() ?? 0n) % below);
    return {
      digest,
      sentences: new Wording("en").promises(promise, survey.schema, await loadRelayFigures(survey)),
      report,
      cost: report && entryOf(survey, digest, report),
    };
  } catch (error) {
    if (!(error instanceof HalftruthError)) throw error;
    return { refused: error.message };
  }
}

const lines = readFileSync(0, "utf-8").split("\n").filter(Boolean);
for (const line of lines) console.log(JSON.stringify(await made(JSON.parse(line))));
