/** HTTP requests to one collector or relay, with retries; and modules that are loaded on demand. */

import { CollectorUnavailable, RequestRefused } from "./errors.js";

const AWAY = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE = 30_000;

/** Statuses for which `Retry-After` is used, and its largest value in milliseconds. */
const ASKING = new Set([429, 503]);
const LONGEST_WAIT = 60_000;

/**
 * Settings of HTTP requests.
 *
 * @typedef {object} Settings
 * @property {typeof globalThis.fetch} [fetch] Replacement for `fetch` of the browser.
 * @property {number} [retries] Largest number of retries; 4 by default.
 * @property {number} [backoff] Milliseconds before the first retry, doubled for each later one; 500
 * by default.
 * @property {number} [timeout] Milliseconds until a request fails; 10,000 by default.
 * @property {number} [patience]
 *   Largest number of milliseconds to wait as the collector requested by `Retry-After`; for longer
 * ones
 *   the request fails with `CollectorUnavailable`. 60,000 by default.
 */

export class Transport {
  #fetch;
  #settings;
  /** Time of `performance.now` before which the collector wants no request. */
  #notBefore = 0;

  /** @param {string} url
   * @param {Settings} settings
   * @param {"collector" | "relay"} [peer] Kind of server at this address. */
  constructor(url, { fetch = globalThis.fetch, ...settings }, peer = "collector") {
    this.peer = peer;
    /** The normalized address, without a trailing slash. */
    this.url = new URL(url).href.replace(/\/+$/, "");
    this.#fetch = fetch.bind(globalThis);
    const defaults = { retries: 4, backoff: 500, timeout: 10_000, patience: LONGEST_WAIT };
    this.#settings = { ...defaults, ...settings };
  }

  /** GET a JSON object, or POST a message.
   * @type {(path: string, message?: unknown) => Promise<unknown>} */
  async request(path, message) {
    let pause = 0;
    for (let attempt = 0; ; attempt += 1) {
      await this.#wait(pause);
      try {
        return await this.#once(path, message);
      } catch (error) {
        if (!(error instanceof CollectorUnavailable) || attempt >= this.#settings.retries) throw error;
      }
      // Jitter, so that many browsers do not retry at the same time.
      pause = Math.min(this.#settings.backoff * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random());
    }
  }

  /** Wait for the time that the collector requested, plus a pause in milliseconds.
   * @type {(pause: number) => Promise<void>}
   * @throws {CollectorUnavailable} If the requested time exceeds the setting `patience`. */
  async #wait(pause) {
    const requested = Math.max(this.#notBefore - performance.now(), 0);
    if (requested > this.#settings.patience) throw this.#unavailable();
    const whole = requested + pause;
    if (whole > 0) await new Promise((resolve) => setTimeout(resolve, whole));
  }

  #unavailable() {
    return new CollectorUnavailable(`${this.peer} ${this.url} is not available`);
  }

  /** @type {(path: string, message: unknown) => Promise<unknown>} */
  async #once(path, message) {
    let response;
    let text;
    try {
      response = await this.#fetch(this.url + path, {
        method: message === undefined ? "GET" : "POST",
        headers: message === undefined ? {} : { "Content-Type": "application/json" },
        body: message === undefined ? undefined : JSON.stringify(message),
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        // A survey that has not changed is not transferred again; the collector is asked each time.
        cache: message === undefined ? "no-cache" : "no-store",
        signal: AbortSignal.timeout(this.#settings.timeout),
      });
      text = await response.text();
    } catch {
      throw new CollectorUnavailable(`${this.peer} ${this.url} cannot be reached`);
    }
    if (AWAY.has(response.status)) {
      if (ASKING.has(response.status)) {
        this.#notBefore = Math.max(this.#notBefore, performance.now() + retryAfter(response));
      }
      throw this.#unavailable();
    }
    const answer = readObject(text);
    if (!response.ok) {
      const detail = answer?.detail ?? `the ${this.peer} answered ${response.status}`;
      throw new RequestRefused(detail, response.status, answer?.field);
    }
    // For example, the login page of a network.
    if (answer === null) throw this.refuse(response.status);
    return answer;
  }

  /** Error for a response that is not from a collector or relay.
   * @param {number} status */
  refuse(status) {
    return new RequestRefused(`${this.url} answered something that no ${this.peer} would`, status);
  }
}

/** Value of the header `Retry-After` in milliseconds; 0 if it is missing or not a number of
 * seconds.
 * @param {Response} response */
function retryAfter({ headers }) {
  const text = headers.get("Retry-After") ?? "";
  return /^\d+$/.test(text) ? Math.min(1000 * Number(text), LONGEST_WAIT) : 0;
}

/** Parse a JSON object; null if the text is invalid.
 * @type {(text: string) => any} */
function readObject(text) {
  try {
    const read = JSON.parse(text);
    return typeof read === "object" ? read : null;
  } catch {
    return null;
  }
}

/**
 * Await the import of a module that only some surveys need.
 *
 * @template T
 * @param {Promise<T>} module
 */
export async function loaded(module) {
  try {
    return await module;
  } catch {
    throw new CollectorUnavailable("a part of this page that the survey needs cannot be loaded");
  }
}
