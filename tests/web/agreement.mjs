// Prints the JavaScript client's results for surveys: one line of JSON in, one line out.

import { readFileSync } from "node:fs";

import { outlook } from "../../client/halftruth_client/js/form/opening.js";
import { receipt } from "../../client/halftruth_client/js/form/receipt.js";
import { Wording } from "../../client/halftruth_client/js/form/wording.js";
import { HalftruthError, Survey } from "../../client/halftruth_client/js/index.js";
import { entryOf } from "../../client/halftruth_client/js/ledger.js";
import { protection, spentAmplification } from "../../client/halftruth_client/js/protection.js";
import { loadRelayFigures } from "../../client/halftruth_client/js/session.js";

async function made({ survey: written, unprotected = [], record, draws = [], reports = [] }) {
  try {
    const survey = new Survey(written);
    const promise = protection(survey, new Set(unprotected));
    const left = draws.map(BigInt);
    const digest = await survey.digest();
    const relay = await loadRelayFigures(survey);
    const words = new Wording("en");
    const learnt = (values) => receipt(survey, { values, sent: true }, words, { relay }).at(-1).value;
    const report = record && survey.perturb(record, (below) => (left.shift() ?? 0n) % below);
    return {
      digest,
      sentences: words.promises(promise, survey.schema, relay),
      spent: String(spentAmplification(survey)),
      suppose: words.suppose(promise, survey.schema),
      outlook: outlook(promise, words, relay),
      learnt: reports.map(learnt),
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
