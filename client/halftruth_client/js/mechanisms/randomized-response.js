/** Randomized response for each attribute (Warner): keep the answer, or report another one. */

import { SurveyError } from "../errors.js";
import { gcd, ONE, Rational } from "../rational.js";
import { Columns, Kept } from "./columns.js";
import { byAttribute } from "./parameters.js";

/** @type {import("./index.js").Kind} */
export const randomizedResponse = {
  kind: "randomized-response",
  members: ["keep"],
  read({ keep }, schema) {
    const columns = byAttribute(keep, "keep", schema, (written, field, size) => {
      const p = Rational.parse(written, field);
      if (p.compare(new Rational(1n, size)) <= 0 || p.compare(ONE) > 0) {
        throw new SurveyError(`${field}: expected a probability above 1/${size} and at most 1`, field);
      }
      const [same, other] = [p.numerator * (size - 1n), p.denominator - p.numerator];
      const common = gcd(same, other);
      return new Kept(Number(size), same / common, other / common);
    });
    return { response: new Columns(columns, true) };
  },
};
