/** Requests to one collector, repeated while it is away. */

import { CollectorUnavailable, RequestRefused } from "./errors.js";

const AWAY = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE = 30_000;

/**
 * @typedef {object} Settings
 * @property {typeof globalThis.fetch} [fetch]
 * @property {number} [retries] How often a request is repeated.
 * @property {number} [backoff] Milliseconds before the first repetition, doubled for each other.
 * @property {number} [timeout] Milliseconds for one request.
 */

export class Transport {
  /**
   * @param {string} url
   * @param {Settings} settings
   */
  constructor(url, { fetch = globalThis.fetch, retries = 4, backoff = 500, timeout = 10_000 }) {
    this.url = url.replace(/\/+$/, "");
    this.fetch = fetch.bind(globalThis);
    this.retries = retries;
    this.backoff = backoff;
    this.timeout = timeout;
  }

  /**
   * @param {string} path
   * @param {unknown} [message] Sent as JSON by POST; a GET without one.
   * @returns {Promise<unknown>}
   * @throws {CollectorUnavailable | RequestRefused}
   */
  async request(path, message) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.once(path, message);
      } catch (error) {
        if (!(error instanceof CollectorUnavailable) || attempt >= this.retries) throw error;
      }
      // Jitter, so that many browsers do not come back at one moment.
      const pause = Math.min(this.backoff * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /**
   * @param {string} path
   * @param {unknown} message
   */
  async once(path, message) {
    let response;
    let text;
    try {
      response = await this.fetch(this.url + path, {
        method: message === undefined ? "GET" : "POST",
        headers: message === undefined ? {} : { "Content-Type": "application/json" },
        body: message === undefined ? undefined : JSON.stringify(message),
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        signal: AbortSignal.timeout(this.timeout),
      });
      text = await response.text();
    } catch {
      throw new CollectorUnavailable(`collector ${this.url} cannot be reached`);
    }
    if (AWAY.has(response.status)) {
      throw new CollectorUnavailable(`collector ${this.url} is not available`);
    }
    const answer = readObject(text);
    if (!response.ok) {
      const detail = answer?.detail ?? `the collector answered ${response.status}`;
      throw new RequestRefused(detail, response.status, answer?.field);
    }
    // The page where a network asks to log in, for instance.
    if (answer === null) throw notACollector(this.url, response.status);
    return answer;
  }
}

/**
 * @param {string} text
 * @returns {any} Null where it is no JSON object.
 */
function readObject(text) {
  try {
    const read = JSON.parse(text);
    return typeof read === "object" ? read : null;
  } catch {
    return null;
  }
}

/**
 * @param {string} url
 * @param {number} status
 */
export function notACollector(url, status) {
  return new RequestRefused(`${url} answered something that no collector would`, status);
}
