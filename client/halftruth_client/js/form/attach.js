/** Attach a survey to an existing HTML form: its answers are perturbed and sent as a report. */

import { ParameterError, RecordError } from "../errors.js";
import { Session } from "../session.js";
import { reasonOf } from "./closing.js";
import { chooseLanguage, loadWording, wantedLanguages } from "./languages.js";
import { element } from "./views.js";
import { Wording } from "./wording.js";

/**
 * @import { Questionnaire } from "../questionnaire.js"
 * @import { Schema } from "../schema.js"
 *
 * Answers by form value, for each attribute or question. Values that are not listed are the answers
 * themselves. The empty string is the value of an empty or unchecked control.
 *
 * @typedef {Readonly<Record<string, Readonly<Record<string, string>>>>} Values
 *
 * Settings of the session, and the map from form values to answers.
 *
 * @typedef {import("../session.js").Settings & {values?: Values}} Options
 */

/**
 * Perturb the answers entered into a form, and send them as a report of a survey. The browser never
 * sends the answers themselves.
 *
 * The form has one control for each attribute, named like the attribute, whose values are the
 * categories or a number. The options of a multiple-response question can also be checkboxes named
 * like the question, with the options as values. If the form uses other values, `values` maps them
 * to answers. The form must have `method="dialog"` and no `action`, so that a browser without this
 * script sends nothing.
 *
 * From this call on the browser does not submit the form, even after an error; if `form` is not a
 * form, this applies to all forms of the page. Error messages are shown in the form. The answers
 * are removed from the form once a report was drawn.
 *
 * @param {HTMLFormElement} form
 * @param {Options} options
 * @returns {Promise<Session>}
 *   The session, whose `client` and `survey` can be passed to `promiseOf` and `receiptOf`. The form
 *   dispatches the events `submitted` and `refused`, like `<halftruth-form>`.
 * @throws {import("../errors.js").HalftruthError}
 *   If the settings, the form or the survey are not accepted, or the collector is unavailable.
 */
export async function attach(form, options) {
  const isForm = Object.prototype.toString.call(form) === "[object HTMLFormElement]";
  const free = (isForm ? [form] : [...document.forms]).map(holdForm).filter(({ isAttached }) => !isAttached);
  try {
    if (!isForm) throw new ParameterError("form: expected an element <form>", "form");
    if (free.length === 0) throw new ParameterError("form: expected one to attach once", "form");
    return await free[0].open(options);
  } catch (error) {
    await Promise.all(free.map((form) => form.show(error)));
    throw error;
  }
}

/** @type {WeakMap<HTMLFormElement, Held>} */
const held = new WeakMap();

/** @param {HTMLFormElement} form */
function holdForm(form) {
  const holder = held.get(form) ?? new Held(form);
  held.set(form, holder);
  return holder;
}

/** A form that the browser cannot submit. Methods are called by their prototypes, since a control
 * of the same name hides a method of the form. */
class Held {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.isAttached = false;
    this.isReading = false;
    this.couldSend = false;
    /** @type {Values} */
    this.values = {};
    /** @type {Session | null} */
    this.session = null;
    /** @type {(() => Promise<unknown>) | null} */
    this.send = null;
    this.notice = element("div", { role: "alert" });
    const listen = EventTarget.prototype.addEventListener.bind(form);
    // Every submission, by any button or script, first raises this event: remove its data.
    listen("formdata", (event) => {
      const { formData } = /** @type {FormDataEvent} */ (event);
      if (!this.isReading) for (const name of [...formData.keys()]) formData.delete(name);
    });
    listen("submit", (event) => {
      event.preventDefault();
      void this.send?.();
    }, true);
    Element.prototype.append.call(form, this.notice);
  }

  /** @param {Options} options */
  async open({ values = {}, ...settings }) {
    this.disarm();
    this.isAttached = true;
    this.values = values;
    // The form shows all its controls, so all questions are asked, not only drawn ones.
    const prepare = (/** @type {Session} */ { survey }) => this.check(survey.schema);
    const session = new Session({ ...settings, ask: "all", prepare });
    this.session = session;
    session.addEventListener("submitted", ({ detail }) => {
      this.clear();
      this.notice.replaceChildren();
      emit(this.form, "submitted", detail);
    });
    session.addEventListener("refused", async ({ detail }) => {
      if (session.mayHaveLeft) this.clear();
      session.questionnaire?.clear();
      await this.show(session.error);
      emit(this.form, "refused", detail);
    });
    let opened = session.open();
    this.send = async () => {
      await opened;
      // Try again to fetch the survey if that failed before.
      if (session.state === "failed") opened = session.open();
      await opened;
      if (session.state === "failed") return;
      if (session.state === "counted") this.clear();
      // While a report is being sent, its answers do not change.
      else if (session.questionnaire && session.state !== "sending") {
        this.read(session.survey.schema, session.questionnaire);
      }
      await session.submit();
    };
    if ((await opened) === "failed") {
      this.isAttached = false;
      throw session.error;
    }
    return session;
  }

  /** Remove attributes that would let a browser send the form, and refuse a form that had any. */
  disarm() {
    const { form } = this;
    const { getAttribute, setAttribute, removeAttribute, hasAttribute } = Element.prototype;
    this.couldSend ||= getAttribute.call(form, "method")?.toLowerCase() !== "dialog";
    this.couldSend ||= hasAttribute.call(form, "action");
    setAttribute.call(form, "autocomplete", "off");
    setAttribute.call(form, "method", "dialog");
    removeAttribute.call(form, "action");
    // `form.elements` lacks image buttons, and buttons of the form can be anywhere in the page.
    const around = /** @type {ParentNode} */ (Node.prototype.getRootNode.call(form));
    for (const button of around.querySelectorAll("[formaction], [formmethod]")) {
      if (/** @type {HTMLButtonElement} */ (button).form !== form) continue;
      this.couldSend = true;
      button.removeAttribute("formaction");
      button.removeAttribute("formmethod");
    }
    if (this.couldSend) {
      throw new ParameterError(
        'form: expected method="dialog" and no action, so that nothing is sent as it is',
        "form",
      );
    }
  }

  /** Check that the form has a control for each question, and that its values are answers of the
   * survey.
   * @param {Schema} schema */
  check(schema) {
    const controls = [...this.controls()];
    const isThere = new Set(controls.map((control) => control.getAttribute("name")));
    for (const { name, attributes, optional } of schema.questions) {
      if (isThere.has(name) || attributes.every((attribute) => isThere.has(attribute.name))) continue;
      if (optional || attributes[0].askIf.size > 0) continue;
      throw new ParameterError(`form: expected a control of the name '${name}'`, "form");
    }
    for (const name of Object.keys(this.values)) {
      const answers = Object.values(this.values[name]);
      if (answers.some((answer) => !isAnswer(schema, name, answer))) {
        throw new ParameterError(`values: '${name}': expected answers of the survey`, "values");
      }
    }
    for (const control of controls) {
      const name = control.getAttribute("name") ?? "";
      const offered = valuesOf(control).map((value) => this.answerOf(name, value));
      if (offered.some((answer) => isAnswer(schema, name, answer) === false)) {
        throw new ParameterError(`form: '${name}': expected answers of the survey as values`, "form");
      }
    }
  }

  /** Read the answers from the form, without empty ones and those to questions that are not asked.
   * @type {(schema: Schema, questionnaire: Questionnaire) => void} */
  read({ questions }, questionnaire) {
    const data = this.entered();
    const controls = this.controls();
    const answersTo = (/** @type {string} */ name) =>
      data.getAll(name).map((value) => (typeof value === "string" ? this.answerOf(name, value) : ""));
    questionnaire.clear();
    for (const { name, attributes, optional } of questions) {
      const chosen = answersTo(name);
      for (const attribute of attributes) {
        const [value = this.answerOf(attribute.name, "")] = answersTo(attribute.name);
        if (value !== "") questionnaire.set([[attribute.name, value]]);
        else if (attribute.question && controls.namedItem(name) !== null) {
          const none = attribute.missing.find((category) => chosen.includes(category));
          const answer = chosen.includes(attribute.option) ? "yes" : "no";
          const left = optional && chosen.length === 0;
          questionnaire.set([[attribute.name, left ? null : (none ?? answer)]]);
        }
      }
    }
  }

  /** @type {(name: string, value: string) => string} */
  answerOf(name, value) {
    const answers = Object.hasOwn(this.values, name) ? this.values[name] : {};
    return Object.hasOwn(answers, value) ? answers[value] : value;
  }

  entered() {
    this.isReading = true;
    try {
      return new FormData(this.form);
    } finally {
      this.isReading = false;
    }
  }

  /** @returns {HTMLFormControlsCollection} */
  controls() {
    return Reflect.get(HTMLFormElement.prototype, "elements", this.form);
  }

  /** Remove the answers from the form and the session. */
  clear() {
    this.session?.questionnaire?.clear();
    HTMLFormElement.prototype.reset.call(this.form);
    // A reset keeps values that scripts or frameworks set as defaults, so delete these, too.
    for (const control of this.controls()) {
      if (control.matches("[type=radio i], [type=checkbox i]")) {
        Object.assign(control, { defaultChecked: false, checked: false });
      } else if (!control.matches("button, fieldset, [type=submit i], [type=button i], [type=reset i]")) {
        Object.assign(control, { defaultValue: "", value: "" });
      }
    }
  }

  /** Show an error message in the form.
   * @param {unknown} error */
  async show(error) {
    const wanted = wantedLanguages(this.notice.closest("[lang]") ?? this.notice);
    const words = await loadWording(chooseLanguage([], wanted)).catch(() => new Wording());
    const text = reasonOf(error, this.session?.mayHaveLeft ?? false, words);
    this.notice.replaceChildren(element("p", { lang: words.locale }, ...text));
  }
}

/** Values that can be selected in a control.
 * @type {(control: Element) => string[]} */
function valuesOf(control) {
  if (control.matches("[type=radio i], [type=checkbox i]")) {
    return [/** @type {HTMLInputElement} */ (control).value];
  }
  const { options = [] } = /** @type {Partial<HTMLSelectElement>} */ (control);
  return [...options].filter(({ disabled }) => !disabled).map(({ value }) => value);
}

/** True if an answer to an attribute or a multiple-response question is valid or empty; undefined
 * if the survey has neither of that name.
 * @type {(schema: Schema, name: string, answer: string) => boolean | undefined} */
function isAnswer({ attributes, questions }, name, answer) {
  const attribute = attributes.find((each) => each.name === name);
  const question = questions.find((each) => each.kind === "several" && each.name === name);
  if (question) {
    const [{ missing }] = question.attributes;
    const options = question.attributes.map(({ option }) => option);
    return answer === "" || [...missing, ...options].includes(answer);
  }
  try {
    return attribute && (answer === "" || attribute.code(answer) >= 0);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return false;
  }
}

/** @type {(form: HTMLFormElement, name: string, detail: unknown) => void} */
function emit(form, name, detail) {
  EventTarget.prototype.dispatchEvent.call(form, new CustomEvent(name, { detail, bubbles: true }));
}
