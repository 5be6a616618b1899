// Prints how often each view of a survey follows from some tickets: node ticket_views.mjs FILE COUNT.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { Survey } from "../../client/halftruth_client/js/index.js";
import { viewOf } from "../../client/halftruth_client/js/tickets.js";

const [file, count] = process.argv.slice(2);
const survey = new Survey(JSON.parse(readFileSync(file, "utf-8")));
const digest = await survey.digest();
const views = survey.mechanism.views.map(() => 0);
for (let number = 0; number < Number(count); number += 1) {
  const bytes = createHash("sha384").update(`ticket ${number}`).digest("hex");
  views[await viewOf(survey, digest, { id: bytes.slice(0, 32), secret: bytes.slice(32) })] += 1;
}
console.log(JSON.stringify(views));
