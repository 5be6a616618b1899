/** People who answer a SurveyJS questionnaire by its model, one after another in one page. */

import { connect } from "halftruth-client/surveyjs";
import { FunctionFactory, Model, Serializer } from "survey-core";

// Each person has a separate device, which shares no locks with the others.
Object.defineProperty(navigator, "locks", { value: undefined });

// Custom functions of the page, which record the answers that they receive.
globalThis.seenByFunctions = [];
function spy(params) {
  const { survey, returnResult } = this;
  const seen = JSON.stringify({ params, data: survey?.data ?? {} });
  globalThis.seenByFunctions.push(seen);
  // Return nothing, so that no expression sets a value.
  returnResult?.(null);
  return null;
}
FunctionFactory.Instance.register("spy", spy);
FunctionFactory.Instance.register("spyLater", spy, true);
// A custom property that is an expression.
Serializer.addProperty("question", { name: "watch:expression", onExecuteExpression: () => {} });

/** Fill in a question, using only the options and rows that it shows. */
function fill(question, answer) {
  if (question.getType() === "matrix") {
    const rows = question.visibleRows.map(({ name }) => name);
    question.value = Object.fromEntries(Object.entries(answer).filter(([row]) => rows.includes(row)));
  } else if (Array.isArray(answer)) {
    const shown = question.visibleChoices.map(({ value }) => value);
    question.value = answer.filter((each) => shown.includes(each));
  } else question.value = answer;
}

/** Answer as one person, and return the asked questions and the outcome. */
globalThis.answer = async (questionnaire, settings, answers, changed = {}) => {
  const model = Object.assign(new Model(questionnaire), changed);
  const seen = [];
  model.onComplete.add((sender) => seen.push(JSON.stringify(sender.data)));
  const failed = await connect(model, settings).then(() => null, ({ message }) => message);
  globalThis.model = model;
  const { state } = model;
  const asked = [];
  if (state !== "starting") return { state, failed, html: model.loadingHtml };
  model.start();
  for (;;) {
    // Pages depend on the answers so far.
    for (const question of model.currentPage.questions) {
      if (!question.isVisible || !(question.name in answers)) continue;
      asked.push(question.name);
      fill(question, answers[question.name]);
    }
    if (!(model.isLastPage ? model.completeLastPage() : model.nextPage())) break;
    if (model.state === "completed") break;
  }
  const wrong = model.getAllQuestions().flatMap(({ errors }) => errors.map((error) => error.getText()));
  if (model.state !== "completed") return { state: model.state, asked, wrong };
  while (model.completedState === "saving") await new Promise((then) => setTimeout(then, 5));
  const { completedState, completedStateText: text, completedHtml: html } = model;
  return { state: completedState, text, html, asked, seen, data: model.data };
};

/** Return a model that is not connected. */
globalThis.plain = (questionnaire) => new Model(questionnaire);

/** Answer for several people, each on a separate device. */
globalThis.answerAll = async (questionnaire, settings, people) => {
  const ends = [];
  for (const person of people) {
    localStorage.clear();
    ends.push(await answer(questionnaire, settings, person));
  }
  return ends;
};
