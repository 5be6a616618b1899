/** Attributes, schemas, and records as category codes. */

import { RecordError, SurveyError } from "./errors.js";

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const MEMBERS = new Set(["name", "categories", "items", "sensitive", "label", "help", "page"]);

/**
 * One categorical question.
 *
 * @typedef {object} Attribute
 * @property {string} name
 * @property {string[]} categories The possible answers; an answer's code is its position.
 * @property {string[]} [items] The categories that count in itemsets.
 * @property {boolean} [sensitive]
 * @property {string} [label]
 * @property {string} [help]
 * @property {string} [page]
 *   Title of the page that it is asked on, beside its neighbours of that title.
 */

/** The attributes of a record, in order. */
export class Schema {
  /** @param {unknown} attributes As a published survey has them. */
  constructor(attributes) {
    if (!Array.isArray(attributes) || attributes.length === 0) {
      throw new SurveyError("attributes: expected one attribute or more", "attributes");
    }
    /** @type {readonly Attribute[]} */
    this.attributes = attributes.map(readAttribute);
    this.names = this.attributes.map((attribute) => attribute.name);
    this.shape = this.attributes.map((attribute) => BigInt(attribute.categories.length));
    if (new Set(this.names).size < this.names.length) {
      throw new SurveyError("attributes: expected different names", "attributes");
    }
    /** Number of different records. */
    this.size = this.shape.reduce((product, size) => product * size, 1n);
  }

  /**
   * Codes of a record.
   *
   * @param {Readonly<Record<string, string>>} record One answer for each attribute.
   * @param {readonly string[]} [asked] Those that have to be answered; by default all.
   * @returns {number[]} NaN where there is no answer, so that nothing can be made of it.
   * @throws {RecordError} That names the attribute and never the answer.
   */
  encode(record, asked = this.names) {
    const known = new Set(this.names);
    const unknown = Object.keys(record).filter((key) => !known.has(key)).length;
    if (unknown > 0) {
      // An unknown key may be an answer in the wrong place.
      throw new RecordError(
        `record: ${unknown} unknown attribute(s); expected only: ${this.names.join(", ")}`,
      );
    }
    return this.attributes.map(({ name, categories }) => {
      if (!Object.hasOwn(record, name)) {
        if (asked.includes(name)) throw new RecordError(`'${name}': missing`, name);
        return Number.NaN;
      }
      const code = categories.indexOf(record[name]);
      if (code < 0) {
        throw new RecordError(`'${name}': expected one of: ${categories.join(", ")}`, name);
      }
      return code;
    });
  }
}

/**
 * @param {unknown} written
 * @returns {Attribute}
 */
function readAttribute(written) {
  const attribute = /** @type {Partial<Attribute> | null} */ (written);
  if (typeof attribute !== "object" || attribute === null) {
    throw new SurveyError("attributes: expected objects", "attributes");
  }
  for (const member of Object.keys(attribute)) {
    if (!MEMBERS.has(member)) {
      throw new SurveyError(`attributes: unknown member '${member}'`, member);
    }
  }
  const { name, categories } = attribute;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new SurveyError("name: expected letters, digits, '_', '.' and '-'", "name");
  }
  const several = isTexts(categories) && categories.length > 1;
  if (!several || new Set(categories).size < categories.length) {
    throw new SurveyError(`'${name}': expected two or more different categories`, name);
  }
  const { items, sensitive = true, label = "", help = "", page = "" } = attribute;
  const shown = [label, help, page].every((text) => typeof text === "string");
  const counted = items == null || (isTexts(items) && items.every((i) => categories.includes(i)));
  if (!shown || !counted || typeof sensitive !== "boolean") {
    throw new SurveyError(
      `'${name}': expected label, help and page as text, items among the categories, and` +
        " sensitive true or false",
      name,
    );
  }
  return Object.freeze({ ...attribute, name, categories });
}

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
function isTexts(value) {
  return Array.isArray(value) && value.every((text) => typeof text === "string" && text !== "");
}
