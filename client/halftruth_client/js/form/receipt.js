/** A report in words, for the person whose it is. */

import { isCounted } from "../memory.js";

/** Combinations of answers that are shown at most. */
const EXAMPLES = 3;

/**
 * A line of a value for each thing that the report holds, once the collector has it; null before.
 *
 * What someone could still keep from being sent is not shown, lest people choose their draws.
 *
 * @param {import("../survey.js").Survey} survey
 * @param {import("../memory.js").Remembered | null} report
 * @param {import("./wording.js").Wording} words
 * @returns {import("./views.js").Line[] | null}
 */
export function receipt({ schema: { attributes }, mechanism }, report, words) {
  if (report === null || !isCounted(report)) return null;
  const answers = attributes.map((attribute) => words.answers(attribute));
  const labelOf = (/** @type {number} */ j) => words.label(attributes[j]);
  const { codes, symbol } = mechanism.contents(report.values, EXAMPLES + 1);
  const lines = codes.map(([j, code]) => ({ label: labelOf(j), value: answers[j][code] }));
  if (symbol === undefined) return lines;
  const { code, gamma, positions, likelier } = symbol;
  // Options of one question are one, as on the first page.
  const count = (/** @type {readonly number[]} */ places) =>
    new Set(places.map((j) => attributes[j].question ?? attributes[j])).size;
  const apart = new Set(codes.map(([j]) => j));
  const some = count(positions);
  const all = count(attributes.map((_, j) => j).filter((j) => !apart.has(j)));
  lines.push(
    {
      label: some < all ? words.say("picked", { some, all }) : words.say("reportedOn"),
      value: positions.map(labelOf).join("\n"),
    },
    { label: words.say("code"), value: String(code) },
  );
  if (likelier.length > 0) {
    const key = likelier.length > EXAMPLES ? "likelierSome" : "likelier";
    const times = words.point(String(Number(gamma.toNumber().toPrecision(3))));
    const shown = likelier
      .slice(0, EXAMPLES)
      .map((cell) => cell.map((own, i) => answers[positions[i]][own]).join(", "));
    lines.push({
      label: words.say(key, { gamma: times, count: likelier.length }),
      value: shown.join("\n"),
    });
  }
  return lines;
}
