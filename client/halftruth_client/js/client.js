/** The respondent's side: fetch a survey, perturb a record here, send the report. */

import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
  RequestRefused,
  SurveyRefused,
} from "./errors.js";
import { browserStorage, Memory } from "./memory.js";
import { holdAgainst, readFloor } from "./privacy.js";
import { Survey } from "./survey.js";
import { notACollector, Transport } from "./transport.js";

/** Refusals that make sending the same report again pointless: closed or replaced, no report. */
const FINAL = new Set([409, 422]);

/**
 * What became of a report: counted now, counted before, or kept until the collector is back.
 *
 * @typedef {{id: string, status: "accepted" | "duplicate" | "waiting"}} Submission
 */

/**
 * @typedef {object} Options
 * @property {string | number} maxGamma
 *   Privacy floor: a survey with a larger amplification is refused.
 * @property {readonly string[]} [unprotected] Attributes that may be sent as they are.
 * @property {Pick<Storage, "getItem" | "setItem" | "key" | "length">} [storage]
 *   Where reports are remembered; `localStorage` by default.
 */

/**
 * Perturbs records in this browser and sends the reports to one collector.
 *
 * A true record is never stored, logged, sent or put into an error.
 */
export class Client {
  /**
   * @param {string} url Address of the collector.
   * @param {Options & import("./transport.js").Settings} options
   */
  constructor(url, { maxGamma, unprotected = [], storage, ...settings }) {
    if (!/^https?:\/\//.test(url)) {
      throw new ParameterError("url: expected an address with http:// or https://", "url");
    }
    if (!Array.isArray(unprotected)) {
      throw new ParameterError("unprotected: expected a list of names", "unprotected");
    }
    if (globalThis.crypto?.subtle === undefined) {
      throw new ParameterError(
        "page: expected one that came over https or from this device; elsewhere browsers lack the" +
          " cryptography that is needed",
        "page",
      );
    }
    this.floor = readFloor(maxGamma);
    this.unprotected = new Set(unprotected);
    this.transport = new Transport(url, settings);
    this.memory = new Memory(this.transport.url, storage ?? browserStorage());
  }

  /**
   * Fetch a survey, verify its digest and hold it against the privacy floor.
   *
   * @param {string} id
   * @returns {Promise<Survey>}
   */
  async survey(id) {
    const path = `/v1/surveys/${encodeURIComponent(id)}`;
    const published = /** @type {Record<string, unknown>} */ (await this.transport.request(path));
    const survey = new Survey(published.survey);
    if ((await survey.digest()) !== published.digest || survey.id !== id) {
      throw new SurveyRefused(
        `survey '${id}': the collector's digest is not that of what it sent`,
        "digest",
      );
    }
    survey.isClosed = published.status === "closed";
    holdAgainst(survey, this.floor, this.unprotected);
    return survey;
  }

  /**
   * Perturb a record and send the report. Whoever answers again sends the same report again.
   *
   * @param {Survey} survey
   * @param {Readonly<Record<string, string>>} record One answer for each attribute.
   * @returns {Promise<Submission>}
   */
  async submit(survey, record) {
    return this.deliver(survey, await this.draw(survey, record));
  }

  /**
   * Values of the report of a record: those that this browser gave before, or a first draw.
   *
   * To show what will be sent before it is; nothing is stored or sent.
   *
   * @param {Survey} survey
   * @param {Readonly<Record<string, string>>} record
   * @returns {Promise<number[]>}
   */
  async draw(survey, record) {
    return this.before(survey.id, await survey.digest())?.values ?? survey.perturb(record);
  }

  /**
   * The report that this browser gave before, unless it was to another version of the survey.
   *
   * @param {string} survey Its id.
   * @param {string} digest
   */
  before(survey, digest) {
    const found = this.memory.get(survey);
    if (found !== null && found.digest !== digest) {
      throw new AnsweredBefore(
        `survey '${survey}': another version of it was answered here, and a second draw of the` +
          " same answers would tell more than one",
        "survey",
      );
    }
    return found;
  }

  /**
   * Send a report, or the one that this browser gave before.
   *
   * @param {Survey} survey
   * @param {readonly number[]} values As `draw` gave them.
   * @returns {Promise<Submission>}
   */
  async deliver(survey, values) {
    holdAgainst(survey, this.floor, this.unprotected);
    const digest = await survey.digest();
    await alone(this.memory.prefix + survey.id, () => this.remember(survey, digest, values));
    try {
      return await this.send(survey.id);
    } catch (error) {
      if (!(error instanceof CollectorUnavailable)) throw error;
      return { id: this.memory.get(survey.id)?.id ?? "", status: "waiting" };
    }
  }

  /**
   * Whether this browser answered a survey, in this or another version.
   *
   * @param {string} survey Its id.
   */
  answered(survey) {
    return this.memory.get(survey) !== null;
  }

  /**
   * Whether a report of this survey was not acknowledged yet.
   *
   * @param {string} survey Its id.
   */
  isWaiting(survey) {
    return this.memory.isWaiting(survey);
  }

  /**
   * Why the collector refused the report of this survey for good, or null.
   *
   * @param {string} survey Its id.
   * @returns {string | null}
   */
  refusal(survey) {
    return this.memory.get(survey)?.refused ?? null;
  }

  /**
   * Send the reports that were kept while the collector was away.
   *
   * @returns {Promise<Submission[]>}
   */
  async flush() {
    const sent = [];
    for (const survey of this.memory.waiting()) {
      try {
        sent.push(await this.send(survey));
      } catch (error) {
        if (!(error instanceof HalftruthError)) throw error;
      }
    }
    return sent;
  }

  /**
   * Remember the one report of this survey, unless there is one already.
   *
   * @param {Survey} survey
   * @param {string} digest
   * @param {readonly number[]} values
   */
  remember(survey, digest, values) {
    if (this.before(survey.id, digest) !== null) return;
    const id = crypto.randomUUID();
    this.memory.set(survey.id, { digest, id, values: [...values], sent: false });
  }

  /**
   * @param {string} survey Its id.
   * @returns {Promise<Submission>}
   */
  async send(survey) {
    const report = this.memory.get(survey);
    if (report === null) throw new ParameterError(`survey '${survey}': nothing to send`, "survey");
    const { digest, id, values } = report;
    /** @param {string} [refused] */
    const settled = (refused) =>
      this.memory.set(survey, { digest, id, values, sent: true, refused });
    const path = `/v1/surveys/${encodeURIComponent(survey)}/reports`;
    try {
      const receipt = /** @type {{accepted: number}} */ (
        await this.transport.request(path, { digest, reports: [{ id, values }] })
      );
      if (!Number.isInteger(receipt.accepted)) throw notACollector(this.transport.url, 200);
      settled();
      return { id, status: receipt.accepted > 0 ? "accepted" : "duplicate" };
    } catch (error) {
      if (error instanceof RequestRefused && FINAL.has(error.status)) settled(error.message);
      throw error;
    }
  }
}

/**
 * Run while no other page of this browser does, where the browser can tell.
 *
 * @param {string} name
 * @param {() => void} action
 */
async function alone(name, action) {
  if (globalThis.navigator?.locks) await navigator.locks.request(name, async () => action());
  else action();
}
