/** The respondent's side: fetch a survey, perturb a record here, send the report. */

import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
  RequestRefused,
  SurveyRefused,
} from "./errors.js";
import { browserStorage, isCounted, Memory } from "./memory.js";
import { holdAgainst, readFloor } from "./privacy.js";
import { Survey } from "./survey.js";
import { checkInvitation, readPins, readTerms } from "./terms.js";
import { notACollector, Transport } from "./transport.js";

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
 * @property {readonly string[]} [operatorKeys]
 *   Public keys of operators, in hexadecimal: a survey that none of them signed is refused.
 * @property {Pick<Storage, "getItem" | "setItem" | "key" | "length">} [storage]
 *   Where reports are remembered; `localStorage` by default.
 */

/**
 * What lets a report in where the survey asks for an invitation: 32 hexadecimal digits. It is kept
 * with a report that waits, and not sent where the survey asks for none.
 *
 * @typedef {{invitation?: string}} Delivery
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
  constructor(url, { maxGamma, unprotected = [], operatorKeys, storage, ...settings }) {
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
    this.operatorKeys = readPins(operatorKeys);
    /** @type {Map<string, Survey>} Surveys by id, with the terms that reports are sent by. */
    this.known = new Map();
    this.transport = new Transport(url, settings);
    this.memory = new Memory(this.transport.url, storage ?? browserStorage());
  }

  /**
   * Fetch a survey, verify its digest and signature and hold it against the privacy floor.
   *
   * @param {string} id
   * @returns {Promise<Survey>}
   */
  async survey(id) {
    const survey = await this.verified(id);
    holdAgainst(survey, this.floor, this.unprotected);
    return survey;
  }

  /**
   * Fetch a survey that is what it claims to be, and whose reports this browser can send.
   *
   * @param {string} id
   * @returns {Promise<Survey>}
   */
  async verified(id) {
    const path = `/v1/surveys/${encodeURIComponent(id)}`;
    const published = /** @type {Record<string, unknown>} */ (await this.transport.request(path));
    const survey = new Survey(published.survey);
    const digest = await survey.digest();
    if (digest !== published.digest || survey.id !== id) {
      throw new SurveyRefused(
        `survey '${id}': the collector's digest is not that of what it sent`,
        "digest",
      );
    }
    survey.isClosed = published.status === "closed";
    survey.terms = readTerms(published.terms);
    const { terms } = survey;
    if (this.operatorKeys !== null) {
      const { verify } = await loaded(import("./signing.js"));
      await verify({ terms, signature: published.signature }, digest, this.operatorKeys);
    }
    if (terms.sealingKey !== null) {
      const { checkSealing } = await loaded(import("./sealing.js"));
      await checkSealing(terms.sealingKey);
    }
    this.known.set(id, survey);
    return survey;
  }

  /**
   * Perturb a record and send the report. Whoever answers again sends the same report again.
   *
   * @param {Survey} survey
   * @param {Readonly<Record<string, string>>} record One answer for each attribute.
   * @param {Delivery} [delivery]
   * @returns {Promise<Submission>}
   */
  async submit(survey, record, delivery) {
    return this.deliver(survey, await this.draw(survey, record), delivery);
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
   * @param {Delivery} [delivery]
   * @returns {Promise<Submission>}
   */
  async deliver(survey, values, { invitation } = {}) {
    holdAgainst(survey, this.floor, this.unprotected);
    survey.schema.checkReport(values);
    const digest = await survey.digest();
    const before = this.before(survey.id, digest);
    const asked = this.asked(survey);
    if (before === null || !isCounted(before)) {
      checkInvitation(asked, invitation ?? before?.invitation);
    }
    await alone(this.memory.prefix + survey.id, () =>
      this.remember(survey.id, digest, values, invitation),
    );
    try {
      return await this.send(survey.id);
    } catch (error) {
      if (!(error instanceof CollectorUnavailable)) throw error;
      return { id: this.memory.get(survey.id)?.id ?? "", status: "waiting" };
    }
  }

  /**
   * The same survey with the terms that were fetched last, or those that it came with.
   *
   * @param {Survey} survey
   * @throws {SurveyRefused} If it must be signed and was not fetched by this client.
   */
  asked(survey) {
    const known = this.known.get(survey.id);
    if (known?.canonical === survey.canonical) return known;
    if (this.operatorKeys !== null) {
      throw new SurveyRefused(
        `operatorKeys: expected survey '${survey.id}' as this client fetched and verified it`,
        "operatorKeys",
      );
    }
    this.known.set(survey.id, survey);
    return survey;
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
   * Remember the one report of this survey, unless there is one already; that one may come with
   * another invitation, after one that was refused.
   *
   * @param {string} survey Its id.
   * @param {string} digest
   * @param {readonly number[]} values
   * @param {string} [invitation]
   */
  remember(survey, digest, values, invitation) {
    const found = this.before(survey, digest);
    if (found === null) {
      const id = crypto.randomUUID();
      this.memory.set(survey, { digest, id, values: [...values], sent: false, invitation });
    } else if (invitation !== undefined && !isCounted(found)) {
      const { id, values: kept } = found;
      this.memory.set(survey, { digest, id, values: kept, sent: false, invitation });
    }
  }

  /**
   * @param {string} survey Its id.
   * @param {boolean} [again] Whether to try once more if the terms have changed.
   * @returns {Promise<Submission>}
   */
  async send(survey, again = true) {
    const report = this.memory.get(survey);
    if (report === null) throw new ParameterError(`survey '${survey}': nothing to send`, "survey");
    const { digest, id, values } = report;
    /** @param {string} [refused] */
    const settle = (refused) =>
      this.memory.set(survey, { digest, id, values, sent: true, refused });
    const asked = await this.askedBy(report, survey);
    // Its invitation is spent and forgotten, so that nothing could be sent again.
    if (asked.terms.invitations && isCounted(report)) return { id, status: "duplicate" };
    const outdated = await whyNot(asked, report);
    if (outdated !== null) {
      settle(outdated.message);
      throw outdated;
    }
    const path = `/v1/surveys/${encodeURIComponent(survey)}/reports`;
    try {
      const reports = [await written(asked, report)];
      const receipt = /** @type {{accepted: number}} */ (
        await this.transport.request(path, { digest, reports })
      );
      if (!Number.isInteger(receipt.accepted)) throw notACollector(this.transport.url, 200);
      settle();
      return { id, status: receipt.accepted > 0 ? "accepted" : "duplicate" };
    } catch (error) {
      if (!isFinal(error)) throw error;
      if (again && error.status !== 409 && (await this.hasOtherTerms(asked))) {
        return this.send(survey, false);
      }
      settle(error.message);
      throw error;
    }
  }

  /**
   * The survey that a report answers, fetched where this page does not know its terms.
   *
   * @param {import("./memory.js").Remembered} report
   * @param {string} id Of the survey.
   */
  async askedBy({ digest }, id) {
    const known = this.known.get(id);
    return known && (await known.digest()) === digest ? known : this.verified(id);
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
    const now = await this.verified(id);
    if (terms.sealingKey !== null && now.terms.sealingKey === null) {
      this.known.set(id, survey);
      throw new SurveyRefused(
        `sealing_key: reports of survey '${id}' were to be sealed; expected a key as before`,
        "sealing_key",
      );
    }
    return JSON.stringify(now.terms) !== JSON.stringify(terms);
  }
}

/**
 * Why a remembered report can no longer be sent, or null.
 *
 * @param {Survey} survey As its collector asks it now.
 * @param {import("./memory.js").Remembered} report
 */
async function whyNot(survey, { digest, invitation }) {
  if ((await survey.digest()) !== digest) {
    return new SurveyRefused(`survey '${survey.id}': another version of it is asked now`, "digest");
  }
  if (survey.terms.invitations && invitation === undefined) {
    return new SurveyRefused(`survey '${survey.id}': it needs an invitation now`, "invitation");
  }
  return null;
}

/**
 * A report as the terms of its survey want it.
 *
 * @param {Survey} survey
 * @param {import("./memory.js").Remembered} report
 */
async function written({ schema, terms }, { digest, id, values, invitation }) {
  const ticket = terms.invitations ? invitation : undefined;
  if (terms.sealingKey === null) return { id, values, invitation: ticket };
  const { pack, seal } = await loaded(import("./sealing.js"));
  const packed = pack(values, schema.shape);
  return { id, sealed: await seal(terms.sealingKey, digest, { id, packed, invitation: ticket }) };
}

/**
 * Whether sending the same report again is pointless: the survey was closed or replaced, this is
 * no report, or it was not let in.
 *
 * @param {unknown} error
 * @returns {error is RequestRefused}
 */
function isFinal(error) {
  if (!(error instanceof RequestRefused)) return false;
  const { status, field } = error;
  return status === 409 || status === 422 || (status === 403 && field === "invitation");
}

/**
 * A module that most surveys do without.
 *
 * @template T
 * @param {Promise<T>} module
 */
async function loaded(module) {
  try {
    return await module;
  } catch {
    throw new CollectorUnavailable("a part of this page that the survey needs cannot be loaded");
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
