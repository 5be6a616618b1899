/** The form's words in a language: texts with what is put into them, numbers, moments, promises. */

import { NO_ANSWER, NOT_ASKED } from "../attribute.js";
import { inLanguage } from "../documents.js";
import { ONE } from "../rational.js";
import { ENGLISH } from "./words.js";

const GAP = "\u202f";

/** People of whom frequencies are told at most. */
const MOST_PEOPLE = 10n ** 9n;

const RIGHT_TO_LEFT = /^(ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)(?!.*-latn)(-|$)|-(arab|hebr|thaa)(-|$)/i;

/** @param {string} language */
export function directionOf(language) {
  return RIGHT_TO_LEFT.test(language) ? "rtl" : "ltr";
}

/**
 * @import { Attribute } from "../attribute.js"
 * @import { Design } from "../mechanisms/designs.js"
 * @import { Rational } from "../rational.js"
 * @import { Schema } from "../schema.js"
 * @import { Bound, Protection } from "../protection.js"
 * @import { RelayFigures } from "../shuffling.js"
 * @typedef {import("./words.js").Key} Key
 * @typedef {ReadonlyMap<string, Attribute>} Attributes By name.
 */

/** Words of the form around the texts of a survey in their language. */
export class Wording {
  /** @param {string} [language] Of the survey's texts; empty where it is not known.
   * @param {string} [locale] Of the words.
   * @param {import("./words.js").Vocabulary} [words] */
  constructor(language = "en", locale = "en", words = ENGLISH) {
    this.language = language;
    this.locale = locale;
    this.words = words;
    this.plural = new Intl.PluralRules(locale);
    this.decimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
    const style = /** @type {const} */ ({ style: "percent", maximumFractionDigits: 1 });
    this.percentage = new Intl.NumberFormat(locale, style);
    this.direction = directionOf(language);
    /** True if the survey's texts are in another language than the words around them. */
    this.isForeign = language !== "" && language.split("-")[0] !== locale.split("-")[0];
  }

  /** A text with values in the places of their names.
   * @type {(key: Key, values?: Readonly<Record<string, string | number>>) => string} */
  say(key, values = {}) {
    return this.text(key, values.count).replace(/\{(\w+)\}/g, (all, /** @type {string} */ name) => {
      const value = values[name];
      if (value === undefined) return all;
      if (typeof value === "number") return this.decimal.format(value);
      // Each keeps its own direction.
      return this.isForeign ? `\u2068${value}\u2069` : value;
    });
  }

  /** Text with its placeholders.
   * @type {(key: Key, count?: string | number) => string} */
  text(key, count) {
    const text = this.words[key];
    if (typeof text === "string") return text;
    const forms = /** @type {Readonly<Record<string, string>>} */ (text);
    return forms[this.plural.select(Number(count))] ?? forms.other;
  }

  /** Several texts of one kind.
   * @type {(key: Key) => readonly string[]} */
  list(key) {
    return /** @type {readonly string[]} */ (this.words[key]);
  }

  /** A number that was written with a point, with what the language has in its place.
   * @param {string} number */
  point(number) {
    const parts = this.decimal.formatToParts(0.5);
    return number.replace(".", parts.find(({ type }) => type === "decimal")?.value ?? ".");
  }

  /** @param {Attribute} attribute */
  label(attribute) {
    return attribute.labelIn(this.language);
  }

  /** The categories of an attribute, in order; those that a survey has not named itself in our words.
   * @param {Attribute} attribute */
  answers(attribute) {
    return attribute.categories.map((category, code) => {
      const text = attribute.answers.get(category);
      return text ? inLanguage(text, this.language) : this.implied(attribute, category, code);
    });
  }

  /** @type {(attribute: Attribute, category: string) => string} */
  answer(attribute, category) {
    return this.answers(attribute)[attribute.categories.indexOf(category)];
  }

  /** @type {(attribute: Attribute, category: string, code: number) => string} */
  implied({ optional, askIf, question, number }, category, code) {
    if (optional && category === NO_ANSWER) return this.say("noAnswer");
    if (askIf.size > 0 && category === NOT_ASKED) return this.say("wasNotAsked");
    if (question && (category === "yes" || category === "no")) return this.say(category);
    const ends = number?.ends(code);
    if (!ends) return category;
    const [low, high] = [this.point(ends.low), this.point(ends.high)];
    return low === high ? low : this.say(ends.isOpen ? "fromUnder" : "fromTo", { low, high });
  }

  /** Shares of people in natural frequencies: of a hundred, or of as many more as make the smallest of
   * them one.
   * @param {readonly Rational[]} shares */
  frequencies(shares) {
    const parts = shares.filter((share) => share.sign() > 0 && share.compare(ONE) < 0);
    const smallest = parts.flatMap((share) => [share, ONE.minus(share)]);
    let base = 100n;
    const isFew = (/** @type {Rational} */ { numerator, denominator }) =>
      numerator * base < denominator;
    while (base < MOST_PEOPLE && smallest.some(isFew)) base *= 10n;
    const figures = shares.map((share) => {
      if (share.sign() === 0) return this.say("noneOf");
      if (share.compare(ONE) === 0) return this.say("allOf");
      if (isFew(share)) return this.say("fewerThan", { count: 1 });
      if (isFew(ONE.minus(share))) return this.say("moreThan", { count: Number(base) - 1 });
      const { numerator, denominator } = share;
      const rounded = (2n * numerator * base + denominator) / (2n * denominator);
      return this.say("about", { count: Number(rounded) });
    });
    return { base: Number(base), figures };
  }

  /** Frequency between two shares, in words.
   * @type {(shares: import("../mechanisms/base.js").Fit) => string} */
  frequency({ least, most }) {
    const { base, figures } = this.frequencies([least, most]);
    return this.say("ofBase", { base, figure: this.between(figures) });
  }

  /** @param {readonly string[]} figures Of the least and the most. */
  between([least, most]) {
    return least === most ? least : this.say("range", { least, most });
  }

  /** @param {number} tenths Of a percent. */
  percent(tenths) {
    return this.percentage.format(tenths / 1_000).replace(/\s*%/, `${GAP}%`);
  }

  /** A moment on the clock of this device.
   * @type {(moment: string | number) => string} */
  moment(moment) {
    const style = /** @type {const} */ ({ dateStyle: "long", timeStyle: "short" });
    return new Intl.DateTimeFormat(this.locale, style).format(new Date(moment));
  }

  /** @type {(protection: Protection, schema: Schema, relay?: RelayFigures | null) => string[]} */
  promises(protection, schema, relay = null) {
    const { prior, designs, unperturbed, provable, hidden, whole, single, series, timed } = protection;
    const sentences = [...this.designs(designs, attributesOf(schema)), ...this.exceptions(protection, schema)];
    if (hidden === 0) return sentences;
    if (whole === null) return [...sentences, this.say("unbounded")];
    const whose = this.say(unperturbed.length + provable.length > 0 ? "others" : "whole");
    const epsilon = this.point(String(whole.epsilon));
    sentences.push(this.say("promise", { whose, epsilon, ...this.figures(prior, whole) }));
    if (single !== null) sentences.push(this.say("single", { bound: this.bound(prior, single) }));
    if (series) sentences.push(this.say("promiseSeries", { whose, bound: this.bound(prior, series.bound) }));
    if (relay) {
      const batch = String(relay.batch).replace(/\B(?=(\d{3})+$)/g, GAP);
      const values = { batch, together: relay.together, relayed: this.relayed(relay) };
      sentences.push(this.say(hidesMore(relay) ? "relayedThrough" : "relayTooSmall", values));
    }
    if (timed) sentences.push(this.say("timed"));
    return sentences;
  }

  /** Sentences about what is not protected: answers that are sent unperturbed, or can be proved.
   * @type {(protection: Protection, schema: Schema) => string[]} */
  exceptions({ prior, unperturbed, provable }, schema) {
    const attributes = attributesOf(schema);
    const proofs = provable.map(({ name, answer, other, bound }) => {
      const attribute = /** @type {Attribute} */ (attributes.get(name));
      const answers = { answer: this.answer(attribute, answer), other: this.answer(attribute, other) };
      const values = { label: this.label(attribute), ...answers, bound: this.bound(prior, bound) };
      return this.say("provable", values);
    });
    return unperturbed.length > 0 ? [this.unperturbed(unperturbed), ...proofs] : proofs;
  }

  /** @param {RelayFigures} figures */
  relayed({ apart, together }) {
    return this.say("relayed", { apart, together });
  }

  /** @param {import("../survey.js").Survey} survey What became of a report that was taken. */
  counted({ relay }) {
    return relay ? this.say("withRelay", { count: relay.batch - 1 }) : this.say("counted");
  }

  /** @param {import("../survey.js").Relay} relay Which way reports go. */
  relay({ url, batch, release }) {
    const key = release === "closing" ? "relayClosing" : "relayBatches";
    return this.say(key, { host: new URL(url).host, batch });
  }

  /** Sentences about designs, each with the labels of the questions that have it.
   * @type {(designs: ReadonlyMap<string, Design>, attributes: Attributes) => string[]} */
  designs(designs, attributes) {
    /** @type {Map<string, string[]>} */
    const labels = new Map();
    for (const [name, design] of designs) {
      const attribute = /** @type {Attribute} */ (attributes.get(name));
      const sentence = this.design(design, attribute);
      const label = this.say("quoted", { text: this.label(attribute) });
      labels.set(sentence, [...(labels.get(sentence) ?? []), label]);
    }
    return [...labels].map(([said, of]) => this.say("designFor", { questions: of.join(", "), said }));
  }

  /** With both answers and the design's chances; `not_p` is the chance of the opposite.
   * @type {(design: Design, attribute: Attribute) => string} */
  design({ name, yes, no, chances }, attribute) {
    const chanceOf = (/** @type {Rational} */ { numerator, denominator }) => {
      const [some, all] = [String(numerator), String(denominator)];
      return this.say("chanceOf", { some, all, count: Number(numerator) });
    };
    const values = { Yes: this.answer(attribute, yes), No: this.answer(attribute, no) };
    const odds = Object.entries(chances).flatMap(([parameter, chance]) => [
      [parameter, chanceOf(chance)],
      [`not_${parameter}`, chanceOf(ONE.minus(chance))],
    ]);
    const key = /** @type {"design-warner"} */ (`design-${name}`);
    return this.say(key, { ...values, ...Object.fromEntries(odds) });
  }

  /** @param {readonly Attribute[]} attributes */
  unperturbed(attributes) {
    const shown = attributes.map((attribute) => this.label(attribute)).join(", ");
    // A label may be a question.
    return this.say("unperturbed", { labels: shown }).replace("?.", "?");
  }

  /** @type {(prior: number, bound: Bound | null) => string} */
  bound(prior, bound) {
    return bound === null ? this.say("boundless") : this.say("bound", this.figures(prior, bound));
  }

  /** @type {(prior: number, bound: Bound) => {prior: string, posterior: string, gamma: string}} */
  figures(prior, { gamma, posterior }) {
    return {
      prior: this.percent(prior),
      posterior: this.percent(posterior),
      gamma: this.point(gamma),
    };
  }
}

/** True if a batch promises more than each report by itself.
 * @type {(relay: RelayFigures | null) => relay is RelayFigures} */
export function hidesMore(relay) {
  return relay !== null && relay.apart < relay.together;
}

/** @param {Schema} schema */
function attributesOf({ attributes }) {
  return new Map(attributes.map((attribute) => [attribute.name, attribute]));
}
