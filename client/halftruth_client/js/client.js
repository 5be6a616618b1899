/** The respondent's side: fetch a survey, perturb a record here, send the report. */

import { fromHex, toHex } from "./bytes.js";
import { Catalog } from "./catalog.js";
import {
  AnsweredBefore, CollectorUnavailable, HalftruthError, ParameterError, RequestRefused, SurveyRefused,
} from "./errors.js";
import { entryOf } from "./ledger.js";
import { least } from "./mechanisms/base.js";
import { browserStorage, isCounted, Memory, once } from "./memory.js";
import { checkInvitation } from "./terms.js";
import { loaded, Transport } from "./transport.js";

/**
 * @import { PersonRecord } from "./schema.js"
 * @import { Survey } from "./survey.js"
 *
 * Outcome of sending a report: counted now, counted before, or kept until the collector is back.
 *
 * @typedef {{id: string, status: "accepted" | "duplicate" | "waiting"}} Submission
 *
 * A report that could not be sent, in one line why, and whether it is tried again.
 *
 * @typedef {{survey: string, reason: string, isWaiting: boolean}} Unsent
 *
 * Reports are remembered in `localStorage` by default, or with this page where there is none.
 *
 * @typedef {import("./catalog.js").Policy & {storage?: import("./memory.js").Store}} Options
 *
 * An invitation is 32 hexadecimal digits, where the survey asks for one. It is kept
 * with a report that waits, and not sent where the survey asks for none. A first report is not sent
 * before the moment `after`, in milliseconds since 1970.
 *
 * @typedef {{invitation?: string, after?: number}} Delivery
 */

/** What pages wait for one another by while they draw: all reports are in the same ledgers. */
const DRAWING = "halftruth:drawing";

/**
 * Perturbs records in this browser and sends the reports to one collector, and those of a survey with a
 * relay to the relay alone.
 *
 * A true record is never stored, logged, sent or put into an error.
 */
export class Client {
  #transport;
  /** @type {Map<string, Transport>} To relays, by address. */
  #relays = new Map();
  #settings;
  #catalog;
  #memory;
  /** @type {Set<string>} Ids of the reports that were drawn here. */
  #drawn = new Set();

  /**
   * @param {string} url Address of the collector.
   * @param {Options & import("./transport.js").Settings} options
   */
  constructor(url, options) {
    const { maxGamma, unprotected, digests, operatorKeys, maxTotalGamma, storage, ...settings } = options;
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      throw new ParameterError("url: expected an address with http:// or https://", "url");
    }
    if (globalThis.crypto?.subtle === undefined) {
      throw new ParameterError(
        "page: expected one over https or from this device; elsewhere browsers lack cryptography",
        "page",
      );
    }
    this.#transport = new Transport(url, settings);
    this.#settings = settings;
    const policy = { maxGamma, unprotected, digests, operatorKeys, maxTotalGamma };
    this.#catalog = new Catalog(this.#transport, policy);
    this.#memory = new Memory(storage ?? browserStorage());
  }

  /** Attributes that may be sent unperturbed. */
  get unprotected() {
    return this.#catalog.unprotected;
  }

  /** True if a report is still known after the page was closed. */
  get remembers() {
    return this.#memory.lasts;
  }

  /**
   * Amplification that is allowed of all reports together, of the survey's series and of this page's
   * limit; null where neither bounds it.
   *
   * @param {Survey} survey
   */
  allowedTotal({ series }) {
    const totals = [series?.totalGamma, this.#catalog.maxTotalGamma].filter((total) => total != null);
    return totals.length > 0 ? least(totals) : null;
  }

  /**
   * Fetch a survey, verify its digest and signature and hold it against the largest amplification, of
   * all reports together, too, unless it was answered.
   *
   * @param {string} id
   * @returns {Promise<Survey>}
   */
  async survey(id) {
    if (typeof id !== "string" || id === "") {
      throw new ParameterError("survey: expected the id of a survey", "survey");
    }
    const survey = await this.#catalog.fetch(id);
    await this.#catalog.check(survey);
    if (!this.#memory.has(id)) {
      this.#checkStorage(survey);
      const entry = entryOf(survey, await survey.digest());
      (await this.operatorLedger(survey)).check(survey, entry, this.#catalog.maxTotalGamma);
    }
    return survey;
  }

  /**
   * Refuse a survey whose reports are added up where a second visit would know nothing of the first.
   *
   * @param {Survey} survey
   * @throws {SurveyRefused}
   */
  #checkStorage({ id, series }) {
    if (this.remembers || (series === null && this.#catalog.maxTotalGamma === null)) return;
    const what = series === null ? "maxTotalGamma bounds" : "its series bounds";
    throw new SurveyRefused(
      `survey '${id}': ${what} what all reports tell, and this browser keeps nothing for this page;` +
        " nothing was asked or sent; expected a browser with storage",
      "storage",
    );
  }

  /**
   * What the reports cost that were drawn here for all surveys of the same operator.
   *
   * @param {Survey} survey
   */
  async operatorLedger(survey) {
    return this.#memory.ledger(await this.#catalog.operator(survey));
  }

  /**
   * What the reports cost that were drawn here for the series of a survey, or without one for all
   * surveys of the same operator.
   *
   * @param {Survey} survey
   */
  async ledger(survey) {
    const ledger = await this.operatorLedger(survey);
    return survey.series === null ? ledger : ledger.ofSeries(survey.series.id);
  }

  /**
   * Forget what all reports cost that were drawn here for surveys of the same operator, which resets
   * the protection: no total bounds what was sent before together with what is sent from then on.
   *
   * @param {Survey} survey
   */
  async forgetLedger(survey) {
    this.#memory.forgetLedger(await this.#catalog.operator(survey));
  }

  /**
   * Names of the attributes to ask about: for some mechanisms a few, drawn here once, before
   * anything is answered, and remembered.
   *
   * @param {Survey} survey
   */
  async asked(survey) {
    const digest = await survey.digest();
    const isDrawn = () => this.#memory.view(digest) !== null;
    await once(`${this.#memory.nameOf(survey.id)} view`, isDrawn, () => {
      const view = isDrawn() ? null : survey.drawView();
      if (view !== null) this.#memory.setView(digest, view);
    });
    return survey.asked(this.#memory.view(digest));
  }

  /**
   * Number of what was drawn to be asked about; none where that is always everything.
   *
   * @param {Survey} survey
   */
  async view(survey) {
    return this.#memory.view(await survey.digest()) ?? undefined;
  }

  /**
   * Ask the collector if an invitation is still unused.
   *
   * It is asked by the hash of the invitation, with which nobody could send a report, and neither
   * spends it nor is kept.
   *
   * @param {Survey} survey
   * @param {string} invitation
   * @returns {Promise<boolean | null>} Null where nobody knows.
   */
  async isUnspent(survey, invitation) {
    const hash = await crypto.subtle.digest("SHA-256", fromHex(invitation));
    const path = `/v1/surveys/${encodeURIComponent(survey.id)}/invitations/check`;
    const message = { hash: toHex(new Uint8Array(hash)) };
    try {
      const answer = await this.#transport.request(path, message);
      const { unspent } = /** @type {{unspent: unknown}} */ (answer);
      return typeof unspent === "boolean" ? unspent : null;
    } catch (error) {
      if (error instanceof HalftruthError) return null;
      throw error;
    }
  }

  /**
   * Perturb a record and send the report. Whoever answers again sends the same report again.
   *
   * The one draw is made here and remembered before anything is sent. If this fails, call it again:
   * the report that was drawn is sent. One that waits for a moment is sent by `flush` then.
   *
   * @param {Survey} survey
   * @param {PersonRecord} record Answers to the attributes; after `asked`, to each that it named.
   * @param {Delivery} [delivery]
   */
  async submit(survey, record, delivery) {
    return this.#deliver(survey, record, delivery);
  }

  /**
   * Send the report that this browser gave before once more.
   *
   * @param {Survey} survey
   * @param {Delivery} [delivery]
   */
  async resend(survey, delivery) {
    return this.#deliver(survey, null, delivery);
  }

  /**
   * The report that this browser gave before, unless it was to another version of the survey.
   *
   * @param {string} survey Its id.
   * @param {string} digest
   */
  before(survey, digest) {
    const report = this.#memory.get(survey);
    if (report !== null && report.digest !== digest) {
      throw new AnsweredBefore(
        `survey '${survey}': another version of it was answered here, and a second draw of the` +
          " same answers would tell more than one",
        "survey",
      );
    }
    return report;
  }

  /**
   * Send the report that this browser gave before, or a first one.
   *
   * @param {Survey} survey
   * @param {PersonRecord | null} record For the first one, if there is to be one.
   * @param {Delivery} [delivery]
   * @returns {Promise<Submission>}
   */
  async #deliver(survey, record, { invitation, after } = {}) {
    await this.#catalog.check(survey);
    const digest = await survey.digest();
    const before = this.before(survey.id, digest);
    if (before === null || !isCounted(before)) {
      checkInvitation(await this.#catalog.published(survey), invitation ?? before?.invitation);
    }
    const operator = await this.#catalog.operator(survey);
    const isDrawn = () => this.#memory.get(survey.id) !== null;
    await once(DRAWING, isDrawn, () =>
      this.#remember(survey, digest, operator, record, invitation, after),
    );
    try {
      return await this.#send(survey.id);
    } catch (error) {
      if (!(error instanceof CollectorUnavailable)) throw error;
      return { id: this.#memory.get(survey.id)?.id ?? "", status: "waiting" };
    }
  }

  /**
   * The moment before which the report of this survey is not sent, as Date has it; 0 without one.
   *
   * @param {string} survey Its id.
   */
  heldUntil(survey) {
    const after = this.#memory.get(survey)?.after ?? 0;
    return after > Date.now() ? after : 0;
  }

  /**
   * The remembered report of a survey, in this or another version, or null.
   *
   * @param {string} survey Its id.
   */
  report(survey) {
    return this.#memory.get(survey);
  }

  /** @param {string} survey Its id. */
  isWaiting(survey) {
    return this.#memory.isWaiting(survey);
  }

  /**
   * True if this survey's report was drawn by this very client, so that it is about the answers
   * that were given to it.
   *
   * @param {string} survey Its id.
   */
  hasDrawn(survey) {
    return this.#drawn.has(this.#memory.get(survey)?.id ?? "");
  }

  /** Treat no report as that of whoever answers next. */
  releaseReports() {
    this.#drawn.clear();
  }

  /**
   * Forget the report of this survey, which was counted, and what was drawn to be asked, so that
   * another person can answer here. What it costs stays in the ledger, where the survey counts once.
   *
   * @param {Survey} survey
   * @throws {ParameterError} If its operator takes one report from each device, or it still waits.
   */
  async forget(survey) {
    const { id } = survey;
    if (!(await this.#catalog.published(survey)).terms.sharedDevices) {
      throw new ParameterError(`survey '${id}': it takes one report from each device`, "survey");
    }
    const digest = await survey.digest();
    const isKept = () => this.#memory.get(id) !== null;
    await once(DRAWING, isKept, () => {
      const report = this.#memory.get(id);
      if (report !== null && !isCounted(report)) {
        throw new ParameterError(`survey '${id}': its report was not counted yet`, "survey");
      }
      this.#memory.remove(id, digest);
    });
  }

  /**
   * Send the reports that were kept while the collector was away. One that cannot be sent holds up no
   * other.
   *
   * @returns {Promise<{sent: Submission[], unsent: Unsent[]}>}
   */
  async flush() {
    const [sent, unsent] = [/** @type {Submission[]} */ ([]), /** @type {Unsent[]} */ ([])];
    for (const survey of this.#memory.waiting(this.#transport.url)) {
      try {
        sent.push(await this.#send(survey));
      } catch (error) {
        if (!(error instanceof HalftruthError)) throw error;
        unsent.push({ survey, reason: error.message, isWaiting: this.isWaiting(survey) });
      }
    }
    return { sent, unsent };
  }

  /**
   * Remember the one report of this survey, drawn here unless there is one already; that one may
   * come with another invitation, after one that was refused.
   *
   * @param {Survey} survey
   * @param {string} digest
   * @param {string} operator Whose ledger it is written into.
   * @param {PersonRecord | null} record
   * @param {string} [invitation]
   * @param {number} [after]
   */
  #remember(survey, digest, operator, record, invitation, after) {
    const collector = this.#transport.url;
    const before = this.before(survey.id, digest);
    if (before !== null) {
      if (isCounted(before)) return;
      const again = invitation !== undefined || before.refused === undefined;
      this.#memory.set(survey.id, {
        ...before,
        collector,
        ...(again ? { sent: false, refused: undefined, about: undefined } : {}),
        invitation: invitation ?? before.invitation,
      });
      return;
    }
    if (record === null) {
      throw new ParameterError(`survey '${survey.id}': expected one that was answered`, "survey");
    }
    this.#checkStorage(survey);
    const ledger = this.#memory.ledger(operator);
    ledger.check(survey, entryOf(survey, digest), this.#catalog.maxTotalGamma);
    const values = survey.perturb(record, undefined, this.#memory.view(digest));
    // First: whatever goes wrong now, a report may only be missing that was counted.
    this.#memory.setLedger(operator, ledger.with(entryOf(survey, digest, values)));
    const id = crypto.randomUUID();
    this.#drawn.add(id);
    const relayId = survey.relay === null ? undefined : crypto.randomUUID();
    this.#memory.set(survey.id, { digest, id, relayId, values, collector, sent: false, invitation, after });
  }

  /** @param {import("./survey.js").Relay} relay */
  #transportTo({ url }) {
    const transport = this.#relays.get(url) ?? new Transport(url, this.#settings, "relay");
    this.#relays.set(url, transport);
    return transport;
  }

  /**
   * @param {string} survey Its id.
   * @param {boolean} [again] Whether to try once more if the terms have changed.
   * @returns {Promise<Submission>}
   */
  async #send(survey, again = true) {
    const report = this.#memory.get(survey);
    if (report === null) throw new ParameterError(`survey '${survey}': nothing to send`, "survey");
    if (this.heldUntil(survey)) throw new CollectorUnavailable(`survey '${survey}': nothing to send yet`);
    const { digest, id } = report;
    /** @param {HalftruthError} [error] */
    const settle = (error) => {
      const [refused, about] = [error?.message, error?.field];
      this.#memory.set(survey, { ...report, sent: true, refused, about, invitation: undefined });
    };
    const published = await this.#catalog.entry(survey, report.digest);
    // Its invitation is spent and forgotten, so that nothing could be sent again.
    if (published.terms.invitations && isCounted(report)) return { id, status: "duplicate" };
    const refuse = (/** @type {string} */ why, /** @type {string} */ field) => {
      const refusal = new SurveyRefused(`survey '${survey}': ${why}`, field);
      settle(refusal);
      throw refusal;
    };
    if ((await published.digest()) !== digest) refuse("another version of it is asked now", "digest");
    if (published.terms.invitations && report.invitation === undefined) {
      refuse("it needs an invitation now", "invitation");
    }
    const path = `/v1/surveys/${encodeURIComponent(survey)}/reports`;
    try {
      const reports = [await messageOf(published, report)];
      // Where the survey has a relay, nobody else gets the report.
      const transport = published.relay === null ? this.#transport : this.#transportTo(published.relay);
      const receipt = /** @type {{accepted: number}} */ (await transport.request(path, { digest, reports }));
      if (!Number.isInteger(receipt.accepted)) throw transport.refuse(200);
      settle();
      return { id, status: receipt.accepted > 0 ? "accepted" : "duplicate" };
    } catch (error) {
      if (!isFinal(error)) throw error;
      if (again && error.status !== 409 && (await this.#catalog.hasOtherTerms(published))) {
        return this.#send(survey, false);
      }
      settle(error);
      throw error;
    }
  }
}

/**
 * The message that carries a report: plain or sealed, with an invitation where terms ask for one; or
 * for the relay of the survey, which knows it by another id.
 *
 * @param {Survey} survey
 * @param {import("./memory.js").Remembered} report
 */
async function messageOf({ mechanism, terms, relay }, { digest, id, relayId = "", values, invitation }) {
  if (relay !== null) {
    const { pack, sealForRelay } = await loaded(import("./sealing.js"));
    const packed = pack(values, mechanism.reportSpace.shape);
    return { id: relayId, sealed: await sealForRelay(relay, digest, { id, relayId, packed }) };
  }
  const ticket = terms.invitations ? invitation : undefined;
  if (terms.sealingKey === null) return { id, values, invitation: ticket };
  const { pack, seal } = await loaded(import("./sealing.js"));
  const packed = pack(values, mechanism.reportSpace.shape);
  return { id, sealed: await seal(terms.sealingKey, digest, { id, packed, invitation: ticket }) };
}

/**
 * True if sending the same report again is pointless: the survey was closed or replaced, this is
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
