/** Fetch and verify the surveys of one collector, and check them against the caller's policy. */

import { CollectorUnavailable, ParameterError, SurveyRefused } from "./errors.js";
import { checkAmplification } from "./protection.js";
import { ONE, Rational } from "./rational.js";
import { Survey } from "./survey.js";
import { checkRelayTerms, checkSharedDevices, readPins, readTerms } from "./terms.js";
import { loaded } from "./transport.js";

/**
 * Privacy requirements of the caller, which every survey must satisfy.
 *
 * @typedef {object} Policy
 * @property {string | number} maxGamma Largest amplification: a survey with a larger one is refused.
 * @property {string | number} [maxAnswerGamma]
 *   Largest amplification of an answer, to someone who knows all other answers: the limit, instead of
 *   `maxGamma`, for surveys with the promise "answer".
 * @property {readonly string[]} [unprotected]
 *   Attributes that may be sent unperturbed. A survey with such an attribute is refused unless its
 *   digest or the key of an operator is pinned, since a name does not determine the question.
 * @property {readonly string[]} [digests] Digests of the surveys that may be answered; all by default.
 * @property {readonly string[]} [operatorKeys]
 *   Public keys of operators, in hexadecimal: surveys without a signature by one are refused.
 * @property {string | number} [maxTotalGamma]
 *   Largest total amplification of all reports from this browser at this web address (origin), to
 *   any surveys, whoever signed them: a survey that would exceed it is refused.
 * @property {string | null} [pageAddress]
 *   The web address (origin), which a survey of a series has to name; by default that of the page, if
 *   there is one. Null for a preview, which sends nothing.
 */

export class Catalog {
  #transport;
  #maxGamma;
  #maxAnswerGamma;
  #digests;
  #operatorKeys;
  #pageAddress;
  /** Surveys by id, with the accepted terms.
   * @type {Map<string, Survey>} */
  #entries = new Map();

  /** @param {import("./transport.js").Transport} transport
   * @param {Policy} policy */
  constructor(transport, policy) {
    const { maxGamma, maxAnswerGamma, unprotected = [], digests, operatorKeys, maxTotalGamma, pageAddress } = policy;
    if (!Array.isArray(unprotected)) throw new ParameterError("unprotected: expected a list", "unprotected");
    this.#transport = transport;
    this.#maxGamma = limitOf(maxGamma, "maxGamma");
    this.#maxAnswerGamma = maxAnswerGamma === undefined ? null : limitOf(maxAnswerGamma, "maxAnswerGamma");
    this.maxTotalGamma = maxTotalGamma === undefined ? null : limitOf(maxTotalGamma, "maxTotalGamma");
    this.unprotected = new Set(unprotected);
    this.#digests = readPins(digests, "digests") ?? [];
    this.#operatorKeys = readPins(operatorKeys);
    this.#pageAddress = pageAddress === undefined ? (globalThis.location?.origin ?? null) : pageAddress;
  }

  /** Refuse a survey that does not satisfy the policy, except for `maxTotalGamma`.
   * @param {Survey} survey */
  async check(survey) {
    const { unprotected } = this;
    const digests = this.#digests;
    const named = survey.schema.names.find((name) => unprotected.has(name));
    if (digests.length > 0 || (named !== undefined && this.#operatorKeys === null)) {
      const digest = await survey.digest();
      if (!digests.includes(digest)) {
        const why = named === undefined ? "" : `'${named}' may be sent unperturbed; `;
        throw new SurveyRefused(
          `survey '${survey.id}': ${why}expected digests: ["${digest}"], or operatorKeys`,
          "digests",
        );
      }
    }
    checkAmplification(survey, this.#maxGamma, unprotected, this.#maxAnswerGamma);
    this.#checkAddress(survey);
  }

  /** Refuse a survey of a series at another web address than its own. A browser has a memory for each
   * web address, and so would count the waves of the series on each of them from the start.
   * @param {Survey} survey */
  #checkAddress(survey) {
    const { id, series } = survey;
    if (series === null || this.#pageAddress === null || this.#pageAddress === series.origin) return;
    throw new SurveyRefused(
      `survey '${id}': its series is asked on pages of ${series.origin} alone; nothing was asked or sent;` +
        ` expected a page there, instead of ${this.#pageAddress}`,
      "series.origin",
      survey,
    );
  }

  /** Fetch and verify a survey whose reports this browser can send.
   * @type {(id: string) => Promise<Survey>} */
  async fetch(id) {
    const path = `/v1/surveys/${encodeURIComponent(id)}`;
    const published = /** @type {Record<string, unknown>} */ (await this.#transport.request(path));
    const survey = new Survey(published.survey);
    const digest = await survey.digest();
    if (digest !== published.digest || survey.id !== id) {
      throw new SurveyRefused(
        `survey '${id}': the collector's digest is not that of what it sent`,
        "digest",
      );
    }
    survey.isPlanned = published.status === "planned";
    survey.isClosed = published.status === "closed";
    const { closed_because: why } = published;
    survey.closedBecause = why === "deadline" || why === "quota" || why === "relay" ? why : "operator";
    survey.terms = readTerms(published.terms);
    checkRelayTerms(survey);
    checkSharedDevices(survey, this.maxTotalGamma !== null);
    survey.isPublished = true;
    const { terms } = survey;
    if (this.#operatorKeys !== null) {
      const { verify } = await loaded(import("./signing.js"));
      await verify({ terms, signature: published.signature }, digest, this.#operatorKeys);
    }
    const keys = survey.relay === null ? [terms.sealingKey] : [survey.relay.sealingKey, survey.relay.key];
    for (const key of keys.filter((each) => each !== null)) {
      const { checkSealing } = await loaded(import("./sealing.js"));
      await checkSealing(key);
    }
    this.#entries.set(id, survey);
    return survey;
  }

  /**
   * The survey with its latest terms, fetched if necessary.
   *
   * If the collector is unavailable, the survey is returned unchanged: its report waits for the terms.
   *
   * @param {Survey} survey
   */
  async published(survey) {
    const fetched = this.#entries.get(survey.id);
    if (fetched?.canonical === survey.canonical) return fetched;
    if (survey.isPublished && this.#operatorKeys === null) {
      this.#entries.set(survey.id, survey);
      return survey;
    }
    try {
      const now = await this.fetch(survey.id);
      if (now.canonical === survey.canonical) return now;
    } catch (error) {
      if (error instanceof CollectorUnavailable) return survey;
      throw error;
    }
    throw new SurveyRefused(`survey '${survey.id}': another version of it is asked now`, "digest");
  }

  /** The survey of a report, fetched if this page does not have its terms.
   * @type {(id: string, digest: string) => Promise<Survey>} */
  async entry(id, digest) {
    const fetched = this.#entries.get(id);
    return fetched && (await fetched.digest()) === digest ? fetched : this.fetch(id);
  }

  /**
   * Fetch a survey again, to see whether its terms have changed.
   *
   * If reports of a survey were sealed, they stay sealed until the caller fetches the survey again, so
   * that an impostor of the collector cannot request unsealed reports.
   *
   * @param {Survey} survey
   */
  async hasOtherTerms(survey) {
    const { id, terms } = survey;
    const now = await this.fetch(id);
    if (terms.sealingKey !== null && now.terms.sealingKey === null) {
      this.#entries.set(survey.id, survey);
      throw new SurveyRefused(
        `sealing_key: reports of survey '${id}' were to be sealed; expected a key as before`,
        "sealing_key",
      );
    }
    return JSON.stringify(now.terms) !== JSON.stringify(terms);
  }
}

/** @type {(written: unknown, field: string) => Rational} */
function limitOf(written, field) {
  const limit = Rational.parse(written, field);
  if (limit.compare(ONE) > 0) return limit;
  throw new ParameterError(`${field}: expected an amplification above 1`, field);
}
