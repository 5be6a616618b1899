/** The form's words in a language: texts with what is put into them, numbers, moments, promises. */

import { designsInWords } from "./designs.js";
import { WORDS } from "./words.js";

const GAP = "\u202f";

/** @typedef {keyof typeof WORDS.en} Key */

/** What the form says in one language, English where there is none. */
export class Wording {
  /** @param {string} [language] Its tag. */
  constructor(language = "en") {
    this.language = language in WORDS ? language : "en";
    this.words = WORDS[this.language];
    this.plural = new Intl.PluralRules(this.language);
    this.decimal = new Intl.NumberFormat(this.language, { maximumFractionDigits: 1 });
  }

  /**
   * A text with values in the places of their names.
   *
   * @param {Key} key
   * @param {Readonly<Record<string, string | number>>} [values] Numbers are written as people do.
   * @returns {string}
   */
  say(key, values = {}) {
    const written = this.words[key];
    const text =
      typeof written === "string"
        ? written
        : (Object(written)[this.plural.select(Number(values.count))] ?? Object(written).other);
    return text.replace(/\{(\w+)\}/g, (/** @type {string} */ all, /** @type {string} */ name) => {
      const value = values[name];
      if (value === undefined) return all;
      return typeof value === "number" ? this.decimal.format(value) : value;
    });
  }

  /**
   * Several texts of one kind.
   *
   * @param {Key} key
   * @returns {readonly string[]}
   */
  list(key) {
    return /** @type {readonly string[]} */ (this.words[key]);
  }

  /** @param {number} tenths Of a percent. */
  percent(tenths) {
    return `${this.decimal.format(tenths / 10)}${GAP}%`;
  }

  /**
   * A moment on the clock of this device.
   *
   * @param {string} moment As JSON has it.
   */
  moment(moment) {
    const style = /** @type {const} */ ({ dateStyle: "long", timeStyle: "short" });
    return new Intl.DateTimeFormat(this.language, style).format(new Date(moment));
  }

  /**
   * What a survey promises, a sentence each.
   *
   * @param {import("../protection.js").Protection} protection
   * @param {ReadonlyMap<string, string>} labels By attribute.
   */
  promises({ prior, designs, bare, provable, hidden, whole, single }, labels) {
    const said = designsInWords(designs, labels);
    if (bare.length > 0) said.push(this.bare(bare, labels));
    for (const { name, answer, other, bound } of provable) {
      const values = { answer, other, bound: this.bound(prior, bound) };
      said.push(this.say("provable", { label: labels.get(name) ?? name, ...values }));
    }
    if (hidden === 0) return said;
    if (whole === null) return [...said, this.say("unbounded")];
    const values = { ...this.figures(prior, whole), epsilon: this.point(String(whole.epsilon)) };
    said.push(this.say(bare.length + provable.length > 0 ? "others" : "whole", values));
    if (hidden > 1) {
      const [known, unknown] = [this.bound(prior, single.known), this.bound(prior, single.unknown)];
      said.push(
        known === unknown
          ? this.say("single", { bound: known })
          : this.say("singleOfBoth", { known, unknown }),
      );
    }
    return said;
  }

  /**
   * What is sent as it is.
   *
   * @param {readonly {name: string}[]} attributes
   * @param {ReadonlyMap<string, string>} labels
   */
  bare(attributes, labels) {
    const shown = attributes.map(({ name }) => labels.get(name)).join(", ");
    // A label may be a question.
    return this.say("bare", { labels: shown }).replace("?.", "?");
  }

  /**
   * @param {number} prior
   * @param {import("../protection.js").Bound | null} bound
   */
  bound(prior, bound) {
    return bound === null ? this.say("boundless") : this.say("bound", this.figures(prior, bound));
  }

  /**
   * @param {number} prior
   * @param {import("../protection.js").Bound} bound
   */
  figures(prior, { gamma, posterior }) {
    return {
      prior: this.percent(prior),
      posterior: this.percent(posterior),
      gamma: this.point(gamma),
    };
  }

  /**
   * A number that was written with a point, with what the language has in its place.
   *
   * @param {string} number
   */
  point(number) {
    const parts = this.decimal.formatToParts(0.5);
    return number.replace(".", parts.find(({ type }) => type === "decimal")?.value ?? ".");
  }
}
