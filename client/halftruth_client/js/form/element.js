/** The element `<halftruth-form survey="…" collector="…" max-gamma="…">`. */

import { RequestRefused } from "../errors.js";
import { hidesAll, protection } from "../protection.js";
import { inLanguage } from "../texts.js";
import { anotherPerson, loading, onwardOf, outcome } from "./closing.js";
import { checkAdmission, failure, hasReport, messageOf, refusal } from "./failures.js";
import { chosen, wantedBy, wordingIn } from "./languages.js";
import { boundingLedger, ledgerOf } from "./ledger.js";
import { opening } from "./opening.js";
import { selection } from "./outlook.js";
import { practiceRound } from "./practice.js";
import { ATTRIBUTES } from "./properties.js";
import { Questionnaire } from "./questionnaire.js";
import { questions } from "./questions.js";
import { receipt } from "./receipt.js";
import { clientOf, invitationOf, readSettings } from "./settings.js";
import { Localized } from "./localized.js";
import { styleSheet } from "./style.js";
import { Trail } from "./trail.js";
import { review } from "./views.js";

/**
 * @import { Client, Submission } from "../client.js"
 * @import { Survey } from "../survey.js"
 */

/** Milliseconds between tries while a report waits. */
const RETRY = 5_000;

/** @type {CSSStyleSheet | undefined} One for all forms of a page. */
let sheet;

/**
 * Says who asks and how answers are protected, asks the questions of a survey, perturbs the answers
 * here, sends the report, and shows it beside the answers. Leaving with answers is asked about once.
 *
 * The one draw of the answers is made on sending and remembered before anything is sent. What people
 * see before does not depend on it, so that nobody can choose a draw that suits them. Where a survey
 * draws what it asks about, that is drawn and remembered before anything is answered. Nothing that
 * was entered or shown outlives the page's leaving, not even in the browser's own copy of the page.
 *
 * Attributes: `survey`, its id; `collector`, its address, by default that of the page; `max-gamma`,
 * the largest amplification to accept; `unprotected`, names of attributes that may be sent as they
 * are, which needs one of the next two; `digests`, of the surveys that may be answered, and
 * `operator-keys`, public keys of which one must have signed the survey, all with blanks between
 * them; `max-total-gamma`, the largest amplification to accept of all reports together; `invitation`, what lets the report in where the survey asks for one; `send-every`, minutes
 * after a whole multiple of which it is sent; `ask`, whether only what is `drawn` for this browser is
 * asked, by default, or `all`; `history`, whether the browser's Back key goes a page back, for one form
 * of a page; `lang`, the language, which changes when a person chooses another one.
 * Each has a property (`maxGamma` of `max-gamma`). When one is set anew, the form begins anew.
 * Events: `submitted` with `{id, status}`, `refused` with `{message}` and, after another language was
 * chosen, `language` with what a page around the form may show in it, as detail; none ever holds an
 * answer.
 */
export class HalftruthForm extends Localized {
  static observedAttributes = ["lang", ...Object.keys(ATTRIBUTES)];

  /** @type {Questionnaire | null} What this person is asked, and answered. */
  questionnaire = null;
  /** @type {Questionnaire | null} Answers that were sent for, for their owner to see. */
  #stayed = null;
  /** True once this person gave the consent that is asked for. */
  #agreed = false;
  /** @type {number | undefined} What was drawn to be asked about. */
  #view = undefined;
  /** @type {import("../ledger.js").Ledger | null} Of the survey's series, or where all is bounded. */
  #ledger = null;
  #trail = new Trail(this);
  #timer = 0;
  #settings = { interval: 0, asksAll: false };
  #fetched = 0;
  /** Number of the last start: what an earlier one still waits for is not shown. */
  #run = 0;
  #isPlaced = false;
  #leave = () => this.forgetPerson();
  #comeBack = (/** @type {PageTransitionEvent} */ event) => {
    if (event.persisted) void this.start();
  };

  constructor() {
    super();
    this.root.adoptedStyleSheets = [(sheet ??= styleSheet())];
  }

  connectedCallback() {
    addEventListener("pagehide", this.#leave);
    addEventListener("pageshow", this.#comeBack);
    this.#trail.follow();
    this.#isPlaced = true;
    this.#startSoon();
  }

  disconnectedCallback() {
    removeEventListener("pagehide", this.#leave);
    removeEventListener("pageshow", this.#comeBack);
    this.#trail.unfollow();
    clearInterval(this.#timer);
    this.#isPlaced = false;
    this.#run += 1;
  }

  /** @type {(name: string, before: string | null, now: string | null) => void} */
  attributeChangedCallback(name, before, now) {
    if (name === "lang") this.follow();
    else if (this.#isPlaced && before !== now) {
      // An invitation is looked at when something is sent: whoever is answering goes on.
      if (name === "invitation" && (this.questionnaire ?? this.#stayed)) return;
      this.forgetPerson();
      this.current = undefined;
      this.#startSoon();
    }
  }

  /** Start once a framework has set everything that it is setting now. */
  #startSoon() {
    this.show(loading);
    this.#run += 1;
    const run = this.#run;
    queueMicrotask(() => {
      if (run === this.#run) void this.start();
    });
  }

  /** Leave nothing to be seen of whoever was in front of this page. */
  forgetPerson() {
    clearInterval(this.#timer);
    this.#trail.letLeave();
    this.questionnaire?.clear();
    this.#stayed?.clear();
    this.#stayed = null;
    this.#agreed = false;
    // Whoever comes back to the browser's copy of the page is a stranger.
    this.client?.disown();
    this.show(loading);
  }

  /** Return a client with the settings of the attributes. */
  makeClient() {
    return clientOf(this);
  }

  /** True if something was entered that leaving would lose. */
  hasAnswers() {
    return (this.questionnaire?.answers.size ?? 0) > 0;
  }

  /** Fetch the survey, and show its opening or what became of an earlier report. */
  async start() {
    this.show(loading);
    this.#run += 1;
    const run = this.#run;
    const isOver = () => run !== this.#run;
    this.#trail.reset();
    try {
      if (!this.current) await this.greet();
      if (isOver()) return;
      // Before anything is sent: what cannot be understood is refused, not ignored.
      const client = this.makeClient();
      this.client = client;
      this.#settings = readSettings(this);
      await client.flush();
      if (isOver()) return;
      const survey = await client.survey(this.survey);
      const fetched = Date.now();
      const words = await wordingIn(chosen(survey.languages, wantedBy(this)));
      const before = client.before(survey.id, await survey.digest());
      this.#ledger = await boundingLedger(this, client, survey);
      if (isOver()) return;
      [this.current, this.words, this.#fetched] = [survey, words, fetched];
      if (before === null) {
        const asked = await this.#admitted(client, survey);
        const view = await client.view(survey);
        if (isOver()) return;
        [this.questionnaire, this.#view] = [new Questionnaire(survey.schema, asked), view];
        this.#trail.go(() => this.#open());
      } else if (before.refused !== undefined) this.#refused(this.#invitedAgain(survey));
      else this.#done(before.sent ? "duplicate" : "waiting");
    } catch (error) {
      if (!isOver()) this.#fail(error, () => void this.start());
    }
  }

  /**
   * Names of the attributes that are asked, once it is sure that a report would be taken.
   *
   * @param {Client} client
   * @param {Survey} survey
   */
  async #admitted(client, survey) {
    await checkAdmission(client, survey, invitationOf(this));
    return this.#settings.asksAll ? survey.schema.names : client.asked(survey);
  }

  /** @param {boolean} [missing] Whether consent was passed over. */
  #open(missing = false) {
    const { current: survey, client, questionnaire } = this;
    if (!survey || !client || !questionnaire) return;
    const { schema, framing, terms, mechanism } = survey;
    const practice = mechanism.practice(this.#view);
    const practise = practice && (() => {
      const tried = { chosen: null, rounds: [] };
      this.#trail.go(() => this.show((words) => practiceRound({ practice, tried, back: this.#trail.back }, words)));
    });
    const step = {
      framing,
      protection: protection(survey, client.unprotected),
      fit: mechanism.fit(this.#view),
      attributes: new Map(schema.attributes.map((attribute) => [attribute.name, attribute])),
      terms,
      lasts: client.remembers,
      missing,
      agree: (/** @type {boolean} */ agreed) => {
        this.#agreed = agreed;
      },
      practise,
      begin: () => {
        if (framing.consent && !this.#agreed) this.#open(true);
        else this.#trail.go(() => this.#askGroup(questionnaire));
      },
    };
    this.show((words) => {
      const drawn = selection(survey, questionnaire, this.#view, words);
      return opening({ ...step, agreed: this.#agreed, drawn, counted: this.#counted(survey, words) }, words);
    });
    if (missing) {
      /** @type {HTMLElement | null} */ (this.root.querySelector("[name=consent]"))?.focus();
    }
  }

  /**
   * Sends a report that was refused once more, where the page has an invitation for it.
   *
   * @param {Survey} survey
   */
  #invitedAgain({ terms, isClosed }) {
    if (isClosed || !terms.invitations || invitationOf(this) === undefined) return null;
    return () => void this.#resend();
  }

  /**
   * @param {Questionnaire} questionnaire
   * @param {number} [group] By default the first one that is asked.
   */
  #askGroup(questionnaire, group = questionnaire.pages()[0]) {
    this.#trail.holdBack();
    // Other answers may have taken this page away: the one before it is shown then.
    const page = questionnaire.pages().filter((each) => each <= group).pop();
    if (page === undefined) {
      this.#open();
      return;
    }
    const next = () => {
      const after = questionnaire.pages().find((each) => each > page);
      this.#trail.go(() =>
        after === undefined ? this.#review(questionnaire) : this.#askGroup(questionnaire, after),
      );
    };
    this.show((words) => questions({ questionnaire, group: page, back: this.#trail.back, next }, words));
  }

  /** @param {Questionnaire} questionnaire */
  #review(questionnaire) {
    const { current: survey, client } = this;
    if (!survey || !client) return;
    const step = {
      isHidden: hidesAll(survey, client.unprotected),
      lasts: client.remembers,
      back: this.#trail.back,
      send: () => void this.submit(questionnaire),
    };
    this.show((words) => review({ ...step, answers: questionnaire.lines(words) }, words));
  }

  /**
   * Draw the one report of the answers and send it.
   *
   * @param {Questionnaire} questionnaire
   */
  async submit(questionnaire) {
    const invitation = invitationOf(this);
    const record = questionnaire.record();
    const { interval } = this.#settings;
    const fetched = this.#fetched;
    const multiple = Math.ceil((Date.now() + 1 - fetched) / interval);
    const after = interval ? fetched + multiple * interval : undefined;
    await this.#sent((client, survey) => client.submit(survey, record, { invitation, after }));
  }

  /** Send the report that was drawn before. */
  async #resend() {
    const invitation = invitationOf(this);
    await this.#sent((client, survey) => client.resend(survey, { invitation }));
  }

  /** @param {(client: Client, survey: Survey) => Promise<Submission>} send */
  async #sent(send) {
    const { current: survey, client } = this;
    if (!survey || !client) return;
    this.#trail.letLeave();
    const isBack = this.#trail.finish();
    for (const control of this.root.querySelectorAll("button, select")) {
      /** @type {HTMLButtonElement} */ (control).disabled = true;
    }
    try {
      const submission = await send(client, survey).catch((error) => {
        // An answer that is none of a collector: the report may have arrived, and is sent again.
        if (!(error instanceof RequestRefused && client.isWaiting(survey.id))) throw error;
        return { id: client.report(survey.id)?.id ?? "", status: /** @type {const} */ ("waiting") };
      });
      // The page cleans its place in the history once it hears of the report.
      await isBack;
      // Meanwhile the page may ask something else here.
      if (survey !== this.current) return;
      this.#ledger = await boundingLedger(this, client, survey);
      // The report is drawn and remembered for good; nobody can change what it was made of.
      this.#stayed ??= this.questionnaire;
      this.questionnaire = null;
      this.#done(submission.status);
      this.tell("submitted", submission);
    } catch (error) {
      if (survey !== this.current) return;
      if (client.report(survey.id)?.refused === undefined) {
        this.#fail(error, null);
      } else {
        this.questionnaire?.clear();
        this.questionnaire = null;
        this.#refused();
      }
    }
  }

  /** @param {Submission["status"]} status */
  #done(status) {
    const { current: survey, client } = this;
    const stayed = this.#stayed;
    if (!survey || !client) return;
    clearInterval(this.#timer);
    const isCounted = status !== "waiting";
    const moment = isCounted ? 0 : client.heldUntil(survey.id);
    // Whoever opens the page later, or answers in a second tab, may be somebody else.
    const isOwn = client.drew(survey.id);
    const { sharedDevices } = survey.terms;
    /** @type {import("./closing.js").Outcome} */
    let state = sharedDevices ? "shared" : "before";
    if (!isCounted) state = client.remembers ? "waiting" : "open";
    else if (isOwn || status === "accepted") state = "counted";
    const step = {
      outcome: state,
      isHidden: hidesAll(survey, client.unprotected),
      onward: isCounted && isOwn ? this.#onward(survey) : null,
      moment,
      again: isCounted || moment ? null : () => void this.#resend(),
      another: isCounted && sharedDevices ? () => this.#askAnother(status) : null,
    };
    this.show((words) => {
      const answers = (isOwn && stayed?.lines(words)) || [];
      const report = isOwn ? receipt(survey, client.report(survey.id), words, stayed?.record()) : null;
      const thanks = isCounted && isOwn ? inLanguage(survey.framing.thanks, words.language) : "";
      const counted = isOwn ? this.#counted(survey, words) : null;
      return outcome({ ...step, thanks, answers, report, counted }, words);
    });
    // At the very moment: ticks from now on would show how long answering took. A clock may be set back.
    if (moment) this.#timer = setTimeout(() => void this.#resend(), Math.min(moment - Date.now(), 2 ** 31 - 1));
    else if (!isCounted) this.#timer = setInterval(() => void this.#retry(), RETRY);
  }

  /** Send what waits, and tell what became of it. */
  async #retry() {
    const { current: survey, client } = this;
    const timer = this.#timer;
    if (!survey || !client) return;
    await client.flush();
    // Meanwhile this page may have been left, or a person may have pressed something.
    if (timer !== this.#timer || survey !== this.current || client.isWaiting(survey.id)) return;
    clearInterval(timer);
    if (client.report(survey.id)?.refused !== undefined) this.#refused();
    else {
      this.#done("accepted");
      this.tell("submitted", { id: client.report(survey.id)?.id, status: "accepted" });
    }
  }

  /** @param {Survey} survey Where to go on to, once its report was counted, and by itself after a moment. */
  #onward({ framing }) {
    const onward = onwardOf(framing, () => clearTimeout(this.#timer));
    const go = () => /** @type {HTMLElement | null} */ (this.root.querySelector(".onward"))?.click();
    if (onward?.seconds) this.#timer = setTimeout(go, 1_000 * onward.seconds);
    return onward;
  }

  /**
   * Let another person answer on this device, once they say that they are one.
   *
   * @param {Submission["status"]} status Of the report before.
   */
  #askAnother(status) {
    const { current: survey, client } = this;
    if (!survey || !client) return;
    clearInterval(this.#timer);
    const go = async () => {
      try {
        await client.forget(survey);
        this.forgetPerson();
        await this.start();
      } catch (error) {
        this.#fail(error, null);
      }
    };
    const back = () => this.#done(status);
    this.show((words) => anotherPerson({ back, go: () => void go() }, words));
  }

  /** @type {(survey: Survey, words: import("./wording.js").Wording) => HTMLElement | null} */
  #counted(survey, words) {
    return ledgerOf(this.#ledger, survey, () => this.#forgetLedger(survey), words);
  }

  #forgetLedger = async (/** @type {Survey} */ survey) => {
    await this.client?.forgetLedger(survey);
    this.forgetPerson();
    await this.start();
  };

  /** @param {(() => void) | null} [retry] */
  #refused(retry = null) {
    const { current: survey, client } = this;
    if (!survey || !client) return;
    clearInterval(this.#timer);
    const { refused: message = "", about } = client.report(survey.id) ?? {};
    this.show((words) => refusal({ refused: message, about }, survey, retry, words));
    this.tell("refused", { message });
  }

  /** @type {(error: unknown, retry: (() => void) | null) => void} */
  #fail(error, retry) {
    const isInvited = invitationOf(this) !== undefined;
    const left = hasReport(this.client, this.survey);
    this.show((words) => failure(error, left, isInvited, retry, this.#forgetLedger, words));
    this.tell("refused", { message: messageOf(error, this.words) });
  }
}
