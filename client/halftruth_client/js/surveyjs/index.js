/** Connection to SurveyJS: answers to a SurveyJS form are perturbed in the browser and sent as a
 * report. */

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
 * The members of a `Model` of survey-core that are in the types; `ModelView` uses more.
 *
 * @typedef {object} Model
 * @property {readonly any[]} pages
 * @property {string} locale
 * @property {() => void} beginLoading
 * @property {() => void} endLoading
 *
 * Settings of the session, and the map from names and values of the SurveyJS form to attributes and
 * answers of the survey, as written by `halftruth survey import --map`.
 *
 * @typedef {import("../session.js").Settings & {map: import("./fields.js").Names}} Settings
 */

/** Models that are connected, or being connected. */
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
 * Ask the questions of a survey in a SurveyJS form, and send a report instead of the answers.
 *
 * The model shows no question until the survey was fetched and accepted; after an error it shows
 * the reason instead. Then it shows the privacy promise, the questions that were drawn for this
 * browser and, after sending, the report. The answers are removed from the model before its event
 * `onComplete`.
 *
 * @param {Model} model Model of survey-core.
 * @param {Settings} settings
 * @returns {Promise<Session>} The open session; it can have an earlier report instead of questions.
 * @throws {HalftruthError} If the survey cannot be answered. The model can then be connected again.
 */
export async function connect(model, settings) {
  if (connected.has(model)) throw new ParameterError("model: expected one to connect once", "model");
  connected.add(model);
  // Show no question if the model is rendered meanwhile.
  model.beginLoading();
  const view = new ModelView(model, settings ?? {});
  const state = await view.session.open();
  await view.shown;
  if (state !== "failed") return view.session;
  connected.delete(model);
  throw view.session.error;
}

/** View of a session in the pages of a model. */
class ModelView {
  /** @type {Fields | null} */
  #fields = null;
  #words = new Wording();
  /** Options of the event `onComplete`, with functions that show messages; null before.
   * @type {any} */
  #completion = null;
  /** Resolves when the last change of state is shown. */
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

  /** Load the texts in the language of the model, or else in the first language of the survey. */
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
      // Remove answers and report from the copy of the page in the back/forward cache.
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

  /** Disable all features of the model that store, send or show answers, and add the privacy
   * promise. */
  #ask() {
    const { model, session } = this;
    // Expressions can pass answers to functions of the page.
    model.onExpressionRunning.add((/** @type {any} */ _, /** @type {any} */ running) => {
      running.allow = false;
    });
    Object.assign(model, { surveyPostId: "", cookieName: "", partialSendEnabled: false });
    Object.assign(model, { triggers: [], calculatedValues: [] });
    Object.assign(model, { completedHtmlOnCondition: [], completedHtml: " ", showCompletePage: true });
    // A text with an inserted answer can be a URL that the browser fetches.
    model.onProcessDynamicText.add((/** @type {any} */ _, /** @type {any} */ text) => {
      Object.assign(text, { isExists: false, value: undefined });
    });
    this.#addPromise();
    this.#listen();
    addEventListener("pagehide", () => session.leave());
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
    model.endLoading();
  }

  /** Add the introduction of the form as the first page, without elements that SurveyJS provides.
   * */
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

  /** Copy each answer to the questionnaire, and submit the session on completion. */
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
    // SurveyJS raises this event again for a retry, which sends the same report.
    model.onComplete.add(/** @type {Handler} */ (_, options) => {
      this.#completion = options;
      void session.submit();
    });
  }

  /** Show the outcome of a report, or why there is no report. */
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
      // Make SurveyJS render the new text.
      model.endLoading();
      model.beginLoading();
      return;
    }
    model.completedHtml = html;
    if (state === "counted") this.#completion.showSaveSuccess(words.counted(session.survey));
    else this.#completion.showSaveError(view.querySelector("h2")?.textContent);
  }
}

/** HTML of a view, for SurveyJS; adds the style sheet to the page.
 * @type {(view: HTMLElement) => string} */
function htmlOf(view) {
  if (sheet && !document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  view.classList.add("halftruth");
  return view.outerHTML;
}
