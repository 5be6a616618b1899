/** Client for respondents: fetch a survey, perturb a record in this browser, and send the report.
 * */

import { concat, fromHex, toHex } from "./bytes.js";
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
 * A report that could not be sent: the reason in one line, and whether it waits for a retry.
 *
 * @typedef {{survey: string, reason: string, isWaiting: boolean}} Unsent
 *
 * Reports are stored in `localStorage` by default, or in the history state of the page without it.
 *
 * @typedef {import("./catalog.js").Policy & {storage?: import("./memory.js").Store}} Options
 *
 * The invitation, if the survey requires one, has 32 hexadecimal digits. It is stored with a waiting
 * report, and not sent if the survey does not require it. A new report is not sent before the time
 * `after`, in milliseconds since 1970.
 *
 * @typedef {{invitation?: string, after?: number}} Delivery
 */

/** Longest timeout in milliseconds of a request whose answer is not needed. */
const BRIEF = 3_000;

/** Name of the lock between pages while they draw, one for all surveys since they share ledgers. */
const DRAWING = "halftruth:drawing";

/**
 * Client for respondents: perturbs records in this browser and sends the reports to a collector, or to
 * the relay of the survey.
 *
 * A report is stored before it is sent (outbox) and every retry sends the same one, so that it counts
 * exactly once. A true record is never stored, logged, sent or included in an error.
 */
export class Client {
  #transport;
  /** Transports to relays by address.
   * @type {Map<string, Transport>} */
  #relays = new Map();
  #settings;
  #catalog;
  #memory;
  /** Ids of the reports that this client drew.
   * @type {Set<string>} */
  #drawn = new Set();

  /** @param {string} url Address of the collector.
   * @param {Options & import("./transport.js").Settings} options */
  constructor(url, options) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      throw new ParameterError("url: expected an address with http:// or https://", "url");
    }
    if (globalThis.crypto?.subtle === undefined) {
      throw new ParameterError(
        "page: expected one over https or from this device; elsewhere browsers lack cryptography",
        "page",
      );
    }
    this.#transport = new Transport(url, options);
    this.#settings = options;
    this.#catalog = new Catalog(this.#transport, options);
    this.#memory = new Memory(options.storage ?? browserStorage());
  }

  /** Attributes that may be sent unperturbed. */
  get unprotected() {
    return this.#catalog.unprotected;
  }

  /** True if reports are still stored after the page was closed. */
  get remembers() {
    return this.#memory.lasts;
  }

  /** Largest allowed amplification of all reports together, of the series or of this page; null without either.
   * @param {Survey} survey */
  allowedTotal({ series }) {
    const totals = [series?.totalGamma, this.#catalog.maxTotalGamma].filter((total) => total != null);
    return totals.length > 0 ? least(totals) : null;
  }

  /** Fetch a survey, verify its digest and signature, and check it against the policy; unless it
   * was answered before, also check the total amplification of all reports.
   * @type {(id: string) => Promise<Survey>} */
  async survey(id) {
    if (typeof id !== "string" || id === "") {
      throw new ParameterError("survey: expected the id of a survey", "survey");
    }
    const survey = await this.#catalog.fetch(id);
    await this.#catalog.check(survey);
    if (!this.#memory.has(id)) {
      this.#checkStorage(survey);
      const entry = entryOf(survey, await survey.digest());
      this.#memory.ledger().check(survey, entry, this.#catalog.maxTotalGamma);
    }
    return survey;
  }

  /** Refuse a survey that needs the ledger, if this browser cannot store one.
   * @param {Survey} survey */
  #checkStorage({ id, series }) {
    if (this.remembers || (series === null && this.#catalog.maxTotalGamma === null)) return;
    const what = series === null ? "maxTotalGamma bounds" : "its series bounds";
    throw new SurveyRefused(
      `survey '${id}': ${what} what all reports tell, and this browser keeps nothing for this page;` +
        " nothing was asked or sent; expected a browser with storage",
      "storage",
    );
  }

  /** Ledger of all reports from this browser at this web address, to any surveys. */
  async ledger() {
    return this.#memory.ledger();
  }

  /** Delete the ledger of all reports at this web address, which resets the protection. */
  async forgetLedger() {
    this.#memory.forgetLedger();
  }

  /** Names of the attributes to ask. For a split questionnaire they are drawn once, before anything
   * is answered, and stored; from a ticket of the collector or the relay, if the survey requires one. An
   * invitation, if reports need one, admits three tickets.
   * @type {(survey: Survey, invitation?: string) => Promise<readonly string[]>} */
  async asked(survey, invitation) {
    const digest = await survey.digest();
    const memory = this.#memory;
    const isDrawn = () => memory.view(digest) !== null && !this.#lacksTicket(survey, digest);
    await once(`${memory.nameOf(survey.id)} view`, isDrawn, async () => {
      if (isDrawn()) return;
      const view = survey.hasTickets ? await this.#viewByTicket(survey, digest, invitation) : survey.drawView();
      if (view !== null) memory.setView(digest, view);
    });
    return survey.asked(memory.view(digest));
  }

  /** @type {(survey: Survey, digest: string) => boolean} */
  #lacksTicket({ id, hasTickets }, digest) {
    return hasTickets && !this.#memory.has(id) && this.#memory.ticket(digest) === null;
  }

  /** Take a ticket, store it, and return the number of its view.
   * @type {(survey: Survey, digest: string, invitation?: string) => Promise<number>} */
  async #viewByTicket(survey, digest, invitation) {
    const published = await this.#catalog.published(survey);
    checkInvitation(published, invitation);
    const invitations = published.terms.invitations ? [await hashOf(invitation ?? "")] : undefined;
    const { takeTicket } = await loaded(import("./tickets.js"));
    const { ticket, view } = await takeTicket(this.#transportTo(survey), survey, digest, invitations);
    this.#memory.setTicket(digest, ticket);
    return view;
  }

  /** Number of the drawn view; undefined if everybody is asked everything.
   * @param {Survey} survey */
  async view(survey) {
    return this.#memory.view(await survey.digest()) ?? undefined;
  }

  /** Ask the collector whether an invitation is unused; null if it does not answer. Only the hash is sent,
   * which cannot be used to send a report, and the check is not recorded.
   * @type {(survey: Survey, invitation: string) => Promise<boolean | null>} */
  async isUnspent(survey, invitation) {
    const path = `/v1/surveys/${encodeURIComponent(survey.id)}/invitations/check`;
    const message = { hash: await hashOf(invitation) };
    try {
      const answer = await this.#transport.request(path, message);
      const { unspent } = /** @type {{unspent: unknown}} */ (answer);
      return typeof unspent === "boolean" ? unspent : null;
    } catch (error) {
      if (error instanceof HalftruthError) return null;
      throw error;
    }
  }

  /** Ask the relay of a survey whether it takes reports of it; null without a relay, if the relay does not
   * answer, or if something else answers in its place: a report would wait for it then. Null, too, if
   * the relay is asked for a ticket anyway.
   * @type {(survey: Survey) => Promise<boolean | null>} */
  async isTakenByRelay(survey) {
    if (survey.relay === null || this.#lacksTicket(survey, await survey.digest())) return null;
    const brief = { ...this.#settings, retries: 0, timeout: Math.min(this.#settings.timeout ?? BRIEF, BRIEF) };
    const relay = new Transport(survey.relay.url, brief, "relay");
    try {
      const answer = await relay.request(`/v1/surveys/${encodeURIComponent(survey.id)}`);
      const { digest, status } = /** @type {{digest: unknown, status: unknown}} */ (answer);
      if (status !== "open" && status !== "closed") return null;
      return status === "open" && digest === (await survey.digest());
    } catch (error) {
      if (!(error instanceof HalftruthError)) throw error;
      return isUntaken(error) ? false : null;
    }
  }

  /**
   * Perturb a record and send the report; if a report was drawn before, send that one (idempotent).
   *
   * The report is stored before it is sent. After a failure, call this again: it retries the stored
   * report. A report that is held back is sent by `flush` after its time.
   *
   * @param {Survey} survey
   * @param {PersonRecord} record Answers to all attributes or, after `asked`, to those it returned.
   * @param {Delivery} [delivery]
   */
  submit(survey, record, delivery) {
    return this.#deliver(survey, record, delivery);
  }

  /** Send the stored report again.
   * @type {(survey: Survey, delivery?: Delivery) => Promise<Submission>} */
  resend(survey, delivery) {
    return this.#deliver(survey, null, delivery);
  }

  /** Stored report of this survey, or null.
   * @type {(survey: string, digest: string) => import("./memory.js").Remembered | null}
   * @throws {AnsweredBefore} If the report is of another version of the survey. */
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

  /** @type {(survey: Survey, record: PersonRecord | null, delivery?: Delivery) => Promise<Submission>} */
  async #deliver(survey, record, delivery = {}) {
    await this.#catalog.check(survey);
    const digest = await survey.digest();
    const before = this.before(survey.id, digest);
    if (before === null || !isCounted(before)) {
      const published = await this.#catalog.published(survey);
      checkInvitation(published, delivery.invitation ?? before?.invitation);
      // It may have opened since it was fetched.
      if (before === null && published.isPlanned && (await this.#catalog.fetch(survey.id)).isPlanned) {
        throw published.opensLater();
      }
    }
    const isDrawn = () => this.#memory.get(survey.id) !== null;
    // Without a ticket nothing is drawn. Usually there is one since before the first question.
    if (survey.hasTickets && before === null && record !== null) await this.asked(survey, delivery.invitation);
    await once(DRAWING, isDrawn, () => this.#remember(survey, digest, record, delivery));
    try {
      return await this.#send(survey.id);
    } catch (error) {
      if (!(error instanceof CollectorUnavailable)) throw error;
      return { id: this.#memory.get(survey.id)?.id ?? "", status: "waiting" };
    }
  }

  /** Time until which the report is held back, in milliseconds since 1970; 0 if it is not.
   * @param {string} survey */
  heldUntil(survey) {
    const after = this.#memory.get(survey)?.after ?? 0;
    return after > Date.now() ? after : 0;
  }

  /** Stored report of a survey, of any version; null without one.
   * @param {string} survey */
  report(survey) {
    return this.#memory.get(survey);
  }

  /** @param {string} survey Id of the survey. */
  isWaiting(survey) {
    return this.#memory.isWaiting(survey);
  }

  /** True if this client drew the report of a survey, so that it is of the answers given here.
   * @param {string} survey */
  hasDrawn(survey) {
    return this.#drawn.has(this.#memory.get(survey)?.id ?? "");
  }

  /** Treat all reports as drawn by another person, before another person may answer. */
  releaseReports() {
    this.#drawn.clear();
  }

  /** Delete the counted report of this survey and its view, so that another person can answer on this
   * device. The ledger keeps its entry.
   * @param {Survey} survey
   * @throws {ParameterError} If the survey accepts one report from each device, or the report waits. */
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
      this.#memory.setLedger(this.#memory.ledger().withForgotten(digest));
      this.#memory.remove(id, digest);
    });
  }

  /** Retry all waiting reports of this collector. A report that cannot be sent does not block the others.
   * @returns {Promise<{sent: Submission[], unsent: Unsent[]}>} */
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
   * Draw and store the report of this survey. If there is one already, mark it for a retry, perhaps with
   * another invitation after a refusal.
   *
   * @param {Survey} survey
   * @param {string} digest
   * @param {PersonRecord | null} record
   * @param {Delivery} delivery
   */
  #remember(survey, digest, record, { invitation, after }) {
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
    const ledger = this.#memory.ledger();
    ledger.check(survey, entryOf(survey, digest), this.#catalog.maxTotalGamma);
    const values = survey.perturb(record, undefined, this.#memory.view(digest));
    // Write the ledger first: a crash in between leaves an entry without a report, not the reverse.
    this.#memory.setLedger(ledger.with(entryOf(survey, digest, values)));
    const id = crypto.randomUUID();
    this.#drawn.add(id);
    const relayId = survey.relay === null ? undefined : crypto.randomUUID();
    const ticket = survey.hasTickets ? (this.#memory.ticket(digest) ?? undefined) : undefined;
    this.#memory.set(survey.id, { digest, id, relayId, values, collector, sent: false, invitation, ticket, after });
    this.#memory.removeTicket(digest);
  }

  /** Transport to the relay of a survey, if it has one; otherwise to the collector.
   * @type {(survey: Survey) => Transport} */
  #transportTo({ relay }) {
    if (relay === null) return this.#transport;
    const transport = this.#relays.get(relay.url) ?? new Transport(relay.url, this.#settings, "relay");
    this.#relays.set(relay.url, transport);
    return transport;
  }

  /** Send the stored report of a survey; `again` retries once if the terms have changed.
   * @type {(survey: string, again?: boolean) => Promise<Submission>} */
  async #send(survey, again = true) {
    const report = this.#memory.get(survey);
    if (report === null) throw new ParameterError(`survey '${survey}': nothing to send`, "survey");
    if (this.heldUntil(survey)) throw new CollectorUnavailable(`survey '${survey}': nothing to send yet`);
    const { digest, id } = report;
    /** @param {HalftruthError} [error] */
    const settle = (error) => {
      const [refused, about] = [error?.message, error?.field];
      // The ticket of a refused report is kept: it may be accepted with another invitation.
      const ticket = error === undefined ? undefined : report.ticket;
      this.#memory.set(survey, { ...report, sent: true, refused, about, invitation: undefined, ticket });
    };
    const published = await this.#catalog.entry(survey, report.digest);
    // The invitation of a counted report is deleted, so it cannot be sent again.
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
      const transport = this.#transportTo(published);
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

/** Message with a report: plain or sealed, with an invitation if the terms require one; or sealed for the
 * relay of the survey, under the relay's id.
 * @type {(survey: Survey, report: import("./memory.js").Remembered) => Promise<object>} */
async function messageOf({ mechanism, terms, relay, hasTickets }, report) {
  const { digest, id, relayId = "", values, ticket } = report;
  const invitation = terms.invitations ? report.invitation : undefined;
  if (relay === null && terms.sealingKey === null) return { id, values, invitation, ticket };
  const { pack, seal, sealForRelay } = await loaded(import("./sealing.js"));
  const packed = pack(values, mechanism.reportSpace.shape, hasTickets, ticket);
  if (relay === null) return { id, sealed: await seal(terms.sealingKey ?? "", digest, { id, packed, invitation }) };
  return { id: relayId, sealed: await sealForRelay(relay, digest, { id, relayId, packed }) };
}

/** True if a relay has closed a survey, does not know it, or has another version of it.
 * @param {unknown} error */
export function isUntaken(error) {
  return error instanceof RequestRefused && (error.status === 409 || (error.status === 404 && error.field === "survey"));
}

/** True for a final refusal, after which a retry is pointless: the survey was closed or replaced, the
 * report is invalid, or its invitation or ticket was refused.
 * @type {(error: unknown) => error is RequestRefused} */
function isFinal(error) {
  if (!(error instanceof RequestRefused)) return false;
  const { status, field } = error;
  return status === 409 || status === 422 || (status === 403 && (field === "invitation" || field === "ticket"));
}

/** SHA-256 of an invitation, which cannot be used to send a report.
 * @param {string} invitation */
async function hashOf(invitation) {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", fromHex(invitation))));
}
