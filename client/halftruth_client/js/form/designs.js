/** Sentences about named designs, for respondents. */

import { ONE } from "../rational.js";

/** @typedef {import("./wording.js").Wording} Wording */

/**
 * Sentences about some questions' designs, each with the labels of the questions that have it.
 *
 * @param {ReadonlyMap<string, import("../mechanisms/designs.js").Design>} designs By attribute.
 * @param {import("./wording.js").Attributes} attributes
 * @param {Wording} words
 * @returns {string[]}
 */
export function designsInWords(designs, attributes, words) {
  /** @type {Map<string, string[]>} */
  const told = new Map();
  for (const [name, design] of designs) {
    const attribute = /** @type {import("../attribute.js").Attribute} */ (attributes.get(name));
    const said = inWords(design, attribute, words);
    const label = words.say("quoted", { text: words.label(attribute) });
    told.set(said, [...(told.get(said) ?? []), label]);
  }
  return [...told].map(([said, labels]) =>
    words.say("designFor", { questions: labels.join(", "), said }),
  );
}

/**
 * With both answers and the design's chances; `not_p` is the chance of the opposite.
 *
 * @param {import("../mechanisms/designs.js").Design} design
 * @param {import("../attribute.js").Attribute} attribute
 * @param {Wording} words
 */
function inWords({ name, yes, no, chances }, attribute, words) {
  /** @param {import("../rational.js").Rational} chance */
  const said = ({ numerator, denominator }) => {
    const [some, all] = [String(numerator), String(denominator)];
    return words.say("chanceOf", { some, all, count: Number(numerator) });
  };
  /** @type {Record<string, string>} */
  const put = { Yes: words.answer(attribute, yes), No: words.answer(attribute, no) };
  for (const [parameter, chance] of Object.entries(chances)) {
    put[parameter] = said(chance);
    put[`not_${parameter}`] = said(ONE.minus(chance));
  }
  return words.say(/** @type {"design-warner"} */ (`design-${name}`), put);
}
