/**
 * State machine of one response, without a user interface: fetch, verify, ask, draw, send, retry, settle, leave.
 *
 *     idle ─open()─▶ loading ─▶ asking ─submit()─▶ sending ─▶ counted
 *                      │           ▲                │  ▲  │
 *                      │           └─invalid answers┘  │  └──▶ refused ─resend()─▶ sending
 *                      │                               ▼
 *                      ├─▶ failed                   waiting ─▶ counted, refused
 *                      └─▶ waiting, counted, refused, if this browser has answered before
 *
 * - `idle`: the session was not opened yet.
 * - `loading`: the survey is fetched and checked against the policy. Nothing is asked.
 * - `asking`: the collector would accept a report. `questionnaire` has the questions and the answers so
 *   far; no report is drawn, only which questions to ask.
 * - `sending`: the report is drawn, stored and being sent. Every retry sends this report, even if the
 *   answers change.
 * - `waiting`: the report is not acknowledged. It is retried every five seconds, or sent once at the
 *   time until which it is held back.
 * - `counted`: the collector has the report, counted now or before (`status`).
 * - `refused`: the collector refused the report (`error`). The answers are deleted.
 * - `failed`: the survey cannot be answered, or the report could not be drawn and stored (`error`).
 * - `left`: the answers are deleted, and no more events are dispatched.
 *
 * `open()` restarts the session and `leave()` ends it, in every state. Results of asynchronous calls of
 * an earlier run are ignored.
 *
 * Events: `change` after each change of state; then `submitted` with `{id, status}` when a report was
 * counted (once) or is stored for a retry, or `refused` with `{message}` when `error` was set: the survey
 * cannot be answered, the report was refused, or the answers are invalid. No event contains an answer.
 */

import { Client, isUntaken } from "./client.js";
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
 * @property {Event} change The state has changed.
 * @property {CustomEvent<Submission>} submitted A report was counted now or before, or waits.
 * @property {CustomEvent<{message: string}>} refused
 *   The survey cannot be answered, the report was refused, or the answers are invalid.
 *
 * The survey to answer, and options of the session.
 *
 * @typedef {object} Response
 * @property {string} survey Id of the survey.
 * @property {string} collector Address of the collector.
 * @property {string} [invitation] Invitation, if the survey requires one.
 * @property {string | number} [sendEvery]
 *   Minutes, above 0 and at most 1440. The report is sent at a whole multiple of them; by default at once.
 * @property {string} [ask] `drawn`: ask only the questions that are drawn for this browser; or `all`.
 * @property {(session: Session) => unknown} [prepare]
 *   Called when the session is complete, before anything is asked; an error makes the session fail.
 *
 * @typedef {Response & import("./client.js").Options & import("./transport.js").Settings} Settings
 */

/** Milliseconds between attempts while a report waits. */
const RETRY = 5_000;

/** Few retries and short pauses within a request, since the session itself retries a waiting report. */
const IMPATIENT = { retries: 2, patience: 2_000 };

/** Largest number of milliseconds of a timer. */
const LONGEST_TIMER = 2 ** 31 - 1;

const Target =
  /** @type {{ new (): import("./form/types.d.ts").TypedEvents<Events> & EventTarget, prototype: EventTarget }} */ (
    EventTarget
  );

/** One response of one person to one survey. */
export class Session extends Target {
  /** @type {State} */
  state = "idle";
  /** The client, from `open()` on. */
  client = /** @type {Client} */ (/** @type {unknown} */ (null));
  /** The survey, once it was fetched and passed the checks of the policy. */
  survey = /** @type {Survey} */ (/** @type {unknown} */ (null));
  /** Questions and answers, in memory only.
   * @type {Questionnaire | null} */
  questionnaire = null;
  /** Number of the view: the drawn questions that the report is about.
   * @type {number | undefined} */
  view = undefined;
  /** Ledger of all reports from this browser at this web address; null if it is unreadable.
   * @type {Ledger | null} */
  ledger = null;
  /** Numbers of the privacy promise of a survey with a relay.
   * @type {RelayFigures | null} */
  relayFigures = null;
  /** Latest outcome of the report.
   * @type {Submission["status"] | null} */
  status = null;
  /** Error of the states `failed` and `refused`, or of invalid answers.
   * @type {unknown} */
  error = null;
  #settings;
  /** Invitation of the latest attempt to send the report.
   * @type {string | undefined} */
  #used = undefined;
  #fetched = 0;
  #run = 0;
  /** Promise of the call that is sending a report.
   * @type {Promise<State> | null} */
  #sending = null;
  /** True if `submitted` was dispatched for a counted report. */
  #isAnnounced = false;
  /** Timer or interval of the next attempt.
   * @type {ReturnType<typeof setTimeout> | undefined} */
  #timer = undefined;

  /** @param {Settings} settings Validated when the session is opened. */
  constructor(settings) {
    super();
    this.#settings = settings;
    /** Invitation of the next attempt to send the report; may be set at any time. */
    this.invitation = settings.invitation || undefined;
  }

  /** Stored report of the survey, or null. */
  get report() {
    return this.client.report(this.survey.id);
  }

  /** True if the report was drawn in this session, from the answers in `questionnaire`. */
  get isOwn() {
    return this.client.hasDrawn(this.survey.id);
  }

  /** Time until which the report is held back, in milliseconds since 1970; 0 if it is not. */
  get heldUntil() {
    return this.state === "waiting" ? this.client.heldUntil(this.survey.id) : 0;
  }

  /** True if a report may have been sent: one is stored here, or the storage is damaged. */
  get mayHaveLeft() {
    try {
      return (this.client?.report(this.#settings.survey) ?? null) !== null;
    } catch {
      return true;
    }
  }

  /** True if sending the same report again can have another outcome. */
  get canResend() {
    if (this.state === "waiting") return this.heldUntil === 0;
    const { invitation, survey } = this;
    const isInvited = survey?.terms.invitations && invitation !== undefined && invitation !== this.#used;
    return this.state === "refused" && !survey.isClosed && Boolean(isInvited);
  }

  /** Fetch the survey and check that a report would be accepted, or find the outcome of an earlier report.
   * @returns {Promise<State>} `failed` if the survey cannot be answered; `error` has the reason. */
  async open() {
    this.#forgetPerson();
    const run = this.#run;
    const isOver = () => run !== this.#run;
    Object.assign(this, { survey: null, questionnaire: null, ledger: null, status: null, error: null });
    this.#used = undefined;
    this.#enter("loading");
    try {
      // Validate all settings before anything is sent.
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
      const ledger = await this.#readLedger();
      if (report === null) await this.#checkAdmission(survey);
      // The ticket is taken now, so that no request depends on how somebody answers.
      const isDrawn = report === null && (!asksAll || survey.hasTickets);
      const drawn = isDrawn ? await this.#asked(survey) : survey.schema.names;
      const names = asksAll ? survey.schema.names : drawn;
      // Whoever is asked everything is not shown what was drawn.
      const view = isDrawn && asksAll ? undefined : await client.view(survey);
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

  /** Draw the report from the answers and send it, or send the one drawn before.
   *
   * While a report is being sent, return the promise of the earlier call. Once it was counted, send nothing
   * and dispatch nothing, unless this session found it as counted: then `submitted` is dispatched once.
   * @returns {Promise<State>} */
  submit() {
    return this.#alone(async () => {
      if (this.state === "counted") return this.#announce({ id: this.report?.id ?? "", status: "duplicate" });
      const record = this.questionnaire?.record() ?? {};
      const interval = readInterval(this.#settings.sendEvery);
      const multiple = Math.ceil((Date.now() + 1 - this.#fetched) / interval);
      const after = interval ? this.#fetched + multiple * interval : undefined;
      return this.#send(() => this.client.submit(this.survey, record, { invitation: this.invitation, after }));
    });
  }

  /** Send the report that was drawn before again. While a report is being sent, return the promise of the
   * earlier call.
   * @returns {Promise<State>} */
  resend() {
    return this.#alone(() => this.#send(() => this.client.resend(this.survey, { invitation: this.invitation })));
  }

  /** The ledger that `forgetLedger` would delete, and the total that would be allowed afterwards, if
   * there is a limit. */
  async ledgerToForget() {
    const survey = this.error instanceof LedgerRefused ? this.error.survey : this.survey;
    return { ledger: await this.client.ledger(), allowed: this.client.allowedTotal(survey) };
  }

  /** Delete the answers, and treat the next person at this page as a different one. */
  leave() {
    this.#forgetPerson();
    this.#enter("left");
  }

  /** Let another person answer on this device, after the report was counted.
   * @returns {Promise<State>} */
  async forgetReport() {
    return this.#reopenAfter(() => this.client.forget(this.survey));
  }

  /** Delete the ledger of all reports at this web address, which resets the protection.
   * @returns {Promise<State>} */
  async forgetLedger() {
    return this.#reopenAfter(() => this.client.forgetLedger());
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

  /** Call a function that sends a report, unless one is being sent: two clicks send one.
   * @param {() => Promise<State>} send */
  #alone(send) {
    if (this.#sending === null) {
      const sending = send().finally(() => {
        if (this.#sending === sending) this.#sending = null;
      });
      this.#sending = sending;
    }
    return this.#sending;
  }

  /** @param {() => Promise<Submission>} deliver */
  async #send(deliver) {
    const { client, survey } = this;
    const run = this.#run;
    this.#used = this.invitation;
    this.#enter("sending");
    try {
      const submission = await deliver().catch((error) => {
        // The response is not a collector's: the report may have arrived, so it waits for a retry.
        if (!(error instanceof RequestRefused && client.isWaiting(survey.id))) throw error;
        return { id: client.report(survey.id)?.id ?? "", status: /** @type {const} */ ("waiting") };
      });
      const ledger = await this.#readLedger();
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
    // Do not show these answers beside the report of another person.
    if (status !== "waiting" && !this.isOwn) this.questionnaire?.clear();
    this.#enter(status === "waiting" ? "waiting" : "counted", status);
    this.#announce(submission);
  }

  /** Dispatch `submitted`, but once for a counted report.
   * @param {Submission} submission */
  #announce(submission) {
    const isAnnounced = this.#isAnnounced;
    this.#isAnnounced = this.state === "counted";
    if (!isAnnounced) this.#emit("submitted", submission);
    return this.state;
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
    // Send exactly then: earlier attempts would reveal the response time. The delay is limited, since
    // the clock may have been set back.
    if (heldUntil) {
      this.#timer = setTimeout(() => void this.resend(), Math.min(heldUntil - Date.now(), LONGEST_TIMER));
    } else this.#timer = setInterval(() => void this.#retry(), RETRY);
  }

  async #retry() {
    const { client, survey } = this;
    const timer = this.#timer;
    await client.flush();
    // Meanwhile the session may have ended, or the report may have been sent by `resend`.
    if (timer !== this.#timer || this.state !== "waiting" || client.isWaiting(survey.id)) return;
    const { id = "", refused, about } = client.report(survey.id) ?? {};
    if (refused !== undefined) this.#refuse(refused, about);
    else this.#settle({ id, status: "accepted" });
  }

  #forgetPerson() {
    this.#run += 1;
    this.#sending = null;
    this.#isAnnounced = false;
    clearInterval(this.#timer);
    this.questionnaire?.clear();
    this.client?.releaseReports();
  }

  /** Check that a report would be accepted, before anything is asked.
   * @type {(survey: Survey) => Promise<void>} */
  async #checkAdmission(survey) {
    const { client, invitation } = this;
    // To a relay, the time from this request to the report can reveal which questions were asked, unless the
    // report is sent at a multiple of minutes.
    const isSafe = survey.schema.conditional.size === 0 || readInterval(this.#settings.sendEvery) > 0;
    if (!survey.isClosed && isSafe && (await client.isTakenByRelay(survey)) === false) {
      Object.assign(survey, { isClosed: true, closedBecause: "relay" });
    }
    if (survey.isPlanned) throw survey.opensLater();
    if (survey.isClosed) throw closed(survey);
    checkInvitation(survey, invitation);
    if (!survey.terms.invitations || invitation === undefined) return;
    if ((await client.isUnspent(survey, invitation)) === false) {
      throw new SurveyRefused("invitation: it was used before, or withdrawn", "invitation");
    }
  }

  /** Names of the attributes to ask; a relay that issues no ticket of the survey takes no reports of it.
   * @param {Survey} survey */
  async #asked(survey) {
    try {
      return await this.client.asked(survey, this.invitation);
    } catch (error) {
      if (survey.relay === null || !isUntaken(error)) throw error;
      Object.assign(survey, { isClosed: true, closedBecause: "relay" });
      throw closed(survey);
    }
  }

  async #readLedger() {
    return this.client.ledger().catch(() => null);
  }
}

/** @param {Survey} survey */
function closed({ id }) {
  return new SurveyRefused(`survey '${id}' is closed`, "status");
}

/** Numbers of the privacy promise of a survey with a relay; null without a relay.
 * @param {Survey} survey */
export async function loadRelayFigures(survey) {
  return survey.relay && (await loaded(import("./shuffling.js"))).relayFigures(survey);
}

/** @param {unknown} error Message in one line, which never contains an answer. */
function messageOf(error) {
  return error instanceof HalftruthError ? error.message : "an unexpected error occurred";
}

/** Interval in milliseconds at whose multiples reports are sent; 0 to send them at once.
 * @param {string | number} [minutes] */
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
