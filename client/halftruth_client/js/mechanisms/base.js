/** Every mechanism as views with responses: its draws, its amplification, and the contents of its reports. */

import { ParameterError, SurveyError } from "../errors.js";
import { ONE } from "../rational.js";

/**
 * @import { Rational } from "../rational.js"
 * @import { RandomBelow } from "../sampling.js"
 * @import { Design, Provable } from "./designs.js"
 *
 * Columns of a report: names, and numbers of values.
 *
 * @typedef {{readonly names: readonly string[], readonly shape: readonly bigint[]}} ReportSpace
 *
 * Contents of a report: codes by position of the attribute, each with the probability that another
 * answer is reported by this code; and, for a report about several attributes together, a symbol that is
 * γ times as likely for some of their combinations.
 *
 * @typedef {object} Contents
 * @property {readonly (readonly [position: number, code: number, others: Fit | null])[]} codes
 *   `others` is null if no other answer is reported by this code.
 * @property {{code: number, positions: readonly number[], collapsed: readonly number[], likelier: number, combinations: number}} [symbol]
 *   `collapsed` are the positions of which the combinations have groups of answers.
 *
 * Probability of a report given some answers, and its smallest and largest probability given other
 * answers with the same unperturbed values; null if there are no others.
 *
 * @typedef {{own: Rational, others: {least: Rational, most: Rational} | null}} Likelihoods
 *
 * Smallest and largest probability, over all answers, that a report agrees with the answers.
 *
 * @typedef {{least: Rational, most: Rational}} Fit
 *
 * Exact random response to the answers of a view, given by their codes. `Columns` and `Mixture` report
 * codes, too; a `Subset` has a single code, the cell of the answers, and reports a single symbol; a
 * `SetOfOptions` also has the code of each option.
 *
 * @typedef {object} Response
 * @property {(codes: readonly number[], below: RandomBelow) => number[]} draw
 * @property {(axes: readonly number[]) => Rational | null} amplification
 *   Largest likelihood ratio of a report between answers that differ in these codes only, at least one; null
 *   if a report can rule them out.
 * @property {(sent: readonly number[], codes: readonly number[], axes: readonly number[]) => Likelihoods} likelihoods
 *   Other answers differ in these codes only.
 * @property {() => Fit} fit
 *
 * Response that reports codes.
 *
 * @typedef {Response & {others: (axis: number, code: number) => Fit | null}} ToCodes
 *   `others` is the probability that a code is reported for another answer; null if it never is.
 *
 * Response to a cell that reports a symbol.
 *
 * @typedef {Response & {cells: number, symbols: number, likelier: (symbol: number) => number}} ToSymbol
 *   `likelier` is the number of cells for which a symbol is likelier.
 *
 * Response of one of both kinds: the first one where a report is a record.
 *
 * @typedef {ToCodes & ToSymbol} AnyResponse
 *
 * A group of questions that one report is about.
 *
 * @typedef {object} View
 * @property {readonly number[]} positions Positions of its attributes in the schema, increasing.
 * @property {readonly number[]} shape
 *   Number of categories, or of groups, of each attribute; cells are numbered in row-major order.
 * @property {readonly number[]} collapsed Positions of its attributes of which it has groups of answers.
 * @property {readonly number[]} options
 *   Positions of the options of the question that it asks as one set; cells are those of its other attributes.
 * @property {number} until Cumulative weight of the views up to this one.
 * @property {number} first Its first symbol; the symbols of all views are numbered consecutively.
 * @property {AnyResponse} response
 *
 * What the parameters of a mechanism mean: its views; or the response of a mechanism whose report is a record.
 *
 * @typedef {object} Form
 * @property {readonly View[]} [views]
 * @property {readonly number[]} [unperturbed] Positions of attributes that every report states unperturbed.
 * @property {ToCodes} [response]
 * @property {ReadonlyMap<string, Design>} [designs] By attribute, for respondents.
 */

/** Perturbation of the records of a schema. */
export class Mechanism {
  /** @param {import("../schema.js").Schema} schema
   * @param {Form} form */
  constructor(schema, { views, unperturbed = [], response, designs = new Map() }) {
    this.schema = schema;
    this.unperturbed = unperturbed;
    this.designs = designs;
    /** True if a report is a record: then there is one view of all attributes, which is not drawn. */
    this.reportsRecords = views === undefined;
    const collapsed = schema.attributes.find(({ groups }) => groups !== null);
    if (this.reportsRecords && collapsed !== undefined) {
      throw new SurveyError(`'${collapsed.name}': collapsed: expected with split-questionnaire alone`, collapsed.name);
    }
    const [set] = schema.sets;
    if (this.reportsRecords && set !== undefined) {
      throw new SurveyError(`'${set.name}': at_most: expected with split-questionnaire alone`, set.name);
    }
    const positions = schema.names.map((_, j) => j);
    const everything = { positions, shape: [], until: 1, first: 0, collapsed: [], options: [] };
    this.views = views ?? [{ ...everything, response: /** @type {AnyResponse} */ (response) }];
    /** Answers that a report can prove, by attribute.
     * @type {ReadonlyMap<string, Provable>} */
    this.provable = new Map(
      [...designs].flatMap(([name, { provable }]) => (provable ? [[name, provable]] : [])),
    );
    const { first, response: last } = this.views[this.views.length - 1];
    const names = unperturbed.map((j) => schema.names[j]);
    const shape = unperturbed.map((j) => schema.shape[j]);
    /** @type {ReportSpace} */
    this.reportSpace = this.reportsRecords
      ? { names: schema.names, shape: schema.shape }
      : { names: [...names, "(symbol)"], shape: [...shape, BigInt(first + last.symbols)] };
    // Views that are drawn have the same amplification, so one view for each attribute is enough.
    /** @type {Map<number, View>} */
    const owners = new Map();
    for (const view of this.views) for (const j of view.positions) owners.set(j, view);
    this.bounding = [...new Set(owners.values())];
  }

  /** Largest likelihood ratio of a report between two records that agree on the known attributes; null if
   * a report can rule a record out.
   * @type {(known: ReadonlySet<string>) => Rational | null} */
  amplification(known) {
    if (this.unperturbed.some((j) => !known.has(this.schema.names[j]))) return null;
    return largest(
      this.bounding.flatMap((view) => {
        const axes = this.#axes(view, known);
        return axes.length > 0 ? view.response.amplification(axes) : [];
      }),
    );
  }

  /** Axes of the attributes of a view that are not known.
   * @type {(view: View, known: ReadonlySet<string>) => number[]} */
  #axes({ positions }, known) {
    return positions.flatMap((j, axis) => (known.has(this.schema.names[j]) ? [] : [axis]));
  }

  /** Draw the view before the answers; null if all is asked.
   * @type {(below: RandomBelow) => number | null} */
  drawView(below) {
    if (this.reportsRecords) return null;
    const drawn = Number(below(BigInt(this.views[this.views.length - 1].until)));
    return this.views.findIndex(({ until }) => drawn < until);
  }

  /** Names of the attributes of a report, about a view if one was drawn.
   * @type {(view: number | null) => readonly string[]} */
  asked(view) {
    const { positions } = this.#viewOf(view);
    return this.schema.names.filter((_, j) => positions.includes(j) || this.unperturbed.includes(j));
  }

  /** @param {number | null} number */
  #viewOf(number) {
    const view = this.views[number ?? 0];
    if (view === undefined) {
      throw new ParameterError(`view: expected an integer from 0 to ${this.views.length - 1}`, "view");
    }
    return view;
  }

  /** Perturb one record with exact sampling. With a view that was drawn before, codes of attributes
   * outside the view can be missing.
   * @type {(codes: readonly number[], below: RandomBelow, view?: number | null) => number[]} */
  perturb(codes, below, view = this.drawView(below)) {
    const drawn = this.#viewOf(view);
    const sent = drawn.response.draw(this.#input(drawn, codes), below);
    return [...this.unperturbed.map((j) => codes[j]), ...sent.map((value) => drawn.first + value)];
  }

  /** Codes that a response takes: all of a record; or the cell, and the code of each option of a set.
   * @type {(view: View, codes: readonly number[]) => readonly number[]} */
  #input({ positions, shape, collapsed, options }, codes) {
    if (this.reportsRecords) return codes;
    const code = (/** @type {number} */ j) => (collapsed.includes(j) ? this.#groupsOf(j)[codes[j]] : codes[j]);
    const cell = positions.reduce((sum, j, i) => (options.includes(j) ? sum : sum * shape[i] + code(j)), 0);
    return [cell, ...options.map((j) => codes[j])];
  }

  /** Code of the group of each answer to a collapsed attribute.
   * @param {number} j */
  #groupsOf(j) {
    return /** @type {import("../attribute.js").Groups} */ (this.schema.attributes[j].groups).codes;
  }

  /** Probabilities of a report given its view; other answers agree on the known attributes.
   * @type {(values: readonly number[], codes: readonly number[], known?: ReadonlySet<string>) => Likelihoods} */
  likelihoods(values, codes, known = new Set()) {
    const [view, sent] = this.#read(values);
    const found = view.response.likelihoods(sent, this.#input(view, codes), this.#axes(view, known));
    const { own, others } = found;
    const isAlone = (/** @type {number} */ j) =>
      this.#groupsOf(j).filter((group, _, all) => group === all[codes[j]]).length < 2;
    if (others === null || view.collapsed.every(isAlone)) return found;
    // Another answer of the same group is as likely.
    return { own, others: { least: least([own, others.least]), most: most([own, others.most]) } };
  }

  /** View of a report, and what its response sent.
   * @type {(values: readonly number[]) => [View, readonly number[]]} */
  #read(values) {
    if (this.reportsRecords) return [this.views[0], values];
    const code = values[values.length - 1];
    const view = this.views.find(({ first, response }) => code < first + response.symbols);
    if (view === undefined) throw new ParameterError("values: expected a report", "values");
    return [view, [code - view.first]];
  }

  /** @type {(values: readonly number[]) => Contents} */
  contents(values) {
    const [{ positions, collapsed, response }, sent] = this.#read(values);
    if (this.reportsRecords) {
      return { codes: values.map((code, j) => [j, code, response.others(j, code)]) };
    }
    const code = values[values.length - 1];
    return {
      codes: this.unperturbed.map((j, i) => [j, values[i], null]),
      symbol: { code, positions, collapsed, likelier: response.likelier(sent[0]), combinations: response.cells },
    };
  }

  /** Responses of all views, or of a single one.
   * @param {number | null} [view] */
  responses(view) {
    const views = view === undefined ? this.views : [this.#viewOf(view)];
    return [...new Set(views.map(({ response }) => response))];
  }

  /** Probability of agreement, perhaps for reports about a view.
   * @type {(view?: number | null) => Fit} */
  fit(view) {
    const fits = this.responses(view).map((response) => response.fit());
    return { least: least(fits.map((fit) => fit.least)), most: most(fits.map((fit) => fit.most)) };
  }
}

/** @param {readonly Rational[]} numbers At least one. */
export function least(numbers) {
  return numbers.reduce((smallest, next) => (next.compare(smallest) < 0 ? next : smallest));
}

/** @param {readonly Rational[]} numbers At least one. */
export function most(numbers) {
  return numbers.reduce((greatest, next) => (next.compare(greatest) > 0 ? next : greatest));
}

/** Product of amplifications, or of probabilities; null, which means infinity, if one of them is.
 * @type {<T extends Rational | null>(factors: readonly (T | Rational)[]) => T | Rational} */
export function product(factors) {
  const none = /** @type {any} */ (null);
  return factors.reduce((all, each) => (all && each ? all.times(each) : none), ONE);
}

/** The largest of some amplifications; null, which means infinity, if one of them is infinite.
 * @param {readonly (Rational | null)[]} amplifications */
export function largest(amplifications) {
  return amplifications.reduce(
    (most, next) => (most === null || next === null ? null : next.compare(most) > 0 ? next : most),
    ONE,
  );
}

/** The value at a position among all values except the true one.
 * @type {(position: number, code: number) => number} */
export function otherValue(position, code) {
  return position < code ? position : position + 1;
}
