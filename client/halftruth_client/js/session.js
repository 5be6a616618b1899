/**
 * The life cycle of one response, without a view: fetch, verify, ask, draw, send, retry, settle, leave.
 *
 *     idle ─open()─▶ loading ─▶ asking ─submit()─▶ sending ─▶ counted
 *                      │           ▲                │  ▲  │
 *                      │           └──not a record──┘  │  └──▶ refused ─resend()─▶ sending
 *                      │                               ▼
 *                      ├─▶ failed                   waiting ─▶ counted, refused
 *                      └─▶ waiting, counted, refused, where this browser answered before
 *
 * - `idle`: nothing was done yet.
 * - `loading`: the survey is fetched and held against the policy. Nothing is asked.
 * - `asking`: a report would be taken. `questionnaire` has the questions and the answers so far; at most
 *   what to ask about was drawn.
 * - `sending`: the one report of the answers is drawn, remembered and on its way. From here on every
 *   attempt sends this report, whatever is answered.
 * - `waiting`: no collector confirmed the report. It is sent again every five seconds, or once at the
 *   moment before which it is held back.
 * - `counted`: the collector has the report, from now or from before (`status`).
 * - `refused`: the collector will not count the report (`error`). The answers are forgotten.
 * - `failed`: nothing is asked, or the report could not be drawn and remembered (`error`).
 * - `left`: answers are forgotten, the report belongs to nobody, and nothing is dispatched any more.
 *
 * `open()` begins anew and `leave()` ends in every state; what an earlier run still waits for is dropped.
 *
 * Events: `change` after each change of state, then `submitted` with `{id, status}` once a report was
 * counted or kept, and `refused` with `{message}` once a report or the survey was refused. None ever
 * holds an answer.
 */

import { Client } from "./client.js";
import {
  HalftruthError, LedgerRefused, ParameterError, RecordError, RequestRefused, SurveyRefused,
} from "./errors.js";
import { Questionnaire } from "./questionnaire.js";
import { checkInvitation } from "./terms.js";
import { loaded } from "./transport.js";

/**
 * @import { Submission } from "./client.js"
 * @import { Ledger } from "./ledger.js"
 * @import { RelayFigures } from "./shuffling.js"
 * @import { Survey } from "./survey.js"
 *
 * @typedef {"idle" | "loading" | "asking" | "sending" | "waiting" | "counted" | "refused" | "failed" | "left"} State
 *
 * @typedef {object} Events
 * @property {Event} change The state is another one.
 * @property {CustomEvent<Submission>} submitted A report was counted now or before, or waits.
 * @property {CustomEvent<{message: string}>} refused Nothing is asked, or the report is not counted.
 *
 * What is answered, and how.
 *
 * @typedef {object} Response
 * @property {string} survey Its id.
 * @property {string} collector Address of the collector.
 * @property {string} [invitation] What lets the report in where the survey asks for one.
 * @property {string | number} [sendEvery]
 *   Minutes, above 0 and at most 1440, after a whole multiple of which the report is sent; by default at once.
 * @property {string} [ask] `drawn`, only what is drawn for this browser, or `all`.
 * @property {(session: Session) => unknown} [prepare]
 *   Called before anything is asked, once all of the session is known; what it throws fails the session.
 *
 * @typedef {Response & import("./client.js").Options & import("./transport.js").Settings} Settings
 */

/** Milliseconds between attempts while a report waits. */
const RETRY = 5_000;

/** How long a person waits for a busy collector before they are told, for a client that tries again later. */
const IMPATIENT = { retries: 2, patience: 2_000 };

/** The most milliseconds that a timer takes. */
const LONGEST_TIMER = 2 ** 31 - 1;

const Target =
  /** @type {{ new (): import("./form/types.d.ts").TypedEvents<Events> & EventTarget, prototype: EventTarget }} */ (
    EventTarget
  );

/** One response of one person to one survey. */
export class Session extends Target {
  /** @type {State} */
  state = "idle";
  /** The client that sends, as soon as the settings were read. */
  client = /** @type {Client} */ (/** @type {unknown} */ (null));
  /** The survey, once it was fetched and found to protect enough. */
  survey = /** @type {Survey} */ (/** @type {unknown} */ (null));
  /** @type {Questionnaire | null} Questions and answers of whoever answers here; they stay in memory. */
  questionnaire = null;
  /** @type {number | undefined} What was drawn to be asked about. */
  view = undefined;
  /** @type {Ledger | null} That bounds the survey: of its series, or of all reports. */
  ledger = null;
  /** @type {RelayFigures | null} What is promised of the reports of a survey with a relay. */
  relayFigures = null;
  /** @type {Submission["status"] | null} What became of the report last. */
  status = null;
  /** @type {unknown} Why the session is `failed` or `refused`, or the answers are no record. */
  error = null;
  #settings;
  /** @type {string | undefined} The invitation that the report was sent with last. */
  #used = undefined;
  #fetched = 0;
  #run = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} Of the next attempt; intervals have numbers as well. */
  #timer = undefined;

  /** @param {Settings} settings Looked at when the session is opened. */
  constructor(settings) {
    super();
    this.#settings = settings;
    /** What lets the report in; may be set at any time, and is used when something is sent. */
    this.invitation = settings.invitation || undefined;
  }

  /** The report of the survey that this browser remembers, or null. */
  get report() {
    return this.client.report(this.survey.id);
  }

  /** True if the report was drawn here, of the answers that are in `questionnaire`. */
  get isOwn() {
    return this.client.hasDrawn(this.survey.id);
  }

  /** The moment before which the report is not sent, in milliseconds since 1970; 0 without one. */
  get heldUntil() {
    return this.state === "waiting" ? this.client.heldUntil(this.survey.id) : 0;
  }

  /** True if a report may have been sent: one is remembered here, or what is remembered is damaged. */
  get mayHaveLeft() {
    try {
      return (this.client?.report(this.#settings.survey) ?? null) !== null;
    } catch {
      return true;
    }
  }

  /** True if sending the same report again may change something. */
  get canResend() {
    if (this.state === "waiting") return this.heldUntil === 0;
    const { invitation, survey } = this;
    const isInvited = survey?.terms.invitations && invitation !== undefined && invitation !== this.#used;
    return this.state === "refused" && !survey.isClosed && Boolean(isInvited);
  }

  /**
   * Fetch the survey and find out whether a report would be taken, or what became of an earlier one.
   *
   * @returns {Promise<State>} `failed` where it cannot be asked; `error` says why.
   */
  async open() {
    this.#forgetPerson();
    const run = this.#run;
    const isOver = () => run !== this.#run;
    Object.assign(this, { survey: null, questionnaire: null, ledger: null, status: null, error: null });
    this.#used = undefined;
    this.#enter("loading");
    try {
      // Before anything is sent: what cannot be understood is refused, not ignored.
      const { survey: id, collector, invitation: _, ask, sendEvery, prepare, ...options } = this.#settings;
      const asksAll = readAsk(ask);
      readInterval(sendEvery);
      this.client = new Client(collector, { ...IMPATIENT, ...options });
      const { client } = this;
      await client.flush();
      const survey = await client.survey(id);
      this.#fetched = Date.now();
      if (isOver()) return this.state;
      this.survey = survey;
      const report = client.before(id, await survey.digest());
      const ledger = await this.#boundingLedger(survey);
      if (report === null) await this.#checkAdmission(survey);
      const names = report === null && !asksAll ? await client.asked(survey) : survey.schema.names;
      const view = await client.view(survey);
      const relayFigures = await loadRelayFigures(survey);
      if (isOver()) return this.state;
      Object.assign(this, { ledger, view, relayFigures });
      if (report === null) this.questionnaire = new Questionnaire(survey.schema, names);
      await prepare?.(this);
      if (isOver()) return this.state;
      if (report === null) this.#enter("asking");
      else if (report.refused !== undefined) this.#refuse(report.refused, report.about);
      else if (report.sent) this.#enter("counted", "duplicate");
      else this.#enter("waiting", "waiting");
    } catch (error) {
      if (!isOver()) this.#fail(error, "failed");
    }
    return this.state;
  }

  /**
   * Draw the one report of the answers and send it, or send the report that was drawn before.
   *
   * @returns {Promise<State>}
   */
  async submit() {
    const record = this.questionnaire?.record() ?? {};
    const interval = readInterval(this.#settings.sendEvery);
    const multiple = Math.ceil((Date.now() + 1 - this.#fetched) / interval);
    const after = interval ? this.#fetched + multiple * interval : undefined;
    return this.#send(() => this.client.submit(this.survey, record, { invitation: this.invitation, after }));
  }

  /**
   * Send the report that was drawn before once more.
   *
   * @returns {Promise<State>}
   */
  async resend() {
    return this.#send(() => this.client.resend(this.survey, { invitation: this.invitation }));
  }

  /**
   * What `forgetLedger` would forget, for whoever is to be asked before: what earlier reports cost, and
   * what reports may cost from then on.
   */
  async ledgerToForget() {
    const survey = this.error instanceof LedgerRefused ? this.error.survey : this.survey;
    const ledger = await this.client.operatorLedger(survey);
    return { survey, ledger, allowed: this.client.allowedTotal(survey) };
  }

  /** Leave nothing of whoever answered: whoever comes next is a stranger. */
  leave() {
    this.#forgetPerson();
    this.#enter("left");
  }

  /**
   * Let another person answer on this device, once the report before was counted.
   *
   * @returns {Promise<State>}
   */
  async forgetReport() {
    return this.#reopenAfter(() => this.client.forget(this.survey));
  }

  /**
   * Forget what earlier reports cost, which resets the protection.
   *
   * @param {Survey} [survey] By default the one that was fetched.
   * @returns {Promise<State>}
   */
  async forgetLedger(survey = this.survey) {
    return this.#reopenAfter(() => this.client.forgetLedger(survey));
  }

  /** @param {() => Promise<void>} forget */
  async #reopenAfter(forget) {
    try {
      await forget();
    } catch (error) {
      this.#fail(error, "failed");
      return this.state;
    }
    return this.open();
  }

  /** @param {() => Promise<Submission>} deliver */
  async #send(deliver) {
    const { client, survey } = this;
    const run = this.#run;
    this.#used = this.invitation;
    this.#enter("sending");
    try {
      const submission = await deliver().catch((error) => {
        // Something answered in the collector's stead: the report may have arrived, and is sent again.
        if (!(error instanceof RequestRefused && client.isWaiting(survey.id))) throw error;
        return { id: client.report(survey.id)?.id ?? "", status: /** @type {const} */ ("waiting") };
      });
      const ledger = await this.#boundingLedger(survey);
      if (run !== this.#run) return this.state;
      this.ledger = ledger;
      this.#settle(submission);
    } catch (error) {
      if (run !== this.#run) return this.state;
      const { refused, about } = client.report(survey.id) ?? {};
      if (refused !== undefined) this.#refuse(refused, about);
      else this.#fail(error, error instanceof RecordError ? "asking" : "failed");
    }
    return this.state;
  }

  /** @param {Submission} submission */
  #settle(submission) {
    const { status } = submission;
    // Of somebody else's report nothing is shown beside these answers.
    if (status !== "waiting" && !this.isOwn) this.questionnaire?.clear();
    this.#enter(status === "waiting" ? "waiting" : "counted", status);
    this.#emit("submitted", submission);
  }

  /** @type {(message: string, field: string | undefined) => void} */
  #refuse(message, field) {
    this.questionnaire?.clear();
    this.#fail(new HalftruthError(message, field), "refused");
  }

  /** @type {(error: unknown, state: State) => void} */
  #fail(error, state) {
    this.error = error;
    this.#enter(state);
    this.#emit("refused", { message: messageOf(error) });
  }

  /** @type {(state: State, status?: Submission["status"]) => void} */
  #enter(state, status) {
    clearInterval(this.#timer);
    this.state = state;
    this.status = status ?? this.status;
    if (state === "waiting") this.#schedule();
    this.dispatchEvent(new Event("change"));
  }

  /** @type {(name: string, detail: unknown) => void} */
  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #schedule() {
    const { heldUntil } = this;
    // At the very moment: attempts from now on would show how long answering took. A clock may be set back.
    if (heldUntil) {
      this.#timer = setTimeout(() => void this.resend(), Math.min(heldUntil - Date.now(), LONGEST_TIMER));
    } else this.#timer = setInterval(() => void this.#retry(), RETRY);
  }

  async #retry() {
    const { client, survey } = this;
    const timer = this.#timer;
    await client.flush();
    // Meanwhile this person may have left, or sent the report by themselves.
    if (timer !== this.#timer || this.state !== "waiting" || client.isWaiting(survey.id)) return;
    const { id = "", refused, about } = client.report(survey.id) ?? {};
    if (refused !== undefined) this.#refuse(refused, about);
    else this.#settle({ id, status: "accepted" });
  }

  #forgetPerson() {
    this.#run += 1;
    clearInterval(this.#timer);
    this.questionnaire?.clear();
    this.client?.releaseReports();
  }

  /**
   * Make sure that a report would be taken, before anything is asked.
   *
   * @param {Survey} survey
   */
  async #checkAdmission(survey) {
    if (survey.isClosed) throw new SurveyRefused(`survey '${survey.id}' is closed`, "status");
    const { client, invitation } = this;
    checkInvitation(survey, invitation);
    if (!survey.terms.invitations || invitation === undefined) return;
    if ((await client.isUnspent(survey, invitation)) === false) {
      throw new SurveyRefused("invitation: it was used before, or withdrawn", "invitation");
    }
  }

  /**
   * The ledger of a survey's series, or of all reports where all are bounded; null where nothing is, or
   * nothing can be known of it.
   *
   * @param {Survey} survey
   */
  async #boundingLedger(survey) {
    if (survey.series === null && this.#settings.maxTotalGamma === undefined) return null;
    return this.client.ledger(survey).catch(() => null);
  }
}

/**
 * The figures of a survey with a relay, by what most surveys do without; null without one.
 *
 * @param {Survey} survey
 */
export async function loadRelayFigures(survey) {
  return survey.relay && (await loaded(import("./shuffling.js"))).relayFigures(survey);
}

/** @param {unknown} error In one line, which never holds an answer. */
function messageOf(error) {
  return error instanceof HalftruthError ? error.message : "something unforeseen went wrong";
}

/**
 * Milliseconds after whose whole multiples reports are sent; 0 where they are sent at once.
 *
 * @param {string | number | undefined} minutes
 */
function readInterval(minutes) {
  if (minutes === undefined) return 0;
  const number = /^\d+(\.\d+)?$/.test(String(minutes)) ? Number(minutes) : 0;
  if (number > 0 && number <= 1_440) return 60_000 * number;
  throw new ParameterError("sendEvery: expected minutes above 0, at most 1440", "sendEvery");
}

/** @param {string} [ask] */
function readAsk(ask = "drawn") {
  if (ask === "all" || ask === "drawn") return ask === "all";
  throw new ParameterError("ask: expected drawn or all", "ask");
}
