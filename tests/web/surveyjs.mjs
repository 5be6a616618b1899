/** People who answer a questionnaire of SurveyJS by its own model, one after another in one page. */

import { connect } from "halftruth-client/surveyjs";
import { FunctionFactory, Model, Serializer } from "survey-core";

// Each has a device of their own, and waits for nothing that the page of another one has written.
Object.defineProperty(navigator, "locks", { value: undefined });

// Functions of the page, as expressions call them: what they see of the answers.
globalThis.seenByFunctions = [];
function spy(params) {
  const { survey, returnResult } = this;
  const seen = JSON.stringify({ params, data: survey?.data ?? {} });
  globalThis.seenByFunctions.push(seen);
  // Nothing, so that no expression sets a value.
  returnResult?.(null);
  return null;
}
FunctionFactory.Instance.register("spy", spy);
FunctionFactory.Instance.register("spyLater", spy, true);
// A member of its own, which is an expression.
Serializer.addProperty("question", { name: "watch:expression", onExecuteExpression: () => {} });

/** Fill in what a question shows: of several answers and rows those that are there. */
function fill(question, answer) {
  if (question.getType() === "matrix") {
    const rows = question.visibleRows.map(({ name }) => name);
    question.value = Object.fromEntries(Object.entries(answer).filter(([row]) => rows.includes(row)));
  } else if (Array.isArray(answer)) {
    const shown = question.visibleChoices.map(({ value }) => value);
    question.value = answer.filter((each) => shown.includes(each));
  } else question.value = answer;
}

/** What a person who gives these answers was asked, and how it ended. */
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
    // Pages are as they are after the answers so far.
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

/** A model that is not connected. */
globalThis.plain = (questionnaire) => new Model(questionnaire);

/** The same for many, each on a device of their own. */
globalThis.answerAll = async (questionnaire, settings, people) => {
  const ends = [];
  for (const person of people) {
    localStorage.clear();
    ends.push(await answer(questionnaire, settings, person));
  }
  return ends;
};
