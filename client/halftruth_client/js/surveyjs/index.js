/** SurveyJS's own pages: their answers are perturbed in the browser and sent as one report. */

import { Client } from "../client.js";
import { HalftruthError, ParameterError, RequestRefused } from "../errors.js";
import { outcome } from "../form/closing.js";
import { element } from "../form/dom.js";
import { checkAdmission, failure, hasReport, refusal } from "../form/failures.js";
import { chosen, wordingIn } from "../form/languages.js";
import { opening } from "../form/opening.js";
import { selection } from "../form/outlook.js";
import { Questionnaire } from "../form/questionnaire.js";
import { receipt } from "../form/receipt.js";
import { Wording } from "../form/wording.js";
import { hidesAll, protection } from "../protection.js";
import { inLanguage, isLanguage } from "../texts.js";
import { Fields } from "./fields.js";

/**
 * @import { Survey } from "../survey.js"
 *
 * What is used of a `Model` of survey-core.
 *
 * @typedef {object} Model
 * @property {readonly any[]} pages
 * @property {string} locale
 * @property {() => void} beginLoading
 * @property {() => void} endLoading
 *
 * @typedef {object} Settings
 * @property {string} survey Its id.
 * @property {string} collector Address of the collector.
 * @property {import("./fields.js").Names} map
 *   Names and values of the questionnaire with ours, as `halftruth survey import --map` writes them.
 * @property {string | number} maxGamma Largest amplification to accept.
 * @property {readonly string[]} [unprotected] Attributes that may be sent unperturbed.
 * @property {readonly string[]} [digests] Of the surveys that may be answered.
 * @property {readonly string[]} [operatorKeys]
 *   Public keys of operators: a survey that none of them signed is refused.
 * @property {string | number} [maxTotalGamma]
 *   Largest amplification to accept of all reports from this browser together.
 * @property {string} [invitation] What lets the report in where the survey asks for one.
 *
 * @typedef {{client: Client, survey: Survey, words: Wording, invitation?: string}} Parts
 */

/** Milliseconds between tries while a report waits. */
const RETRY = 5_000;

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
 * @returns {Promise<Survey>} The survey that is asked, or was answered here before.
 * @throws {HalftruthError} If nothing is asked; connecting the model again tries again.
 */
export async function connect(model, settings) {
  if (connected.has(model)) throw new ParameterError("model: expected one to connect once", "model");
  connected.add(model);
  // Whoever renders the model meanwhile sees no question.
  model.beginLoading();
  const { survey: id = "", collector, map, invitation, ...policy } = settings ?? {};
  let words = new Wording();
  /** @type {Client | undefined} */
  let client;
  /** @param {HTMLElement} view In the place of questions. */
  const show = (view) => {
    Object.assign(model, { loadingHtml: htmlOf(view) });
    /** @type {any} */ (model).renderCallback?.();
  };
  try {
    if (typeof (/** @type {any} */ (model).onExpressionRunning?.add) !== "function") {
      throw new ParameterError(
        "model: expected one of survey-core with the event onExpressionRunning, such as version 2",
        "model",
      );
    }
    const named = [model.locale].filter(isLanguage);
    words = await wordingIn(chosen([], { named, preferred: [] }));
    client = new Client(collector, { ...policy, retries: 2, patience: 2_000 });
    await client.flush();
    const survey = await client.survey(id);
    words = await wordingIn(chosen(survey.languages, { named, preferred: [] }));
    const parts = { client, survey, words, invitation };
    const before = client.before(id, await survey.digest());
    if (before !== null) {
      const { refused } = before;
      if (refused === undefined) show(closing(before.sent ? "before" : "waiting", null, parts));
      else show(refusal({ ...before, refused }, survey, null, words));
      if (!before.sent) setInterval(() => void client?.flush(), RETRY);
      return survey;
    }
    await checkAdmission(client, survey, invitation);
    const asked = await client.asked(survey);
    const fields = new Fields(model, map, survey.schema, asked);
    const questionnaire = new Questionnaire(survey.schema, asked);
    prepare(model, promised(questionnaire, await client.view(survey), parts), parts);
    listen(model, fields, questionnaire, asked, parts);
    model.endLoading();
    return survey;
  } catch (error) {
    show(failure(error, hasReport(client, id), invitation !== undefined, null, null, words));
    connected.delete(model);
    throw error;
  }
}

/**
 * Switch off whatever else would keep, send or show answers, and put the promise first.
 *
 * @param {any} model
 * @param {HTMLElement} promise
 * @param {Parts} parts
 */
function prepare(model, promise, { survey, words }) {
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
  const page = model.addNewPage("halftruth", 0);
  page.title = words.say("opening");
  page.addNewQuestion("html", "halftruth-promise").html = htmlOf(promise);
  const consent = inLanguage(survey.framing.consent, words.language);
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

/**
 * The first page of our own form, without what SurveyJS has its own of.
 *
 * @param {Questionnaire} questionnaire
 * @param {number | undefined} view What was drawn to be asked about.
 * @param {Parts} parts
 */
function promised(questionnaire, view, { client, survey, words }) {
  const { schema, mechanism, framing, terms } = survey;
  const step = {
    framing: { ...framing, consent: "" },
    protection: protection(survey, client.unprotected),
    fit: mechanism.fit(view),
    attributes: new Map(schema.attributes.map((attribute) => [attribute.name, attribute])),
    terms,
    drawn: selection(survey, questionnaire, view, words),
    lasts: client.remembers,
    ...{ agreed: false, missing: false, agree: () => {}, practise: null, begin: () => {} },
    counted: null,
  };
  const made = opening(step, words);
  for (const part of made.querySelectorAll("h2, .bar, .buttons")) part.remove();
  return element("div", {}, ...made.childNodes);
}

/**
 * Ask as the survey does, and send.
 *
 * @param {any} model
 * @param {Fields} fields
 * @param {Questionnaire} questionnaire
 * @param {readonly string[]} asked
 * @param {Parts} parts
 */
function listen(model, fields, questionnaire, asked, parts) {
  const { client, survey, words, invitation } = parts;
  /** @type {import("../schema.js").PersonRecord | null} Answers, once they are taken out. */
  let record = null;
  const update = () => {
    if (record === null) fields.update(questionnaire);
  };
  update();
  /** @typedef {(sender: any, options: any) => void} Handler */
  model.onValueChanged.add(update);
  model.onValidateQuestion.add(/** @type {Handler} */ (_, options) => {
    options.error ||= fields.problem(options.question, words);
  });
  model.onCompleting.add(/** @type {Handler} */ (_, options) => {
    update();
    try {
      survey.schema.encode(questionnaire.record(), asked);
    } catch (error) {
      options.allow = false;
      options.message = error instanceof HalftruthError ? error.message : words.say("unforeseen");
    }
    if (!options.allow) return;
    record = questionnaire.record();
    model.data = {};
  });
  const send = async () => {
    try {
      return (await client.submit(survey, record ?? {}, { invitation })).status;
    } catch (error) {
      // An answer that is none of a collector: the report may have arrived, and is sent again.
      if (error instanceof RequestRefused && client.isWaiting(survey.id)) return "waiting";
      const report = client.report(survey.id);
      return report?.refused === undefined
        ? failure(error, report !== null, invitation !== undefined, null, null, words)
        : refusal({ ...report, refused: report.refused }, survey, null, words);
    }
  };
  // Nobody who goes back to the browser's copy of the page sees what was answered or sent.
  addEventListener("pagehide", () => {
    Object.assign(model, { data: {}, completedHtml: " ", loadingHtml: " " });
    model.beginLoading();
  });
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
  let timer = 0;
  // SurveyJS raises it again for whoever wants to send again: the report that was drawn is sent.
  const deliver = async (/** @type {any} */ options) => {
    clearInterval(timer);
    options.showSaveInProgress(`${words.say("send")} …`);
    const sent = await send();
    const isCounted = sent === "accepted" || sent === "duplicate";
    const state = isCounted ? "counted" : "waiting";
    const view = typeof sent === "string" ? closing(state, questionnaire, parts) : sent;
    model.completedHtml = htmlOf(view);
    if (isCounted) options.showSaveSuccess(words.say("counted"));
    else options.showSaveError(view.querySelector("h2")?.textContent);
    if (sent !== "waiting") return;
    timer = setInterval(async () => {
      await client.flush();
      if (!client.isWaiting(survey.id)) void deliver(options);
    }, RETRY);
  };
  model.onComplete.add((/** @type {any} */ _, /** @type {any} */ options) => void deliver(options));
}

/**
 * The page after sending, with the report once it is counted.
 *
 * @param {"counted" | "before" | "waiting"} state
 * @param {Questionnaire | null} questionnaire With the answers that stayed.
 * @param {Parts} parts
 */
function closing(state, questionnaire, { client, survey, words }) {
  const isOwn = state === "counted";
  const step = {
    outcome: state === "waiting" && !client.remembers ? /** @type {const} */ ("open") : state,
    moment: 0,
    thanks: isOwn ? inLanguage(survey.framing.thanks, words.language) : "",
    answers: questionnaire?.lines(words) ?? [],
    report: isOwn ? receipt(survey, client.report(survey.id), words, questionnaire?.record()) : null,
    isHidden: hidesAll(survey, client.unprotected),
    onward: null,
    again: null,
    another: null,
    counted: null,
  };
  return outcome(step, words);
}

/** @type {(view: HTMLElement) => string} What SurveyJS shows, in the style that it has here. */
function htmlOf(view) {
  if (sheet && !document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  view.classList.add("halftruth");
  return view.outerHTML;
}
