/** SurveyJS's own pages: their answers are perturbed in the browser and sent as one report. */

import { inLanguage, isLanguage } from "../documents.js";
import { HalftruthError, ParameterError } from "../errors.js";
import { failure, outcome, refusal } from "../form/closing.js";
import { chooseLanguage, loadWording } from "../form/languages.js";
import { opening } from "../form/opening.js";
import { element } from "../form/views.js";
import { Wording } from "../form/wording.js";
import { Session } from "../session.js";
import { Fields } from "./fields.js";

/**
 * What is used of a `Model` of survey-core.
 *
 * @typedef {object} Model
 * @property {readonly any[]} pages
 * @property {string} locale
 * @property {() => void} beginLoading
 * @property {() => void} endLoading
 *
 * What is sent and how, as a session takes it, and the names and values of the questionnaire with ours,
 * as `halftruth survey import --map` writes them.
 *
 * @typedef {import("../session.js").Settings & {map: import("./fields.js").Names}} Settings
 */

/** Models that ask, or will once their survey is there. */
const connected = new WeakSet();

const sheet = globalThis.document && new CSSStyleSheet();
sheet?.replace(`
  .halftruth { text-align: start; }
  section.halftruth { inline-size: fit-content; max-inline-size: 62ch; margin: 0 auto; padding: 0 1em; }
  .halftruth :is(h2, h3) { font-size: 1.2em; margin: 1.2em 0 0.5em; }
  .halftruth dd { margin: 0 0 0.5em; font-weight: 600; white-space: pre-line; }
  .halftruth .figures span::after { content: ": "; }
`);

/**
 * Let a questionnaire of SurveyJS ask, and send a report in the place of its answers.
 *
 * From the call on nothing is shown until the survey was fetched and found to protect enough; if it
 * does not, or anything else is wrong, the model shows why, and asks nothing. Then it shows what is
 * promised, the questions that were drawn for this browser and, after sending, the report. The
 * answers are taken out of the model before its `onComplete` is raised.
 *
 * @param {Model} model Of survey-core.
 * @param {Settings} settings
 * @returns {Promise<Session>} Which asks, or knows what became of an earlier report.
 * @throws {HalftruthError} If nothing is asked; connecting the model again tries again.
 */
export async function connect(model, settings) {
  if (connected.has(model)) throw new ParameterError("model: expected one to connect once", "model");
  connected.add(model);
  // Whoever renders the model meanwhile sees no question.
  model.beginLoading();
  const view = new ModelView(model, settings ?? {});
  const state = await view.session.open();
  await view.shown;
  if (state !== "failed") return view.session;
  connected.delete(model);
  throw view.session.error;
}

/** Shows a session by the pages of a model. */
class ModelView {
  /** @type {Fields | null} */
  #fields = null;
  #words = new Wording();
  /** What SurveyJS shows messages by while it completes, once it does.
   * @type {any} */
  #completion = null;
  /** Resolves once the last change of state is to be seen. */
  shown = Promise.resolve();

  /** @param {Model} model
   * @param {Settings} settings */
  constructor(model, { map, ...settings }) {
    /** @type {any} */
    this.model = model;
    const prepare = async () => {
      await this.#localize();
      this.#check(map);
    };
    this.session = new Session({ ...settings, prepare });
    this.session.addEventListener("change", () => {
      this.shown = this.#show();
    });
  }

  /** Choose the words by the language of the model, of those that the survey is in. */
  async #localize() {
    const named = [this.model.locale].filter(isLanguage);
    const { languages = [] } = this.session.survey ?? {};
    this.#words = await loadWording(chooseLanguage(languages, { named, preferred: [] }));
  }

  /** @param {import("./fields.js").Names} map */
  #check(map) {
    const { model, session } = this;
    if (typeof model.onExpressionRunning?.add !== "function") {
      throw new ParameterError(
        "model: expected one of survey-core with the event onExpressionRunning, such as version 2",
        "model",
      );
    }
    const { questionnaire, survey } = session;
    if (questionnaire) this.#fields = new Fields(model, map, survey.schema, questionnaire.names);
  }

  async #show() {
    const { model, session } = this;
    const { state } = session;
    if (state === "left") {
      // Nobody who goes back to the browser's copy of the page sees what was answered or sent.
      Object.assign(model, { data: {}, completedHtml: " ", loadingHtml: " " });
      model.beginLoading();
    } else if (state === "asking" && this.#completion === null) {
      this.#ask();
    } else if (state === "sending") {
      this.#completion?.showSaveInProgress(`${this.#words.say("send")} …`);
    } else if (state !== "loading") {
      if (state === "failed") await this.#localize().catch(() => {});
      this.#end();
    }
  }

  /** Switch off whatever else would keep, send or show answers, and put the promise first. */
  #ask() {
    const { model, session } = this;
    // Any expression can call a function of the page with the answers.
    model.onExpressionRunning.add((/** @type {any} */ _, /** @type {any} */ running) => {
      running.allow = false;
    });
    Object.assign(model, { surveyPostId: "", cookieName: "", partialSendEnabled: false });
    Object.assign(model, { triggers: [], calculatedValues: [] });
    Object.assign(model, { completedHtmlOnCondition: [], completedHtml: " ", showCompletePage: true });
    // A text with an answer in it may be an address that the browser fetches.
    model.onProcessDynamicText.add((/** @type {any} */ _, /** @type {any} */ text) => {
      Object.assign(text, { isExists: false, value: undefined });
    });
    this.#addPromise();
    this.#listen();
    addEventListener("pagehide", () => session.leave());
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
    model.endLoading();
  }

  /** The first page of our own form, without what SurveyJS has its own of. */
  #addPromise() {
    const { model, session } = this;
    const words = this.#words;
    const none = { agreed: false, missing: false, agree: () => {}, practise: null, begin: () => {}, forget: null };
    const promise = opening(session, none, words);
    for (const part of promise.querySelectorAll("h2, .bar, .buttons, fieldset")) part.remove();
    const page = model.addNewPage("halftruth", 0);
    page.title = words.say("opening");
    page.addNewQuestion("html", "halftruth-promise").html = htmlOf(element("div", {}, ...promise.childNodes));
    const consent = inLanguage(session.survey.framing.consent, words.language);
    if (consent) {
      Object.assign(page.addNewQuestion("checkbox", "halftruth-consent"), {
        title: words.say("consent"),
        choices: [{ value: "agreed", text: consent }],
        isRequired: true,
        requiredErrorText: words.say("consentMissing"),
      });
    }
    Object.assign(model, { firstPageIsStartPage: true, startSurveyText: words.say("begin") });
  }

  /** Take the answers as they are given, and send once they are complete. */
  #listen() {
    const { model, session } = this;
    const fields = /** @type {Fields} */ (this.#fields);
    const questionnaire = /** @type {import("../questionnaire.js").Questionnaire} */ (session.questionnaire);
    let isTaken = false;
    const update = () => {
      if (!isTaken) fields.update(questionnaire);
    };
    update();
    /** @typedef {(sender: any, options: any) => void} Handler */
    model.onValueChanged.add(update);
    model.onValidateQuestion.add(/** @type {Handler} */ (_, options) => {
      options.error ||= fields.problem(options.question, this.#words);
    });
    model.onCompleting.add(/** @type {Handler} */ (_, options) => {
      update();
      try {
        session.survey.schema.encode(questionnaire.record(), questionnaire.names);
      } catch (error) {
        options.allow = false;
        options.message = error instanceof HalftruthError ? error.message : this.#words.say("unforeseen");
      }
      if (!options.allow) return;
      isTaken = true;
      model.data = {};
    });
    // SurveyJS raises it again for whoever wants to send again: the report that was drawn is sent.
    model.onComplete.add(/** @type {Handler} */ (_, options) => {
      this.#completion = options;
      void session.submit();
    });
  }

  /** Show what became of a report, or why there is none. */
  #end() {
    const { model, session } = this;
    const { state } = session;
    const words = this.#words;
    const view =
      state === "refused"
        ? refusal(session, {}, words)
        : state === "waiting" || state === "counted"
          ? outcome(session, {}, words)
          : failure(session, {}, words);
    const html = htmlOf(view);
    if (this.#completion === null) {
      Object.assign(model, { loadingHtml: html });
      // What is rendered already is rendered anew.
      model.endLoading();
      model.beginLoading();
      return;
    }
    model.completedHtml = html;
    if (state === "counted") this.#completion.showSaveSuccess(words.counted(session.survey));
    else this.#completion.showSaveError(view.querySelector("h2")?.textContent);
  }
}

/** What SurveyJS shows, in the style that it has here.
 * @type {(view: HTMLElement) => string} */
function htmlOf(view) {
  if (sheet && !document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  view.classList.add("halftruth");
  return view.outerHTML;
}
