// Counts all outcomes of all draws for some records of surveys: one line of JSON in, one line out.

import { readFileSync } from "node:fs";

import { Survey } from "../../client/halftruth_client/js/index.js";

/** Numbers of outcomes by report, for each view. */
function outcomes(mechanism, codes) {
  return mechanism.views.map((_, view) => {
    const counts = {};
    let bound = 1n;
    for (let drawn = 0n; drawn < bound; drawn += 1n) {
      const report = mechanism.perturb(codes, (below) => ((bound = below), drawn), view);
      counts[report] = (counts[report] ?? 0) + 1;
    }
    return counts;
  });
}

const lines = readFileSync(0, "utf-8").split("\n").filter(Boolean);
for (const line of lines) {
  const { survey: written, records } = JSON.parse(line);
  const { schema, mechanism } = new Survey(written);
  console.log(JSON.stringify(records.map((record) => outcomes(mechanism, schema.encode(record)))));
}
