/**
 * The ledger of a browser at one web address (origin): the total amplification of all reports drawn
 * there, to any surveys, whoever signed them. What different collectors receive is still about one
 * person, and a collector can use several keys.
 *
 * Amplifications multiply (composition), even if answers change in between. A question outside the view
 * of a report costs nothing, since the view is drawn before the answers. If several people answer in one
 * browser, every report counts, as if one person had sent all: an upper bound for each person.
 */

import { LedgerRefused } from "./errors.js";
import { least, product } from "./mechanisms/base.js";
import { singleAmplifications, spentAmplification } from "./protection.js";
import { ONE, Rational } from "./rational.js";

/**
 * @import { Survey } from "./survey.js"
 *
 * Cost of one report: its amplification for the whole record, and for each of its questions if all other
 * answers are known; exact numbers as text.
 *
 * @typedef {object} Entry
 * @property {string} survey
 * @property {string} digest
 * @property {string} gamma
 * @property {Readonly<Record<string, string>>} questions
 * @property {{id: string, wave: number, totalGamma: string} | null} series
 * @property {boolean} [forgotten] True if the report was deleted here, so that another one can be drawn.
 */

/** Amplification of a report that can reveal a sensitive answer. */
const INFINITE = "infinite";

/** Largest length of a number as text. */
const LONGEST = 1_000;

/** @type {(survey: Survey, digest: string, values?: readonly number[]) => Entry} */
export function entryOf(survey, digest, values) {
  const { id, series } = survey;
  const about = values && new Set(reportedNames(survey, values));
  const questions = [...singleAmplifications(survey, undefined, about)].flatMap(([name, gamma]) =>
    gamma && gamma.compare(ONE) > 0 ? [[name, roundedUp(gamma)]] : [],
  );
  const whole = spentAmplification(survey);
  return {
    survey: id,
    digest,
    gamma: whole === null ? INFINITE : roundedUp(whole),
    questions: Object.fromEntries(questions),
    series: series && { id: series.id, wave: series.wave, totalGamma: String(series.totalGamma) },
  };
}

/** Names of the attributes that a report is about.
 * @type {(survey: Survey, values: readonly number[]) => string[]} */
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

/** Total cost of some reports. */
export class Ledger {
  /** @param {readonly Entry[]} [entries] */
  constructor(entries = []) {
    this.entries = entries;
  }

  /** Total amplification for whole records; null if it is infinite. */
  get gamma() {
    const factors = this.entries.map(({ gamma }) => (gamma === INFINITE ? null : read(gamma)));
    return product(factors);
  }

  /** Total amplification for each single question, with the number of reports about it. */
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

  /** @param {Entry} entry */
  with(entry) {
    return new Ledger([...this.#without(entry).entries, entry]);
  }

  /** Mark the report of a survey as deleted: it still counts, and so will the next one.
   * @param {string} digest */
  withForgotten(digest) {
    return new Ledger(
      this.entries.map((each) => (each.digest === digest ? { ...each, forgotten: true } : each)),
    );
  }

  /** The ledger without an entry for the same report, which a crash or a full storage can leave.
   * @param {Entry} entry */
  #without({ digest }) {
    return new Ledger(this.entries.filter((each) => each.digest !== digest || each.forgotten));
  }

  /** Check that another report keeps the totals within their limits. The limit of a series is the
   * smallest total that any of its waves has promised here.
   * @type {(survey: Survey, entry: Entry, maxTotalGamma: Rational | null) => void} */
  check(survey, entry, maxTotalGamma) {
    const { series } = entry;
    const others = this.#without(entry);
    /** @type {(field: string, why: string, expected: string) => never} */
    const refuse = (field, why, expected) => {
      const message = `survey '${survey.id}': ${why}; nothing was asked or sent; expected ${expected}`;
      throw new LedgerRefused(message, field, survey, this);
    };
    /** @type {(ledger: Ledger, most: Rational, field: string) => void} */
    const checkTotal = (ledger, most, field) => {
      const total = new Ledger([...ledger.entries, entry]).gamma;
      if (total !== null && total.compare(most) <= 0) return;
      const shown = total === null ? INFINITE : total.toNumber();
      const why = `its amplification with what was sent before would be ${shown}`;
      refuse(field, why, `at most ${field} ${most.toNumber()}`);
    };
    if (series !== null) {
      const waves = others.ofSeries(series.id);
      const before = waves.entries.flatMap((each) => each.series ?? []);
      if (before.some(({ wave }) => wave === series.wave)) {
        const why = `wave ${series.wave} of series '${series.id}' was answered, in another survey`;
        refuse("series.wave", why, "another wave");
      }
      const totals = [...before, series].map(({ totalGamma }) => read(totalGamma));
      checkTotal(waves, least(totals), "series.total_gamma");
    }
    if (maxTotalGamma !== null) checkTotal(others, maxTotalGamma, "maxTotalGamma");
  }
}

/** @param {string} gamma */
function read(gamma) {
  return Rational.parse(gamma, "gamma");
}
