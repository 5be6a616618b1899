/**
 * The ledger of a browser: what the reports that were drawn in it tell together.
 *
 * Amplifications of reports multiply, whatever becomes of the answers in between. A question that a
 * report is not about, by a view that was drawn before anything was answered, costs nothing in it. Where
 * several people answer in one browser, each survey counts once, as if one person had answered all: an
 * upper bound for each of them.
 */

import { LedgerRefused } from "./errors.js";
import { questionAmplification, spentAmplification } from "./protection.js";
import { ONE, Rational } from "./rational.js";

/**
 * @import { Survey } from "./survey.js"
 *
 * What one report costs: its amplification about the whole record, and about each question that it is
 * about, all others being known; exact numbers as text.
 *
 * @typedef {object} Entry
 * @property {string} survey
 * @property {string} digest
 * @property {string} gamma
 * @property {Readonly<Record<string, string>>} questions
 * @property {{id: string, wave: number, totalGamma: string} | null} series
 */

/** What is written where a report can reveal a sensitive answer. */
const INFINITE = "infinite";

/** Characters of a number that can be read again. */
const LONGEST = 1_000;

/**
 * @param {Survey} survey
 * @param {string} digest
 * @param {readonly number[]} [values] Of the report; without them, all of the survey counts.
 * @returns {Entry}
 */
export function entryOf(survey, digest, values) {
  const { id, schema, series } = survey;
  const about = values && new Set(reportedNames(survey, values));
  const questions = schema.questions.flatMap((question) => {
    const gamma = questionAmplification(survey, question, new Set(), about);
    // What is sent unperturbed has no bound, and no ledger can keep one.
    return gamma !== null && gamma.compare(ONE) > 0 ? [[question.name, roundedUp(gamma)]] : [];
  });
  const whole = spentAmplification(survey);
  return {
    survey: id,
    digest,
    gamma: whole === null ? INFINITE : roundedUp(whole),
    questions: Object.fromEntries(questions),
    series: series && { id: series.id, wave: series.wave, totalGamma: String(series.totalGamma) },
  };
}

/**
 * Names of the attributes that a report is about.
 *
 * @param {Survey} survey
 * @param {readonly number[]} values
 */
function reportedNames({ schema, mechanism }, values) {
  const { codes, symbol } = mechanism.contents(values);
  return [...codes.map(([j]) => j), ...(symbol?.positions ?? [])].map((j) => schema.names[j]);
}

/** @param {Rational} gamma */
function roundedUp(gamma) {
  const text = String(gamma);
  const { numerator, denominator } = gamma;
  return text.length > LONGEST ? String((numerator + denominator - 1n) / denominator) : text;
}

/** What some reports cost together. */
export class Ledger {
  /** @param {readonly Entry[]} [entries] */
  constructor(entries = []) {
    this.entries = entries;
  }

  /** Amplification of all of them together, about whole records; null where it is infinite. */
  get gamma() {
    const factors = this.entries.map(({ gamma }) => (gamma === INFINITE ? null : read(gamma)));
    return product(factors);
  }

  /** Amplification of all of them together about each question alone, with how many are about it. */
  get questions() {
    /** @type {Map<string, {gamma: Rational, count: number}>} */
    const totals = new Map();
    for (const [name, gamma] of this.entries.flatMap(({ questions }) => Object.entries(questions))) {
      const { gamma: before, count } = totals.get(name) ?? { gamma: ONE, count: 0 };
      totals.set(name, { gamma: before.times(read(gamma)), count: count + 1 });
    }
    return totals;
  }

  /** @param {string} [id] */
  ofSeries(id) {
    return new Ledger(this.entries.filter(({ series }) => series !== null && series.id === id));
  }

  /** @param {Entry} entry Counts once with others of its digest; who answers next may be asked more. */
  with(entry) {
    const same = this.entries.find(({ digest }) => digest === entry.digest);
    const questions = { ...same?.questions, ...entry.questions };
    return new Ledger([...this.#without(entry).entries, { ...entry, questions }]);
  }

  /** @param {Entry} entry */
  #without({ digest }) {
    return new Ledger(this.entries.filter((each) => each.digest !== digest));
  }

  /**
   * Make sure that another report stays within what was promised of all of them. Of a series, the
   * smallest total holds that any of its waves promised here.
   *
   * @param {Survey} survey
   * @param {Entry} entry Of a report of it.
   * @param {Rational | null} maxTotalGamma
   * @throws {LedgerRefused}
   */
  check(survey, entry, maxTotalGamma) {
    const { series } = entry;
    const others = this.#without(entry);
    /** @type {(ledger: Ledger, field: string, why: string, expected: string) => never} */
    const refuse = (ledger, field, why, expected) => {
      const message = `survey '${survey.id}': ${why}; nothing was asked or sent; expected ${expected}`;
      throw new LedgerRefused(message, field, survey, ledger);
    };
    /** @type {(ledger: Ledger, most: Rational, field: string) => void} */
    const checkTotal = (ledger, most, field) => {
      const total = new Ledger([...ledger.entries, entry]).gamma;
      if (total !== null && total.compare(most) <= 0) return;
      const shown = total === null ? INFINITE : total.toNumber();
      const why = `its amplification with what was sent before would be ${shown}`;
      refuse(ledger, field, why, `at most ${field} ${most.toNumber()}`);
    };
    if (series !== null) {
      const waves = others.ofSeries(series.id);
      const before = waves.entries.flatMap((each) => each.series ?? []);
      if (before.some(({ wave }) => wave === series.wave)) {
        const why = `wave ${series.wave} of series '${series.id}' was answered, in another survey`;
        refuse(waves, "series.wave", why, "another wave");
      }
      const totals = [...before, series].map(({ totalGamma }) => read(totalGamma));
      checkTotal(waves, totals.reduce((a, b) => (b.compare(a) < 0 ? b : a)), "series.total_gamma");
    }
    if (maxTotalGamma !== null) checkTotal(others, maxTotalGamma, "maxTotalGamma");
  }
}

/** @param {readonly (Rational | null)[]} factors Null, which stands for infinity, makes the product so. */
function product(factors) {
  return factors.reduce((all, each) => (all === null || each === null ? null : all.times(each)), ONE);
}

/** @param {string} gamma */
function read(gamma) {
  return Rational.parse(gamma, "gamma");
}
