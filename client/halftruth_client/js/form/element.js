/** The custom element `<halftruth-form survey="…" collector="…" max-gamma="…">`. */

import { inLanguage } from "../documents.js";
import { CollectorUnavailable } from "../errors.js";
import { protection } from "../protection.js";
import { Session } from "../session.js";
import { ATTRIBUTES, fetchFirst, Reflecting, settingsOf } from "./attributes.js";
import { anotherPerson, askToForget, failure, loading, onwardOf, outcome, refusal } from "./closing.js";
import { PageHistory } from "./history.js";
import { chooseLanguage, languageChooser, loadWording, wantedLanguages } from "./languages.js";
import { collapsedOf, opening } from "./opening.js";
import { practiceOf, practiceRound } from "./practice.js";
import { questions } from "./questions.js";
import { styleSheet } from "./style.js";
import { element, review } from "./views.js";
import { Wording } from "./wording.js";

/** Style sheet shared by all forms of a page.
 * @type {CSSStyleSheet | undefined} */
let sheet;

/**
 * Form for a survey. It explains the survey and its protection, asks the questions, perturbs the
 * answers in the browser, sends the report, and then shows the report beside the answers. Browsers
 * ask for confirmation before a person leaves the page with unsent answers.
 *
 * The form is a view of a session (`session.js`), which draws and sends the report. Nothing shown
 * before sending depends on the draw, so a person cannot choose among draws. Answers and report are
 * removed when the person leaves the page, also from the copy of the page in the back/forward
 * cache.
 *
 * Attributes: those of `FormAttributes` (`types.d.ts`), each with a property (`maxGamma` for
 * `max-gamma`), and `lang`, which changes when a person chooses another language. Setting an
 * attribute restarts the form; `lang` and, while a person is answering, `invitation` do not.
 *
 * Events: `submitted` with `{id, status}`; `refused` with `{message}`; and `language` with texts
 * for the page around the form, when a person chose another language. No event contains an answer.
 */
export class HalftruthForm extends Reflecting {
  static observedAttributes = ["lang", ...Object.keys(ATTRIBUTES)];

  /** The current response of a person to the survey.
   * @type {Session | null} */
  session = null;
  words = new Wording();
  /** True if the language was chosen among the languages of the survey. */
  #isLocalized = false;
  /** Function that creates the current view, in the language of its parameter. */
  #make = loading;
  /** True if this person gave the consent that the survey requires. */
  #agreed = false;
  #history = new PageHistory(this);
  /** Resolves when the browser is back at the history entry of the first page. */
  #returned = Promise.resolve();
  #timer = 0;
  #starts = 0;
  #isPlaced = false;
  /** True from the first session on: later ones fetch the survey, whose terms may have changed. */
  #hasStarted = false;
  #leave = () => this.session?.leave();
  #comeBack = (/** @type {PageTransitionEvent} */ event) => {
    if (event.persisted) void this.start();
  };

  constructor() {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.root.adoptedStyleSheets = [(sheet ??= styleSheet())];
  }

  connectedCallback() {
    addEventListener("pagehide", this.#leave);
    addEventListener("pageshow", this.#comeBack);
    this.#history.follow();
    this.#isPlaced = true;
    this.#startSoon();
  }

  disconnectedCallback() {
    removeEventListener("pagehide", this.#leave);
    removeEventListener("pageshow", this.#comeBack);
    this.#history.unfollow();
    this.#isPlaced = false;
    this.#starts += 1;
    this.session?.leave();
  }

  /** @type {(name: string, before: string | null, now: string | null) => void} */
  attributeChangedCallback(name, before, now) {
    const { session } = this;
    if (name === "lang") this.#follow();
    else if (this.#isPlaced && before !== now) {
      if (name === "invitation" && session) session.invitation = now || undefined;
      // The invitation is only used for sending, so a new one does not interrupt the answers.
      if (name === "invitation" && session?.questionnaire && session.state !== "refused") return;
      this.#isLocalized = false;
      this.#startSoon();
    }
  }

  /** Start in a microtask, after a framework has set all attributes. */
  #startSoon() {
    this.session?.leave();
    this.show(loading);
    this.#starts += 1;
    const start = this.#starts;
    queueMicrotask(() => {
      if (start === this.#starts) void this.start();
    });
  }

  /** Settings of the session, from the attributes; and at the first start the survey, if the page has it. */
  settings() {
    const settings = settingsOf(this);
    const fetch = this.#hasStarted ? undefined : fetchFirst(this, settings);
    this.#hasStarted = true;
    return { ...settings, fetch };
  }

  /** True if there are unsent answers, which would be lost when leaving the page. */
  hasAnswers() {
    const { state, questionnaire } = this.session ?? {};
    return state === "asking" && (questionnaire?.answers.size ?? 0) > 0;
  }

  /** Open a session, and show the survey or the outcome of an earlier report. */
  async start() {
    this.session?.leave();
    this.show(loading);
    const prepare = (/** @type {Session} */ opened) => this.#localize(opened);
    const session = new Session({ ...this.settings(), prepare });
    this.session = session;
    session.addEventListener("change", () => void this.#changed(session));
    for (const name of /** @type {const} */ (["submitted", "refused"])) {
      session.addEventListener(name, async ({ detail }) => {
        await this.#returned;
        if (session === this.session) this.#emit(name, detail);
      });
    }
    // Choose a language by the page and its address; the survey's languages are not known yet.
    if (!this.#isLocalized) await this.#localize(session).catch(() => {});
    if (session === this.session && session.state === "idle") await session.open();
  }

  /** Load the texts in the preferred language; once the survey was fetched, among its languages.
   * @param {Session} session */
  async #localize(session) {
    const { survey } = session;
    const words = await loadWording(chooseLanguage(survey?.languages ?? [], wantedLanguages(this)));
    if (session === this.session) [this.words, this.#isLocalized] = [words, survey !== null];
  }

  /** @param {Session} session */
  async #changed(session) {
    const { state } = session;
    const isOver = () => session !== this.session || session.state !== state;
    clearTimeout(this.#timer);
    if (state === "loading" || state === "left") {
      this.#history.letLeave();
      this.#history.reset();
      this.#agreed = false;
      this.show(loading);
    } else if (state === "asking") this.#history.go(() => this.#open(session));
    else if (state === "sending") {
      this.#history.letLeave();
      this.#returned = this.#history.finish();
      for (const control of this.root.querySelectorAll("button, select")) {
        /** @type {HTMLButtonElement} */ (control).disabled = true;
      }
    } else {
      // Listeners of `submitted` may change the history entry, so go back to the first one before.
      await this.#returned;
      // If the texts cannot be loaded, show the error in the current language.
      if (state === "failed") await this.#localize(session).catch(() => {});
      if (!isOver()) this.#end(session);
    }
  }

  /** @type {(session: Session, missing?: boolean) => void} */
  #open(session, missing = false) {
    const { survey, view } = session;
    const practice = practiceOf(survey.mechanism, view);
    const step = {
      missing,
      practise: practice && (() => this.#history.go(() => this.show(practiceRound(practice, this.#history.back)), true)),
      agree: (/** @type {boolean} */ agreed) => {
        this.#agreed = agreed;
      },
      begin: () => {
        if (survey.framing.consent && !this.#agreed) this.#open(session, true);
        else this.#history.go(() => this.#askGroup(session));
      },
      forget: () => void this.#askToForget(session, () => this.#open(session)),
    };
    this.show((words) => opening(session, { ...step, agreed: this.#agreed }, words));
    if (missing) {
      /** @type {HTMLElement | null} */ (this.root.querySelector("[name=consent]"))?.focus();
    }
  }

  /** @type {(session: Session, group?: number) => void} */
  #askGroup(session, group) {
    const { questionnaire } = session;
    if (!questionnaire) return;
    this.#history.holdBack();
    const pages = questionnaire.pages();
    // If changed answers removed this page, show the page before it.
    const page = group === undefined ? pages[0] : pages.filter((each) => each <= group).pop();
    if (page === undefined) {
      this.#open(session);
      return;
    }
    const next = () => {
      const after = questionnaire.pages().find((each) => each > page);
      this.#history.go(() => (after === undefined ? this.#review(session) : this.#askGroup(session, after)));
    };
    const { back } = this.#history;
    this.show((words) => questions({ questionnaire, group: page, back, next }, words));
  }

  /** @param {Session} session */
  #review(session) {
    const { survey, client, questionnaire, view } = session;
    const step = {
      lasts: client.remembers,
      collapsed: collapsedOf(survey.mechanism, view),
      back: this.#history.back,
      send: () => void this.submit(session),
    };
    const promise = protection(survey, client.unprotected);
    const said = (/** @type {Wording} */ words) => ({
      answers: questionnaire?.lines(words) ?? [],
      exceptions: words.exceptions(promise, survey.schema),
    });
    this.show((words) => review({ ...step, ...said(words) }, words));
  }

  /** Draw the report of the answers and send it.
   * @type {(session: Session) => Promise<void>} */
  async submit(session) {
    await session.submit();
  }

  /** Show the outcome of a report, or why there is no report.
   * @type {(session: Session) => void} */
  #end(session) {
    const { state, survey } = session;
    const forget = () => void this.#askToForget(session, () => this.#end(session));
    const again = session.canResend ? () => void session.resend() : null;
    if (state === "failed") {
      const isEntered = (session.questionnaire?.answers.size ?? 0) > 0;
      const retry = () => void (isEntered ? session.submit() : this.start());
      this.show((words) => failure(session, { retry, forget }, words));
    } else if (state === "refused") {
      this.show((words) => refusal(session, { again }, words));
    } else {
      const isCounted = state === "counted";
      const onward = isCounted && session.isOwn ? this.#onward(survey) : null;
      const another = isCounted && survey.terms.sharedDevices ? () => this.#askAnother(session) : null;
      this.show((words) => outcome(session, { onward, again, another, forget }, words));
    }
  }

  /** The link to follow after the survey; starts the timer of an automatic redirect.
   * @param {import("../survey.js").Survey} survey */
  #onward({ framing }) {
    const onward = onwardOf(framing, () => clearTimeout(this.#timer));
    const go = () => /** @type {HTMLElement | null} */ (this.root.querySelector(".onward"))?.click();
    if (onward?.seconds) this.#timer = setTimeout(go, 1_000 * onward.seconds);
    return onward;
  }

  /** Let another person answer on this device, after a confirmation.
   * @type {(session: Session) => void} */
  #askAnother(session) {
    clearTimeout(this.#timer);
    const step = { back: () => this.#end(session), go: () => void session.forgetReport() };
    this.show((words) => anotherPerson(step, words));
  }

  /** Delete the ledger of earlier reports, after a confirmation that explains the consequences.
   * @type {(session: Session, back: () => void) => Promise<void>} */
  async #askToForget(session, back) {
    clearTimeout(this.#timer);
    const { ledger, allowed } = await session.ledgerToForget();
    const go = () => void session.forgetLedger();
    if (session === this.session) this.show((words) => askToForget({ ledger, allowed, back, go }, words));
  }

  /** Render in the preferred language if it has changed. */
  #follow() {
    const { survey } = this.session ?? {};
    if (survey && chooseLanguage(survey.languages, wantedLanguages(this)) !== this.words.language) void this.#renderIn(survey);
  }

  /** Render the current view in the preferred language; answers are kept.
   * @param {import("../survey.js").Survey} survey */
  async #renderIn({ languages, title, description }) {
    const language = chooseLanguage(languages, wantedLanguages(this));
    try {
      const words = await loadWording(language);
      // Another language may have been chosen meanwhile.
      if (language !== chooseLanguage(languages, wantedLanguages(this))) return;
      this.words = words;
      this.#render();
      this.#emit("language", {
        language,
        direction: words.direction,
        title: inLanguage(title, language),
        description: inLanguage(description, language),
      });
    } catch (error) {
      // The texts could not be loaded: keep the language, and reset the language chooser.
      if (!(error instanceof CollectorUnavailable)) throw error;
      this.#render();
    }
  }

  /** @type {(name: keyof import("./types.d.ts").FormEvents, detail: unknown) => void} */
  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** Show a view.
   * @param {(words: Wording) => HTMLElement} make Creates the view in a language. */
  show(make) {
    const first =
      this.root.childElementCount === 0 || this.root.querySelector("p[role=status]") !== null;
    this.#make = make;
    const view = this.#render();
    // Do not move the focus for the first view. Focus the heading of later views, for screen
    // readers.
    if (!first) /** @type {HTMLElement | null} */ (view.querySelector("h2"))?.focus();
  }

  #render() {
    const { words, root } = this;
    const view = this.#make(words);
    const choose = (/** @type {string} */ language) => {
      this.lang = language;
    };
    const languages = this.session?.survey?.languages ?? [];
    const around = element(
      "div",
      { lang: words.locale, dir: words.direction, class: words.isForeign && "foreign" },
      languages.length > 1 ? languageChooser(languages, choose, words) : null,
      this.session?.survey?.testOf ? element("p", { class: "problem" }, words.say("test")) : null,
      view,
    );
    const isChoosing = root.activeElement?.matches(".language select");
    root.replaceChildren(around);
    if (isChoosing) /** @type {HTMLElement | null} */ (root.querySelector("select"))?.focus();
    return view;
  }
}
