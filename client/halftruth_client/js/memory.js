/**
 * What a browser remembers: the one report that each survey was answered with.
 *
 * Two draws of the same answers tell more than one, so that whoever answers again sends the same
 * report again. Reports are remembered, never records.
 */

import { AnsweredBefore } from "./errors.js";

/**
 * @typedef {object} Remembered
 * @property {string} digest Of the survey that was answered.
 * @property {string} id Of the report.
 * @property {number[]} values
 * @property {boolean} sent Whether the collector answered for good.
 * @property {string} [refused] What it answered, if it will not count the report.
 * @property {string} [invitation] What lets the report in, until the collector answered for good.
 */

const PREFIX = "halftruth:";

/**
 * Whether the collector said that it counted a report.
 *
 * @param {Remembered} report
 */
export function isCounted({ sent, refused }) {
  return sent && refused === undefined;
}

export class Memory {
  /**
   * @param {string} url The collector's address.
   * @param {Pick<Storage, "getItem" | "setItem" | "key" | "length">} storage
   */
  constructor(url, storage) {
    this.prefix = `${PREFIX}${url}:`;
    this.storage = storage;
  }

  /**
   * @param {string} survey Its id.
   * @returns {Remembered | null}
   * @throws {AnsweredBefore} If something is remembered that cannot be read: it was answered.
   */
  get(survey) {
    const text = this.storage.getItem(this.prefix + survey);
    if (text === null) return null;
    try {
      return JSON.parse(text);
    } catch {
      throw new AnsweredBefore(
        `survey '${survey}': it was answered here, and what this browser kept of it is damaged`,
        "survey",
      );
    }
  }

  /**
   * @param {string} survey
   * @param {Remembered} report
   */
  set(survey, report) {
    this.storage.setItem(this.prefix + survey, JSON.stringify(report));
  }

  /**
   * Ids of the surveys whose reports were not acknowledged yet.
   *
   * @returns {string[]}
   */
  waiting() {
    const keys = Array.from({ length: this.storage.length }, (_, i) => this.storage.key(i) ?? "");
    return keys
      .filter((key) => key.startsWith(this.prefix))
      .map((key) => key.slice(this.prefix.length))
      // A colon is no part of an id: it follows the port of another collector of this host.
      .filter((survey) => !survey.includes(":") && this.isWaiting(survey));
  }

  /**
   * Whether a report of a survey is remembered that was not acknowledged.
   *
   * @param {string} survey
   */
  isWaiting(survey) {
    try {
      return this.get(survey)?.sent === false;
    } catch {
      return false;
    }
  }
}

/** Memory of this page alone, for where a browser keeps nothing. */
export class PageStorage {
  constructor() {
    /** @type {Map<string, string>} */
    this.items = new Map();
  }

  get length() {
    return this.items.size;
  }

  /** @param {number} index */
  key(index) {
    return [...this.items.keys()][index] ?? null;
  }

  /** @param {string} key */
  getItem(key) {
    return this.items.get(key) ?? null;
  }

  /**
   * @param {string} key
   * @param {string} text
   */
  setItem(key, text) {
    this.items.set(key, text);
  }
}

const ofThisPage = new PageStorage();

/** The browser's storage, or that of the page where there is none or it may not be used. */
export function browserStorage() {
  try {
    const probe = `${PREFIX}probe`;
    localStorage.setItem(probe, "");
    localStorage.removeItem(probe);
    return localStorage;
  } catch {
    return ofThisPage;
  }
}
