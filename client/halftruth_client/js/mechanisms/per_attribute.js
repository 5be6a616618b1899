/** Mechanisms that perturb each attribute by itself. */

import { SurveyError } from "../errors.js";
import { membersOf } from "../members.js";
import { ONE } from "../rational.js";
import { largest, RecordMechanism } from "./base.js";

/**
 * Read one parameter for each attribute, and no other.
 *
 * @template T
 * @param {unknown} written
 * @param {string} field
 * @param {import("../schema.js").Schema} schema
 * @param {(value: unknown, field: string, size: bigint,
 *   attribute: import("../attribute.js").Attribute) => T} read
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

/** A mechanism that perturbs each attribute by itself. */
export class AttributeMechanism extends RecordMechanism {
  /**
   * Amplification of one attribute; null where a report can rule an answer out.
   *
   * @param {number} j
   * @returns {import("../rational.js").Rational | null}
   */
  amplificationOf(j) {
    throw new TypeError(`attribute ${j}: expected a mechanism that says its amplification`);
  }

  /** @param {ReadonlySet<string>} known */
  amplification(known) {
    return this.hidden(known).reduce(
      (all, factor) => (all === null || factor === null ? null : all.times(factor)),
      /** @type {import("../rational.js").Rational | null} */ (ONE),
    );
  }

  /**
   * That of the attribute times those of all that change with the answer: for who knows the others
   * those asked after it, for who knows none all that conditions connect with it.
   *
   * @type {import("./base.js").Mechanism["answerAmplification"]}
   */
  answerAmplification(known) {
    const { schema } = this;
    const hidden = schema.names.filter((name) => !known.has(name));
    const most = (/** @type {boolean} */ all) =>
      largest(
        hidden.map((name) => {
          const group = schema.related(name, known, all);
          return this.amplification(new Set(schema.names.filter((other) => !group.has(other))));
        }),
      );
    return { known: most(false), unknown: most(true) };
  }

  /** @param {ReadonlySet<string>} known */
  hidden(known) {
    const { names } = this.schema;
    return names.flatMap((name, j) => (known.has(name) ? [] : [this.amplificationOf(j)]));
  }
}
