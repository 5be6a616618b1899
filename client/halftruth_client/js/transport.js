/** Requests to one collector or relay, repeated while it is away; and modules that are loaded later. */

import { CollectorUnavailable, RequestRefused } from "./errors.js";

const AWAY = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE = 30_000;

/** Answers whose `Retry-After` counts, and the most of it, in milliseconds. */
const ASKING = new Set([429, 503]);
const LONGEST_WAIT = 60_000;

/**
 * @typedef {object} Settings
 * @property {typeof globalThis.fetch} [fetch]
 * @property {number} [retries] How often a request is repeated.
 * @property {number} [backoff] Milliseconds before the first repetition, doubled for each other.
 * @property {number} [timeout] Milliseconds for one request.
 * @property {number} [patience]
 *   Milliseconds up to which a request is held back because the collector asked to come later;
 *   beyond, it counts as one that could not be sent.
 */

export class Transport {
  #fetch;
  #settings;
  /** The moment before which the collector wants no request, as `performance.now` has it. */
  #notBefore = 0;

  /** @param {string} url
   * @param {Settings} settings
   * @param {"collector" | "relay"} [peer] What answers there. */
  constructor(url, { fetch = globalThis.fetch, ...settings }, peer = "collector") {
    this.peer = peer;
    /** The address in one spelling, without a slash at its end. */
    this.url = new URL(url).href.replace(/\/+$/, "");
    this.#fetch = fetch.bind(globalThis);
    const defaults = { retries: 4, backoff: 500, timeout: 10_000, patience: LONGEST_WAIT };
    this.#settings = { ...defaults, ...settings };
  }

  /** @type {(path: string, message?: unknown) => Promise<unknown>} */
  async request(path, message) {
    let pause = 0;
    for (let attempt = 0; ; attempt += 1) {
      await this.#wait(pause);
      try {
        return await this.#once(path, message);
      } catch (error) {
        if (!(error instanceof CollectorUnavailable) || attempt >= this.#settings.retries) throw error;
      }
      // Jitter, so that many browsers do not come back at one moment.
      pause = Math.min(this.#settings.backoff * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random());
    }
  }

  /** Wait as long as the collector asked for, and a pause in milliseconds.
   * @type {(pause: number) => Promise<void>}
   * @throws {CollectorUnavailable} If that is longer than the caller's patience. */
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
        cache: "no-store",
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
    // The page where a network asks to log in, for instance.
    if (answer === null) throw this.refuse(response.status);
    return answer;
  }

  /** @param {number} status Of an answer that something else gave in its stead. */
  refuse(status) {
    return new RequestRefused(`${this.url} answered something that no ${this.peer} would`, status);
  }
}

/** Milliseconds that a collector asks to wait; 0 where it does not say so in seconds.
 * @param {Response} response */
function retryAfter({ headers }) {
  const text = headers.get("Retry-After") ?? "";
  return /^\d+$/.test(text) ? Math.min(1000 * Number(text), LONGEST_WAIT) : 0;
}

/** Parse a JSON object; null if the text is none.
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
 * A module that most surveys do without.
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
