/** The surveys of one collector: what it publishes, and whether that is believed and enough. */

import { CollectorUnavailable, ParameterError, SurveyRefused } from "./errors.js";
import { checkAmplification } from "./protection.js";
import { ONE, Rational } from "./rational.js";
import { Survey } from "./survey.js";
import { checkRelayTerms, readPins, readTerms } from "./terms.js";
import { loaded } from "./transport.js";

/**
 * Privacy requirements of a caller, whatever the survey says of itself.
 *
 * @typedef {object} Policy
 * @property {string | number} maxGamma
 *   Largest amplification: a survey with a larger one is refused.
 * @property {readonly string[]} [unprotected]
 *   Attributes that may be sent unperturbed: a survey that has one is refused unless its digest or
 *   an operator's key is pinned, since a name does not say what is asked by it.
 * @property {readonly string[]} [digests] Of the surveys that may be answered; any by default.
 * @property {readonly string[]} [operatorKeys]
 *   Public keys of operators, in hexadecimal: a survey that none of them signed is refused.
 * @property {string | number} [maxTotalGamma]
 *   Largest amplification of all reports from this browser together, of surveys that one pinned key
 *   signed or, without pins, of all: a survey that would exceed it is refused.
 */

const DIGEST = /^[0-9a-f]{64}$/;

export class Catalog {
  #transport;
  #maxGamma;
  #digests;
  #operatorKeys;
  /** @type {Map<string, Survey>} Surveys by id, with the terms that reports are sent by. */
  #entries = new Map();

  /**
   * @param {import("./transport.js").Transport} transport
   * @param {Policy} policy
   */
  constructor(transport, { maxGamma, unprotected = [], digests, operatorKeys, maxTotalGamma }) {
    if (!Array.isArray(unprotected)) throw new ParameterError("unprotected: expected a list", "unprotected");
    this.#transport = transport;
    this.#maxGamma = limitOf(maxGamma, "maxGamma");
    this.maxTotalGamma = maxTotalGamma === undefined ? null : limitOf(maxTotalGamma, "maxTotalGamma");
    this.unprotected = new Set(unprotected);
    this.#digests = readDigests(digests) ?? [];
    this.#operatorKeys = readPins(operatorKeys);
  }

  /** @param {Survey} survey */
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
    checkAmplification(survey, this.#maxGamma, unprotected);
  }

  /**
   * Fetch a survey that is what it claims to be, and whose reports this browser can send.
   *
   * @param {string} id
   * @returns {Promise<Survey>}
   */
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
    survey.isClosed = published.status === "closed";
    const { closed_because: why } = published;
    survey.closedBecause = why === "deadline" || why === "quota" ? why : "operator";
    survey.terms = readTerms(published.terms);
    checkRelayTerms(survey);
    survey.isPublished = true;
    const { terms } = survey;
    if (this.#operatorKeys !== null) {
      const { verify } = await loaded(import("./signing.js"));
      survey.operator = await verify(
        { terms, signature: published.signature },
        digest,
        this.#operatorKeys,
      );
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
   * The same survey with the terms that were fetched last, or are fetched now.
   *
   * While the collector is away it is the survey itself: its report waits for the terms.
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

  /**
   * The pinned key that signed a survey, which has a ledger of its own; without pins all have one.
   *
   * @param {Survey} survey
   * @throws {CollectorUnavailable} If several are pinned and it cannot be asked which.
   */
  async operator(survey) {
    const keys = this.#operatorKeys ?? [""];
    if (keys.length === 1) return keys[0];
    const { operator } = await this.published(survey);
    if (operator === "") throw new CollectorUnavailable(`survey '${survey.id}': nobody says who signed it`);
    return operator;
  }

  /**
   * The survey that a report answers, fetched where this page has not its terms.
   *
   * @param {string} id
   * @param {string} digest
   */
  async entry(id, digest) {
    const fetched = this.#entries.get(id);
    return fetched && (await fetched.digest()) === digest ? fetched : this.fetch(id);
  }

  /**
   * Fetch a survey again, to see whether its collector takes reports otherwise now.
   *
   * One whose reports were sealed stays so until the caller fetches it: whoever answers in the
   * collector's stead cannot ask for a report in the clear.
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

/**
 * @param {unknown} digests
 * @returns {readonly string[] | null} Null without a list, where any survey may be answered.
 */
function readDigests(digests) {
  if (digests === undefined) return null;
  const isDigest = (/** @type {unknown} */ each) => typeof each === "string" && DIGEST.test(each);
  // An empty list is more likely an oversight than a wish to let every survey in.
  if (Array.isArray(digests) && digests.length > 0 && digests.every(isDigest)) return [...digests];
  throw new ParameterError(
    "digests: expected a list of digests, each of 64 lower-case hexadecimal digits",
    "digests",
  );
}

/** @type {(written: unknown, field: string) => Rational} */
function limitOf(written, field) {
  const limit = Rational.parse(written, field);
  if (limit.compare(ONE) > 0) return limit;
  throw new ParameterError(`${field}: expected an amplification above 1`, field);
}
