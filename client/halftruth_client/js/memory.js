/**
 * Memory of a browser: the one report that each survey was answered with, before it the view
 * that was drawn, and what all reports cost.
 *
 * Two draws of the same answers tell more than one, so that whoever answers again sends the same
 * report again. Reports are remembered, never records. A survey is found by its id, whatever way
 * the collector's address is written; the digest beside it tells versions apart.
 */

import { AnsweredBefore, SurveyRefused } from "./errors.js";
import { Ledger } from "./ledger.js";

/**
 * @typedef {object} Remembered
 * @property {string} digest Of the survey that was answered.
 * @property {string} id Of the report.
 * @property {string} [relayId] By which the survey's relay keeps it, which never sees `id`.
 * @property {number[]} values
 * @property {string} collector Address that it waits for, or was sent to.
 * @property {boolean} sent Whether the collector answered for good.
 * @property {string} [refused] What it answered, if it will not count the report.
 * @property {string} [about] The field that it refused it for, where it said one.
 * @property {string} [invitation] What lets the report in, until the collector answered for good.
 * @property {number} [after] The moment before which it is not sent, in milliseconds since 1970.
 */

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">} Store */

const PREFIX = "halftruth:";
const VIEW_PREFIX = "halftruth-view:";
const LEDGER_PREFIX = "halftruth-ledger:";
const PREFIXES = [PREFIX, VIEW_PREFIX, LEDGER_PREFIX];

/** What is written to see if there is room; no survey is kept under it, whatever its id. */
const PROBE = "halftruth-probe";

/** Characters that have to fit, so that there is room for a report and what it costs as well. */
const ROOM = 16_384;

/** Member of the state of the page's entry of the history. */
const ENTRY = "halftruth";

/** Milliseconds for which a page announces that it has written; far longer than that takes to arrive. */
const SPREADING = 10_000;

/** Most milliseconds to wait for what another page has written. */
const ARRIVAL = 2_000;

/** @type {Map<string, () => void>} Ends the announcements of this page, by name. */
const announced = new Map();

/** @param {Remembered} report */
export function isCounted({ sent, refused }) {
  return sent && refused === undefined;
}

export class Memory {
  #storage;

  /** @param {Store} storage */
  constructor(storage) {
    this.#storage = storage;
    /** True if a report is still known after the page was closed. */
    this.lasts = !(storage instanceof PageStorage);
  }

  /**
   * The name under which a survey's report is kept, and that pages wait for one another by.
   *
   * @param {string} survey Its id, as everywhere here.
   */
  nameOf(survey) {
    return PREFIX + survey;
  }

  /** @param {string} survey */
  has(survey) {
    return this.#storage.getItem(this.nameOf(survey)) !== null;
  }

  /**
   * @param {string} survey
   * @returns {Remembered | null}
   * @throws {AnsweredBefore} If something is remembered that cannot be read: it was answered.
   */
  get(survey) {
    const text = this.#storage.getItem(this.nameOf(survey));
    if (text === null) return null;
    const kept = parse(text);
    if (isReport(kept)) return kept;
    throw new AnsweredBefore(
      `survey '${survey}': it was answered here, and what this browser kept of it is damaged`,
      "survey",
    );
  }

  /** @type {(survey: string, report: Remembered) => void} */
  set(survey, report) {
    this.#storage.setItem(this.nameOf(survey), JSON.stringify(report));
  }

  /**
   * What was spent, which outlives the reports themselves.
   *
   * @param {string} operator Key that signed the surveys; empty for all that are not signed.
   * @throws {SurveyRefused} If it cannot be read.
   */
  ledger(operator) {
    const text = this.#storage.getItem(LEDGER_PREFIX + operator) ?? "[]";
    try {
      const ledger = new Ledger(JSON.parse(text));
      // Reads every number once, so that a damaged one is found here.
      void ledger.gamma;
      return ledger;
    } catch {
      throw new SurveyRefused("ledger: what this browser kept of earlier reports is damaged", "ledger");
    }
  }

  /** @type {(operator: string, ledger: Ledger) => void} */
  setLedger(operator, { entries }) {
    this.#storage.setItem(LEDGER_PREFIX + operator, JSON.stringify(entries));
  }

  /** @param {string} operator */
  forgetLedger(operator) {
    this.#storage.removeItem(LEDGER_PREFIX + operator);
  }

  /** @param {string} digest */
  view(digest) {
    const text = this.#storage.getItem(VIEW_PREFIX + digest);
    return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
  }

  /** @type {(digest: string, view: number) => void} */
  setView(digest, view) {
    this.#storage.setItem(VIEW_PREFIX + digest, String(view));
  }

  /**
   * Make room for another person.
   *
   * @param {string} survey
   * @param {string} digest
   */
  remove(survey, digest) {
    this.#storage.removeItem(this.nameOf(survey));
    this.#storage.removeItem(VIEW_PREFIX + digest);
  }

  /**
   * Ids of the surveys whose reports wait for a collector.
   *
   * @param {string} collector Its address.
   */
  waiting(collector) {
    const keys = Array.from({ length: this.#storage.length }, (_, i) => this.#storage.key(i) ?? "");
    return keys
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => key.slice(PREFIX.length))
      .filter((survey) => this.isWaiting(survey) && this.get(survey)?.collector === collector);
  }

  /** @param {string} survey */
  isWaiting(survey) {
    try {
      return this.get(survey)?.sent === false;
    } catch {
      return false;
    }
  }
}

/**
 * Storage for as long as this object.
 *
 * @implements {Store}
 */
export class ShortStorage {
  /** @type {Map<string, string>} */
  items = new Map();

  get length() {
    return this.items.size;
  }

  /** @type {Storage["key"]} */
  key(index) {
    return [...this.items.keys()][index] ?? null;
  }

  /** @type {Storage["getItem"]} */
  getItem(key) {
    return this.items.get(key) ?? null;
  }

  /** @type {Storage["setItem"]} */
  setItem(key, text) {
    this.items.set(key, text);
  }

  /** @type {Storage["removeItem"]} */
  removeItem(key) {
    this.items.delete(key);
  }
}

/**
 * Memory of this page, for where a browser keeps nothing or has no room left. It stays with the
 * page's entry of the history, so that reloading or coming back is no way to a second draw.
 */
class PageStorage extends ShortStorage {
  items = new Map([...keptItems(), ...Object.entries(stateOfHistory()[ENTRY] ?? {})]);

  constructor() {
    super();
    // Whichever entry is loaded again has to tell what was drawn.
    globalThis.addEventListener?.("popstate", () => this.#keep());
  }

  /** @type {Storage["setItem"]} */
  setItem(key, text) {
    super.setItem(key, text);
    this.#keep();
  }

  /** @type {Storage["removeItem"]} */
  removeItem(key) {
    super.removeItem(key);
    this.#keep();
    if (keptItems().some(([name]) => name === key)) localStorage.removeItem(key);
  }

  #keep() {
    const state = { ...stateOfHistory(), [ENTRY]: Object.fromEntries(this.items) };
    globalThis.history?.replaceState(state, "");
  }
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * True for what can be sent as a report, which `null` or a number in JSON cannot.
 *
 * @param {any} kept
 * @returns {kept is Remembered}
 */
function isReport(kept) {
  const isText = ["digest", "id", "collector"].every((name) => typeof kept?.[name] === "string");
  return isText && typeof kept.sent === "boolean" && Array.isArray(kept.values);
}

/** State of the page's entry of the history, where that is an object. */
function stateOfHistory() {
  const state = globalThis.history?.state;
  return typeof state === "object" && state !== null ? state : {};
}

/**
 * Items that a browser without room for more still keeps from before.
 *
 * @returns {[string, string][]}
 */
function keptItems() {
  try {
    return Object.entries({ ...localStorage }).filter(([key]) =>
      PREFIXES.some((prefix) => key.startsWith(prefix)),
    );
  } catch {
    return [];
  }
}

/** @type {PageStorage | null} */
let ofThisPage = null;

/** The browser's storage, or that of the page where there is none, it is full, or not allowed. */
export function browserStorage() {
  try {
    localStorage.setItem(PROBE, " ".repeat(ROOM));
    localStorage.removeItem(PROBE);
    return localStorage;
  } catch {
    ofThisPage ??= new PageStorage();
    return ofThisPage;
  }
}

/**
 * Run an action while no other page of this browser does, where the browser can tell.
 *
 * Pages take turns by a lock. But what one page writes into `localStorage` reaches another one, in a
 * process of its own, only a moment later, and the lock may be there sooner. So whoever has written
 * holds a second lock for a while, which all pages see at once, and the next one waits for what was written.
 *
 * @param {string} name
 * @param {() => boolean} isDone Whether this page sees what the action leaves.
 * @param {() => void} action Leaves what is there already.
 */
export async function once(name, isDone, action) {
  let ran = false;
  const turn = async () => {
    ran = true;
    if (!isDone() && (await hasOtherWriter(name))) await waitUntil(isDone);
    const before = isDone();
    action();
    if (isDone() && !before) await announce(name);
    else if (!isDone()) announced.get(name)?.();
  };
  const locks = globalThis.navigator?.locks;
  if (!locks) {
    action();
    return;
  }
  try {
    await locks.request(name, turn);
  } catch (error) {
    // Where a browser keeps nothing it has no locks either, and pages see nothing of one another.
    if (ran) throw error;
    action();
  }
}

/** @param {string} name */
function writerLock(name) {
  return `${name} is written`;
}

/**
 * True if another page announces that it has written; this one holds the lock and sees what it wrote.
 *
 * @param {string} name
 */
async function hasOtherWriter(name) {
  const { held = [] } = await navigator.locks.query();
  const own = held.find((lock) => lock.name === name)?.clientId;
  return held.some((lock) => lock.name === writerLock(name) && lock.clientId !== own);
}

/**
 * Hold the second lock for a while, from before the first one is let go.
 *
 * @param {string} name
 */
function announce(name) {
  return new Promise((resolve) => {
    void navigator.locks.request(writerLock(name), { mode: "shared" }, () => {
      resolve(undefined);
      return new Promise((end) => {
        const done = () => {
          announced.delete(name);
          end(undefined);
        };
        announced.set(name, done);
        setTimeout(done, SPREADING);
      });
    });
  });
}

/** @param {() => boolean} isDone */
async function waitUntil(isDone) {
  const last = performance.now() + ARRIVAL;
  while (!isDone() && performance.now() < last) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
