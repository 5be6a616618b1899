/** Responses whose reports are γ times as likely for some answers as for all others. */

import { ONE, Rational } from "../rational.js";
import { least, most } from "./base.js";

export class Likelier {
  /** @param {Rational} gamma
   * @param {bigint} own Number of reports that are likelier for an answer.
   * @param {bigint} others Number of all other reports. */
  constructor(gamma, own, others) {
    this.gamma = gamma;
    const weight = gamma.times(new Rational(own));
    /** Probability of each report that is not likelier. */
    this.chance = ONE.over(weight.plus(new Rational(others)));
    /** Probability of all that are likelier. */
    this.kept = weight.times(this.chance);
  }

  amplification() {
    return this.gamma;
  }

  fit() {
    return { least: this.kept, most: this.kept };
  }

  /** Likelihoods of a report, given whether it is likelier for the answers, and for any other answers.
   * @type {(fits: boolean, others: readonly boolean[]) => import("./base.js").Likelihoods} */
  twoLikelihoods(fits, others) {
    const of = (/** @type {boolean} */ isLikelier) => (isLikelier ? this.gamma.times(this.chance) : this.chance);
    const chances = others.map(of);
    return { own: of(fits), others: chances.length > 0 ? { least: least(chances), most: most(chances) } : null };
  }
}
