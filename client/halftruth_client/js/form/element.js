/** The custom element `<halftruth-form survey="…" collector="…" max-gamma="…">`. */

import { inLanguage } from "../documents.js";
import { CollectorUnavailable } from "../errors.js";
import { hidesAll } from "../protection.js";
import { Session } from "../session.js";
import { ATTRIBUTES, Reflecting, settingsOf } from "./attributes.js";
import { anotherPerson, askToForget, failure, loading, onwardOf, outcome, refusal } from "./closing.js";
import { PageHistory } from "./history.js";
import { chooseLanguage, languageChooser, loadWording, wantedLanguages } from "./languages.js";
import { opening } from "./opening.js";
import { practiceRound } from "./practice.js";
import { questions } from "./questions.js";
import { styleSheet } from "./style.js";
import { element, review } from "./views.js";
import { Wording } from "./wording.js";

/** One for all forms of a page.
 * @type {CSSStyleSheet | undefined} */
let sheet;

/**
 * Says who asks and how answers are protected, asks the questions of a survey, perturbs the answers
 * here, sends the report, and shows it beside the answers. Leaving with answers is asked about once.
 *
 * It is a view of a session (`session.js`), which draws, sends and settles. What people see before
 * sending does not depend on the draw, so that nobody can choose a draw that suits them. Nothing that
 * was entered or shown outlives the page's leaving, not even in the browser's own copy of the page.
 *
 * Attributes are those of `FormAttributes` (`types.d.ts`) and `lang`, the language, which changes when a
 * person chooses another one. Each has a property (`maxGamma` of `max-gamma`). When one is set anew, the
 * form begins anew.
 *
 * Events: `submitted` with `{id, status}`, `refused` with `{message}` and, after another language was
 * chosen, `language` with what a page around the form may show in it, as detail; none ever holds an
 * answer.
 */
export class HalftruthForm extends Reflecting {
  static observedAttributes = ["lang", ...Object.keys(ATTRIBUTES)];

  /** What is asked and answered now.
   * @type {Session | null} */
  session = null;
  words = new Wording();
  /** True once the words were chosen by the languages of the survey. */
  #isLocalized = false;
  /** Makes the view that is shown, in the words of the moment. */
  #make = loading;
  /** True once this person gave the consent that is asked for. */
  #agreed = false;
  #history = new PageHistory(this);
  /** Resolves once the browser is at the place of the first page, where nothing can be gone back to. */
  #returned = Promise.resolve();
  #timer = 0;
  #starts = 0;
  #isPlaced = false;
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
      // An invitation is looked at when something is sent: whoever is answering goes on.
      if (name === "invitation" && session?.questionnaire && session.state !== "refused") return;
      this.#isLocalized = false;
      this.#startSoon();
    }
  }

  /** Start once a framework has set everything that it is setting now. */
  #startSoon() {
    this.session?.leave();
    this.show(loading);
    this.#starts += 1;
    const start = this.#starts;
    queueMicrotask(() => {
      if (start === this.#starts) void this.start();
    });
  }

  /** Settings of a session, by the attributes. */
  settings() {
    return settingsOf(this);
  }

  /** True if something was entered that leaving would lose. */
  hasAnswers() {
    const { state, questionnaire } = this.session ?? {};
    return state === "asking" && (questionnaire?.answers.size ?? 0) > 0;
  }

  /** Open a session, and show what it asks or what became of an earlier report. */
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
    // The page or its address may name a language; those of the survey come later.
    if (!this.#isLocalized) await this.#localize(session).catch(() => {});
    if (session === this.session && session.state === "idle") await session.open();
  }

  /** Load the words of the wanted language, of those that the survey is in once it was fetched.
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
      // The page cleans its place in the history once it hears of the report.
      await this.#returned;
      // Words that do not come are no reason to hide what went wrong.
      if (state === "failed") await this.#localize(session).catch(() => {});
      if (!isOver()) this.#end(session);
    }
  }

  /** @type {(session: Session, missing?: boolean) => void} */
  #open(session, missing = false) {
    const { survey, view } = session;
    const practice = survey.mechanism.practice(view);
    const step = {
      missing,
      practise: practice && (() => this.#history.go(() => this.show(practiceRound(practice, this.#history.back)))),
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
    // Other answers may have taken this page away: the one before it is shown then.
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
    const { survey, client, questionnaire } = session;
    const step = {
      isHidden: hidesAll(survey, client.unprotected),
      lasts: client.remembers,
      back: this.#history.back,
      send: () => void this.submit(session),
    };
    this.show((words) => review({ ...step, answers: questionnaire?.lines(words) ?? [] }, words));
  }

  /** Draw the one report of the answers and send it.
   * @type {(session: Session) => Promise<void>} */
  async submit(session) {
    await session.submit();
  }

  /** Show what became of a report, or why there is none.
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

  /** @param {import("../survey.js").Survey} survey Where to go on to, and by itself after a moment. */
  #onward({ framing }) {
    const onward = onwardOf(framing, () => clearTimeout(this.#timer));
    const go = () => /** @type {HTMLElement | null} */ (this.root.querySelector(".onward"))?.click();
    if (onward?.seconds) this.#timer = setTimeout(go, 1_000 * onward.seconds);
    return onward;
  }

  /** Let another person answer on this device, once they say that they are one.
   * @type {(session: Session) => void} */
  #askAnother(session) {
    clearTimeout(this.#timer);
    const step = { back: () => this.#end(session), go: () => void session.forgetReport() };
    this.show((words) => anotherPerson(step, words));
  }

  /** Forget what earlier reports cost, once a person read what that costs.
   * @type {(session: Session, back: () => void) => Promise<void>} */
  async #askToForget(session, back) {
    clearTimeout(this.#timer);
    const { survey, ledger, allowed } = await session.ledgerToForget();
    const go = () => void session.forgetLedger(survey);
    if (session === this.session) this.show((words) => askToForget({ ledger, allowed, back, go }, words));
  }

  /** Use the language that is wanted now, where it was another one before. */
  #follow() {
    const { survey } = this.session ?? {};
    if (survey && chooseLanguage(survey.languages, wantedLanguages(this)) !== this.words.language) void this.#renderIn(survey);
  }

  /** Render all that is shown in the language that is wanted now; answers stay.
   * @param {import("../survey.js").Survey} survey */
  async #renderIn({ languages, title, description }) {
    const language = chooseLanguage(languages, wantedLanguages(this));
    try {
      const words = await loadWording(language);
      // Meanwhile another one may have been chosen.
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
      // Its words did not come: what is shown stays unchanged.
      if (!(error instanceof CollectorUnavailable)) throw error;
      this.#render();
    }
  }

  /** @type {(name: keyof import("./types.d.ts").FormEvents, detail: unknown) => void} */
  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** @param {(words: Wording) => HTMLElement} make Of the words that the view is to be made of. */
  show(make) {
    const first =
      this.root.childElementCount === 0 || this.root.querySelector("p[role=status]") !== null;
    this.#make = make;
    const view = this.#render();
    // A first view leaves the reader where they are; each further one is announced by its heading.
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
      view,
    );
    const isChoosing = root.activeElement?.matches(".language select");
    root.replaceChildren(around);
    if (isChoosing) /** @type {HTMLElement | null} */ (root.querySelector("select"))?.focus();
    return view;
  }
}
