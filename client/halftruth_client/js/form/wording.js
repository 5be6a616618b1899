/** Texts of the form in a language: messages with values, numbers, times and privacy promises. */

import { NO_ANSWER, NOT_ASKED } from "../attribute.js";
import { inLanguage } from "../documents.js";
import { inHundred } from "../protection.js";
import { ONE } from "../rational.js";
import { ENGLISH } from "./words.js";

const GAP = "\u202f";

/** Largest number of people for frequencies. */
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

/** Texts of the form, shown around the texts of a survey. */
export class Wording {
  /** @param {string} [language] Language of the survey's texts; empty if unknown.
   * @param {string} [locale] Locale of the form's texts.
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
    /** True if the survey's texts are in another language than the form's. */
    this.isForeign = language !== "" && language.split("-")[0] !== locale.split("-")[0];
  }

  /** A text with values for its placeholders; `count` also selects the plural form.
   * @type {(key: Key, values?: Readonly<Record<string, string | number>>) => string} */
  say(key, values = {}) {
    return this.text(key, values.count).replace(/\{(\w+)\}/g, (all, /** @type {string} */ name) => {
      const value = values[name];
      if (value === undefined) return all;
      if (typeof value === "number") return this.decimal.format(value);
      if (value === "") return value;
      // Isolate the value, which can have another text direction.
      return this.isForeign ? `\u2068${value}\u2069` : value;
    });
  }

  /** Text with its placeholders, in the plural form for a count.
   * @type {(key: Key, count?: string | number) => string} */
  text(key, count) {
    const text = this.words[key];
    if (typeof text === "string") return text;
    const forms = /** @type {Readonly<Record<string, string>>} */ (text);
    return forms[this.plural.select(Number(count))] ?? forms.other;
  }

  /** A list of texts.
   * @type {(key: Key) => readonly string[]} */
  list(key) {
    return /** @type {readonly string[]} */ (this.words[key]);
  }

  /** Replace the decimal point of a number by the decimal sign of the language.
   * @param {string} number */
  point(number) {
    const parts = this.decimal.formatToParts(0.5);
    return number.replace(".", parts.find(({ type }) => type === "decimal")?.value ?? ".");
  }

  /** @param {Attribute} attribute */
  label(attribute) {
    return attribute.labelIn(this.language);
  }

  /** Labels of the categories of an attribute, in order; by default from the form's texts.
   * @param {Attribute} attribute */
  answers(attribute) {
    return attribute.categories.map((category, code) => {
      const text = attribute.answers.get(category);
      return text ? inLanguage(text, this.language) : this.implied(attribute, category, code);
    });
  }

  /** Labels of the groups of answers to an attribute, in order.
   * @param {Attribute} attribute */
  groupNames(attribute) {
    const answers = this.answers(attribute);
    const names = attribute.groups?.names ?? attribute.categories;
    return names.map((name) => {
      const answer = answers[attribute.categories.indexOf(name)];
      return answer ?? inLanguage(attribute.answers.get(name) || name, this.language);
    });
  }

  /** The same in quotation marks.
   * @param {Attribute} attribute */
  groups(attribute) {
    return this.groupNames(attribute).map((text) => this.say("quoted", { text })).join(", ");
  }

  /** Sentences about attributes of which a report has groups of answers.
   * @type {(collapsed: readonly Attribute[]) => string[]} */
  collapsed(collapsed) {
    return collapsed.map((each) =>
      this.say("collapsed", { label: this.say("quoted", { text: this.label(each) }), groups: this.groups(each) }),
    );
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

  /** Express shares as natural frequencies: out of 100, or out of a larger power of ten if the
   * smallest share is less than one person.
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

  /** A range of shares as a natural frequency, in words.
   * @type {(shares: import("../mechanisms/base.js").Fit) => string} */
  frequency({ least, most }) {
    const { base, figures } = this.frequencies([least, most]);
    return this.say("ofBase", { base, figure: this.between(figures) });
  }

  /** @param {readonly string[]} figures The smallest and the largest. */
  between([least, most]) {
    return least === most ? least : this.say("range", { least, most });
  }

  /** @param {number} tenths Share in tenths of a percent. */
  percent(tenths) {
    return this.percentage.format(tenths / 1_000).replace(/\s*%/, `${GAP}%`);
  }

  /** A date and time, in the time zone of this device.
   * @type {(moment: string | number) => string} */
  moment(moment) {
    const style = /** @type {const} */ ({ dateStyle: "long", timeStyle: "short" });
    return new Intl.DateTimeFormat(this.locale, style).format(new Date(moment));
  }

  /** Sentences with the exact privacy guarantees of a survey.
   * @type {(protection: Protection, schema: Schema, relay?: RelayFigures | null) => string[]} */
  promises(protection, schema, relay = null) {
    const { prior, designs, unperturbed, provable, hidden, whole, single, series, timed } = protection;
    const sentences = [...this.designs(designs, attributesOf(schema)), ...this.exceptions(protection, schema)];
    if (hidden === 0) return sentences;
    if (whole === null) return [...sentences, this.say("unbounded")];
    const isAll = unperturbed.length + provable.length === 0;
    const whose = isAll ? this.say("whole") : this.say("others", { same: this.same(protection, schema, undefined, "same") });
    const epsilon = this.point(String(whole.epsilon));
    sentences.push(this.say("promise", { whose, epsilon, ...this.figures(prior, whole) }));
    if (single !== null) {
      const values = { bound: this.bound(prior, single) };
      const isByAnswer = protection.isByAnswer;
      sentences.push(isByAnswer ? `${this.say("ofAnswer", values)} ${this.ignorant(protection)}` : this.say("single", values));
    }
    if (series) {
      const values = { whose, address: series.origin, bound: this.bound(prior, series.bound) };
      sentences.push(this.say("promiseSeries", values));
    }
    if (relay) {
      const values = { batch: grouped(relay.batch), together: relay.together, relayed: this.relayed(relay) };
      sentences.push(this.say(hidesMore(relay) ? "relayedThrough" : "relayTooSmall", values));
    }
    if (timed) sentences.push(this.say("timed"));
    return sentences;
  }

  /** Sentences about answers that are sent unperturbed, or that a report can prove.
   * @type {(protection: Protection, schema: Schema) => string[]} */
  exceptions(protection, schema) {
    const { prior, unperturbed, provable } = protection;
    const attributes = attributesOf(schema);
    const proofs = provable.map(({ name, answer, other, bound, isLess }) => {
      const attribute = /** @type {Attribute} */ (attributes.get(name));
      const answers = { answer: this.answer(attribute, answer), other: this.answer(attribute, other) };
      const values = { label: this.label(attribute), ...answers, bound: this.bound(prior, bound) };
      const more = protection.isByAnswer && isLess ? ` ${this.ignorant(protection)}` : "";
      return `${this.say("provable", values)}${more}`;
    });
    return unperturbed.length > 0 ? [this.unperturbed(unperturbed), ...proofs] : proofs;
  }

  /** What somebody can learn of an answer who does not know the others, where each answer has a promise.
   * @param {Protection} protection */
  ignorant({ prior, whole }) {
    return whole ? this.say("ignorant", this.figures(prior, whole)) : this.say("unbounded");
  }

  /** The promise of each answer in natural frequencies, with what anybody else can learn; empty if a survey
   * promises by record.
   * @type {(protection: Protection) => string[]} */
  ofAnswers({ isByAnswer, prior, single, whole }) {
    if (!isByAnswer || single === null || whole === null) return [];
    const [before, after] = [inHundred(prior), inHundred(whole.posterior)];
    return [this.say("ofAnswers", { before, single: inHundred(single.posterior), after })];
  }

  /** The bound for a more common secret than that of the introduction; empty without a bound below all people.
   * @type {(protection: Protection) => string[]} */
  commoner({ whole, commoner }) {
    if (whole === null || commoner === null || inHundred(whole.posterior) >= 100) return [];
    const [before, after] = [inHundred(commoner.prior), inHundred(commoner.posterior)];
    return [this.say("commoner", { before, after })];
  }

  /** What the people have in common that the bounds of a survey compare: their unperturbed answers, and
   * answers that a report proves. With a report, the proved answers are known. Empty if nothing.
   * @type {(protection: Protection, schema: Schema, report?: readonly number[], key?: "same" | "sameAsYours") => string} */
  same({ unperturbed, provable }, { attributes }, report, key = "sameAsYours") {
    const proves = (/** @type {Attribute} */ { name, categories }, /** @type {number} */ j) =>
      provable.some((each) => each.name === name && (!report || categories[report[j]] === each.answer));
    const proved = attributes.filter(proves);
    const count = unperturbed.length + proved.length;
    if (count === 0) return "";
    const sent = this.labels(report ? [...unperturbed, ...proved] : unperturbed);
    if (report || proved.length === 0) return this.say(key, { labels: sent, count });
    const where = this.say("whereProved", { labels: this.labels(proved), count: proved.length });
    const labels = unperturbed.length > 0 ? this.say("andTo", { sent, proved: where }) : where;
    return this.say(key, { labels, count });
  }

  /** The sentence that introduces numbers of people.
   * @type {(protection: Protection, schema: Schema) => string} */
  suppose(protection, schema) {
    const values = { count: inHundred(protection.prior), same: this.same(protection, schema) };
    return this.say("suppose", values);
  }

  /** @param {readonly Attribute[]} attributes */
  labels(attributes) {
    return attributes.map((each) => this.say("quoted", { text: this.label(each) })).join(", ");
  }

  /** @param {RelayFigures} figures */
  relayed({ apart, together, delta }) {
    return this.say("relayed", { apart, together, chance: chanceOf(delta) });
  }

  /** Sentence about an accepted report.
   * @param {import("../survey.js").Survey} survey */
  counted({ relay }) {
    return relay ? this.say("withRelay", { count: relay.batch - 1 }) : this.say("counted");
  }

  /** Sentence about the way of reports through a relay.
   * @param {import("../survey.js").Relay} relay */
  relay({ url, batch, release }) {
    const key = release === "closing" ? "relayClosing" : "relayBatches";
    return this.say(key, { host: new URL(url).host, batch });
  }

  /** One sentence for each different design, with the labels of its questions.
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

  /** Sentence about a design, with its answers and probabilities; `not_p` is the placeholder for 1
   * − p.
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
    // Avoid two punctuation marks if the last label ends with a question mark.
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

/** The number of trials in which an event of a small probability is expected once.
 * @param {number} delta */
export function chanceOf(delta) {
  return grouped(Math.round(1 / delta));
}

/** @param {number} integer */
function grouped(integer) {
  return String(integer).replace(/\B(?=(\d{3})+$)/g, GAP);
}

/** True if the batch of the relay improves the bound of a single report.
 * @type {(relay: RelayFigures | null) => relay is RelayFigures} */
export function hidesMore(relay) {
  return relay !== null && relay.apart < relay.together;
}

/** @param {Schema} schema */
function attributesOf({ attributes }) {
  return new Map(attributes.map((attribute) => [attribute.name, attribute]));
}
