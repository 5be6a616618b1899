/**
 * Persistent memory in the browser: the report of each survey, the view drawn for it, and the cost of
 * all reports. Browsers have a separate storage for each web address (origin).
 *
 * Two draws of the same answers reveal more than one, so answering again sends the same report. Only
 * reports are stored, never records. Surveys are identified by id, independently of the address of the
 * collector; the stored digest distinguishes versions.
 */

import { AnsweredBefore, SurveyRefused } from "./errors.js";
import { Ledger } from "./ledger.js";

/**
 * @typedef {object} Remembered
 * @property {string} digest Digest of the answered survey.
 * @property {string} id Id of the report.
 * @property {string} [relayId] Id of the report at the relay of the survey, which never sees `id`.
 * @property {number[]} values
 * @property {string} collector Address of the collector.
 * @property {boolean} sent Whether the collector gave a final response.
 * @property {string} [refused] Message of the collector, if it refused the report.
 * @property {string} [about] Field of the refusal, if any.
 * @property {string} [invitation] Invitation of the report, until the final response.
 * @property {string} [ticket] Ticket of the report, until it was counted.
 * @property {number} [after] Time before which the report is not sent, in milliseconds since 1970.
 */

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">} Store */

const PREFIX = "halftruth:";
const VIEW_PREFIX = "halftruth-view:";
const TICKET_PREFIX = "halftruth-ticket:";
const LEDGER = "halftruth-ledger";
const PREFIXES = [PREFIX, VIEW_PREFIX, TICKET_PREFIX, LEDGER];

/** Key for testing whether there is space; it cannot be the key of a survey. */
const PROBE = "halftruth-probe";

/** Number of characters of the test, so that there is space for a report and its cost. */
const ROOM = 16_384;

/** Member of the history state of the page. */
const ENTRY = "halftruth";

/** Milliseconds for which a page announces a write; far longer than the write takes to propagate. */
const SPREADING = 10_000;

/** Largest number of milliseconds to wait for a write of another page. */
const ARRIVAL = 2_000;

/** Functions that end the announcements of this page, by name.
 * @type {Map<string, () => void>} */
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
    /** True if reports are still stored after the page was closed. */
    this.lasts = !(storage instanceof PageStorage);
  }

  /** The key of the report of a survey, which is also the name of its lock.
   * @param {string} survey */
  nameOf(survey) {
    return PREFIX + survey;
  }

  /** @param {string} survey */
  has(survey) {
    return this.#storage.getItem(this.nameOf(survey)) !== null;
  }

  /** @type {(survey: string) => Remembered | null}
   * @throws {AnsweredBefore} If the stored report is damaged: the survey was answered. */
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

  /** The ledger of all reports, which is kept longer than these.
   * @type {() => Ledger}
   * @throws {SurveyRefused} If the ledger is damaged. */
  ledger() {
    const text = this.#storage.getItem(LEDGER) ?? "[]";
    try {
      const ledger = new Ledger(JSON.parse(text));
      // Parse all numbers once, to detect damage here.
      void ledger.gamma;
      return ledger;
    } catch {
      throw new SurveyRefused("ledger: what this browser kept of earlier reports is damaged", "ledger");
    }
  }

  /** @param {Ledger} ledger */
  setLedger({ entries }) {
    this.#storage.setItem(LEDGER, JSON.stringify(entries));
  }

  forgetLedger() {
    this.#storage.removeItem(LEDGER);
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

  /** The ticket of a report that is not drawn yet, as text.
   * @param {string} digest */
  ticket(digest) {
    return this.#storage.getItem(TICKET_PREFIX + digest);
  }

  /** @type {(digest: string, ticket: string) => void} */
  setTicket(digest, ticket) {
    this.#storage.setItem(TICKET_PREFIX + digest, ticket);
  }

  /** Delete the ticket, once its report was drawn.
   * @param {string} digest */
  removeTicket(digest) {
    this.#storage.removeItem(TICKET_PREFIX + digest);
  }

  /** Delete the report and the view of a survey, so that another person can answer.
   * @type {(survey: string, digest: string) => void} */
  remove(survey, digest) {
    this.#storage.removeItem(this.nameOf(survey));
    this.#storage.removeItem(VIEW_PREFIX + digest);
    this.removeTicket(digest);
  }

  /** Ids of the surveys whose reports wait to be sent to a collector.
   * @type {(collector: string) => string[]} */
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

/** @implements {Store} In-memory storage. */
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
 * Storage in the history state of the page, used if the browser stores nothing or has no space left.
 * Reloading the page or navigating back keeps it, so that these do not lead to a second draw.
 */
class PageStorage extends ShortStorage {
  items = new Map([...keptItems(), ...Object.entries(stateOfHistory()[ENTRY] ?? {})]);

  constructor() {
    super();
    // Copy the items to every history entry, since any of them can be loaded again.
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

/** @type {(kept: any) => kept is Remembered} */
function isReport(kept) {
  const isText = ["digest", "id", "collector"].every((name) => typeof kept?.[name] === "string");
  return isText && typeof kept.sent === "boolean" && Array.isArray(kept.values);
}

/** History state of the page; an empty object if it is not an object. */
function stateOfHistory() {
  const state = globalThis.history?.state;
  return typeof state === "object" && state !== null ? state : {};
}

/** Earlier items in the storage of a browser without space for more.
 * @returns {[string, string][]} */
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

/** The storage of the browser, or that of the page if it is missing, full or forbidden. */
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
 * Run an action in one page of this browser at a time, if the browser supports locks.
 *
 * Pages take turns with a lock. But a write to `localStorage` reaches other processes with a delay,
 * perhaps after the lock. So a page that has written holds a second lock for a while, which all pages
 * see immediately, and the next page waits until it sees the write.
 *
 * @type {(name: string, isDone: () => boolean, action: () => unknown) => Promise<void>}
 */
export async function once(name, isDone, action) {
  let ran = false;
  const turn = async () => {
    ran = true;
    if (!isDone() && (await hasOtherWriter(name))) await waitUntil(isDone);
    const before = isDone();
    await action();
    if (isDone() && !before) await announce(name);
    else if (!isDone()) announced.get(name)?.();
  };
  const locks = globalThis.navigator?.locks;
  if (!locks) {
    await action();
    return;
  }
  try {
    await locks.request(name, turn);
  } catch (error) {
    // A browser without storage has no locks either; its pages are independent.
    if (ran) throw error;
    await action();
  }
}

/** @param {string} name */
function writerLock(name) {
  return `${name} is written`;
}

/** True if another page announces a write; this page holds the lock.
 * @type {(name: string) => Promise<boolean>} */
async function hasOtherWriter(name) {
  const { held = [] } = await navigator.locks.query();
  const own = held.find((lock) => lock.name === name)?.clientId;
  return held.some((lock) => lock.name === writerLock(name) && lock.clientId !== own);
}

/** @param {string} name Of the second lock, which is taken before the first one is released. */
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
