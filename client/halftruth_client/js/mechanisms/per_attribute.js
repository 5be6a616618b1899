/** Mechanisms that perturb attributes independently. */

import { membersOf } from "../documents.js";
import { SurveyError } from "../errors.js";
import { ONE } from "../rational.js";
import { least, most, RecordMechanism } from "./base.js";

/**
 * Read exactly one parameter for each attribute.
 *
 * @template T
 * @param {unknown} written
 * @param {string} field
 * @param {import("../schema.js").Schema} schema
 * @param {(value: unknown, field: string, size: bigint, attribute: import("../attribute.js").Attribute) => T} read
 * @returns {T[]}
 */
export function byAttribute(written, field, schema, read) {
  const parameters = membersOf(written, schema.names, field);
  const missing = schema.names.find((name) => !Object.hasOwn(parameters, name));
  if (missing !== undefined) {
    throw new SurveyError(`${field}: '${missing}': expected one entry for each attribute`, field);
  }
  return schema.attributes.map((attribute, j) =>
    read(parameters[attribute.name], `${field}.${attribute.name}`, schema.shape[j], attribute),
  );
}

/** Base class of mechanisms that perturb attributes independently. */
export class AttributeMechanism extends RecordMechanism {
  /** Amplification of one attribute; null if a report can rule an answer out.
   * @type {(j: number) => import("../rational.js").Rational | null} */
  amplificationOf(j) {
    throw new TypeError(`attribute ${j}: expected a mechanism that says its amplification`);
  }

  /** Probability of a reported code, given the true code of an attribute.
   * @type {(j: number, reported: number, code: number) => import("../rational.js").Rational} */
  chance(j, reported, code) {
    throw new TypeError(`attribute ${j}: expected a mechanism that says ${reported} of ${code}`);
  }

  /** @type {import("./base.js").Mechanism["likelihoods"]} */
  likelihoods(values, codes, known = new Set()) {
    const rows = this.#perturbed().map((j) => {
      const { name, categories } = this.schema.attributes[j];
      const row = Array.from(categories, (_, u) => this.chance(j, values[j], u));
      return { own: row[codes[j]], rest: known.has(name) ? [] : row.filter((_, u) => u !== codes[j]) };
    });
    const own = product(rows.map((row) => row.own));
    if (rows.every(({ rest }) => rest.length === 0)) return { own, others: null };
    const extreme = (/** @type {typeof least} */ pick) => {
      const best = rows.map((row) => pick([row.own, ...row.rest]));
      // At least one answer must differ.
      const differing = rows.flatMap(({ rest }, j) => {
        return rest.length > 0 ? [product(best.map((share, i) => (i === j ? pick(rest) : share)))] : [];
      });
      return pick(differing);
    };
    return { own, others: { least: extreme(least), most: extreme(most) } };
  }

  /** @type {RecordMechanism["chanceOfOthers"]} */
  chanceOfOthers(j, code) {
    const chances = this.schema.attributes[j].categories.map((_, u) => this.chance(j, code, u));
    const others = chances.filter((_, u) => u !== code);
    const greatest = most(others);
    return greatest.sign() > 0 ? { least: least(others), most: greatest } : null;
  }

  /** @type {import("./base.js").Mechanism["fit"]} */
  fit() {
    const kept = this.#perturbed().map((j) =>
      this.schema.attributes[j].categories.map((_, code) => this.chance(j, code, code)),
    );
    return { least: product(kept.map(least)), most: product(kept.map(most)) };
  }

  /** Demonstration with the first perturbed attribute.
   * @type {import("./base.js").Mechanism["practice"]} */
  practice() {
    const [j, ...more] = this.#perturbed();
    if (j === undefined) return null;
    const recordOf = (/** @type {number} */ code) => this.schema.names.map((_, i) => (i === j ? code : 0));
    return {
      size: this.schema.attributes[j].categories.length,
      draw: (code, below) => this.perturb(recordOf(code), below)[j],
      fits: (code, sent) => code === sent,
      chance: (code) => this.chance(j, code, code),
      isOne: more.length > 0,
    };
  }

  /** @type {import("./base.js").Mechanism["perturb"]} */
  perturb(codes) {
    throw new TypeError(`record ${codes}: expected a mechanism that perturbs it`);
  }

  /** Positions of the perturbed attributes. */
  #perturbed() {
    return this.schema.attributes.flatMap(({ categories }, j) =>
      categories.every((_, code) => this.chance(j, code, code).compare(ONE) === 0) ? [] : [j],
    );
  }

  /** @param {ReadonlySet<string>} known */
  amplification(known) {
    const hidden = this.schema.names.map((_, j) => j).filter((j) => !known.has(this.schema.names[j]));
    return hidden.map((j) => this.amplificationOf(j)).reduce(
      (all, factor) => (all === null || factor === null ? null : all.times(factor)),
      /** @type {import("../rational.js").Rational | null} */ (ONE),
    );
  }
}

/** @param {readonly import("../rational.js").Rational[]} factors */
function product(factors) {
  return factors.reduce((all, factor) => all.times(factor), ONE);
}
