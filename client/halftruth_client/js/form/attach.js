/** An existing HTML form whose answers are perturbed before anything is sent. */

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
 * Answers by the values that a form has for them, by attribute or question; what is not listed is the
 * answer itself. The empty value is that of what is left empty or unchecked.
 *
 * @typedef {Readonly<Record<string, Readonly<Record<string, string>>>>} Values
 *
 * What is sent and how, as a session takes it, and the form's own values.
 *
 * @typedef {import("../session.js").Settings & {values?: Values}} Options
 */

/**
 * Send what people enter into a form as a report of a survey, and never as it is.
 *
 * The form has one control for each attribute, of the attribute's name, with the categories or a
 * number as values; options of a question with several answers may be boxes of the question's name,
 * with the options as values. Where a form has values of its own, `values` says which answers they
 * are. It must have `method="dialog"` and no `action`, so that a browser without this script sends
 * nothing.
 *
 * From the call on, whatever goes wrong, the browser sends nothing that is entered into the form, or
 * into any form of the page if this is none, and people read there what is wrong. Once a report is
 * drawn the answers are taken out of the form.
 *
 * @param {HTMLFormElement} form
 * @param {Options} options
 * @returns {Promise<Session>}
 *   Whose `client` and `survey` are those that `promiseOf` and `receiptOf` take; the form dispatches
 *   `submitted` and `refused` as `<halftruth-form>` does.
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

/** A form that no browser sends. What its controls are called hides methods of the same name. */
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
    // Whatever is sent of a form, by whatever button or script, is read out by this event before.
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
    // The page asks all that it has a control for.
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
      // What could not be fetched before is fetched now.
      if (session.state === "failed") opened = session.open();
      await opened;
      if (session.state === "failed") return;
      if (session.questionnaire) this.read(session.survey.schema, session.questionnaire);
      await session.submit();
    };
    if ((await opened) === "failed") {
      this.isAttached = false;
      throw session.error;
    }
    return session;
  }

  /** Take away what a browser would send the form by, and refuse a form that had any of it. */
  disarm() {
    const { form } = this;
    const { getAttribute, setAttribute, removeAttribute, hasAttribute } = Element.prototype;
    this.couldSend ||= getAttribute.call(form, "method")?.toLowerCase() !== "dialog";
    this.couldSend ||= hasAttribute.call(form, "action");
    setAttribute.call(form, "autocomplete", "off");
    setAttribute.call(form, "method", "dialog");
    removeAttribute.call(form, "action");
    // A button of pictures is none of the form's elements, and others may stand elsewhere in the page.
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

  /** Make sure that the form asks what the survey does, and that its values are answers.
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

  /** Take what the form holds for answers: what is empty is left out, and so is what is not asked of
   * such a person, whatever still stands in its controls.
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

  /** Take the answers out of the form and the session. */
  clear() {
    this.session?.questionnaire?.clear();
    HTMLFormElement.prototype.reset.call(this.form);
    // What scripts entered, or frameworks wrote into the markup, stays when a form is reset.
    for (const control of this.controls()) {
      if (control.matches("[type=radio i], [type=checkbox i]")) {
        Object.assign(control, { defaultChecked: false, checked: false });
      } else if (!control.matches("button, fieldset, [type=submit i], [type=button i], [type=reset i]")) {
        Object.assign(control, { defaultValue: "", value: "" });
      }
    }
  }

  /** @param {unknown} error */
  async show(error) {
    const wanted = wantedLanguages(this.notice.closest("[lang]") ?? this.notice);
    const words = await loadWording(chooseLanguage([], wanted)).catch(() => new Wording());
    const text = reasonOf(error, this.session?.mayHaveLeft ?? false, words);
    this.notice.replaceChildren(element("p", { lang: words.locale }, ...text));
  }
}

/** Values that people can choose from in a control.
 * @type {(control: Element) => string[]} */
function valuesOf(control) {
  if (control.matches("[type=radio i], [type=checkbox i]")) {
    return [/** @type {HTMLInputElement} */ (control).value];
  }
  const { options = [] } = /** @type {Partial<HTMLSelectElement>} */ (control);
  return [...options].filter(({ disabled }) => !disabled).map(({ value }) => value);
}

/** True if an answer is one to an attribute, or a question with several; undefined if the survey has
 * neither of that name. What is empty is left out.
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
