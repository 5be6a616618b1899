/** The element `<halftruth-form survey="…" collector="…" max-gamma="…">`. */

import { Client } from "../client.js";
import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
  SurveyRefused,
} from "../errors.js";
import { checkInvitation } from "../terms.js";
import { styleSheet } from "./style.js";
import { labelOf, loading, outcome, problem, questions, review } from "./views.js";
import { INVITATIONS } from "./words.js";

/** Milliseconds between tries while a report waits. */
const RETRY = 5_000;

/** Milliseconds that a person may wait for a busy collector before they are told. */
const PATIENCE = 2_000;

const sheet = styleSheet();

/**
 * Asks the questions of a survey, perturbs the answers here, shows what will be sent, and sends it.
 *
 * Attributes: `survey`, its id; `collector`, its address, by default that of the page; `max-gamma`,
 * the largest amplification to accept; `unprotected`, names of attributes that may be sent as they
 * are, and `operator-keys`, public keys of which one must have signed the survey, both with blanks
 * between them; `invitation`, what lets the report in where the survey asks for one. Events:
 * `submitted` with `{id, status}` and `refused` with `{message}` as detail; neither ever holds an
 * answer.
 */
export class HalftruthForm extends HTMLElement {
  constructor() {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.root.adoptedStyleSheets = [sheet];
    /** @type {import("./views.js").Answers} */
    this.answers = new Map();
    /** @type {Map<string, number[]>} Reports by what was answered: going back draws no new one. */
    this.drawn = new Map();
    this.timer = 0;
  }

  connectedCallback() {
    void this.start();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  /** Fetch the survey, and show its first questions or what became of an earlier report. */
  async start() {
    this.show(loading());
    const id = this.getAttribute("survey") ?? "";
    try {
      this.client = this.makeClient();
      await this.client.flush();
      this.survey = await this.client.survey(id);
      const refusal = this.client.refusal(id);
      if (!this.client.answered(id)) this.begin(this.survey);
      else if (refusal !== null) this.refused(refusal, this.invitedAgain(this.survey));
      else this.done(this.client.isWaiting(id) ? "waiting" : "duplicate");
    } catch (error) {
      this.fail(error, () => void this.start());
    }
  }

  /**
   * Ask the first questions, if a report would be taken.
   *
   * @param {import("../survey.js").Survey} survey
   */
  begin(survey) {
    if (survey.isClosed) throw new SurveyRefused(`survey '${survey.id}' is closed`, "status");
    checkInvitation(survey, this.invitation);
    this.ask(0);
  }

  /**
   * Sends a report that was refused once more, where the page has an invitation for it.
   *
   * @param {import("../survey.js").Survey} survey
   */
  invitedAgain({ id, terms, isClosed }) {
    if (isClosed || !terms.invitations || this.invitation === undefined) return null;
    return () => void this.send(this.client?.memory.get(id)?.values ?? []);
  }

  /** What lets the report in, if the page has it. */
  get invitation() {
    return this.getAttribute("invitation") || undefined;
  }

  makeClient() {
    const maxGamma = this.getAttribute("max-gamma");
    if (maxGamma === null) {
      throw new ParameterError(
        "max-gamma: expected the largest amplification to accept",
        "max-gamma",
      );
    }
    return new Client(this.getAttribute("collector") || location.origin, {
      maxGamma,
      unprotected: this.list("unprotected") ?? [],
      operatorKeys: this.list("operator-keys"),
      retries: 2,
      patience: PATIENCE,
    });
  }

  /**
   * What an attribute lists with blanks between, if the element has it.
   *
   * @param {string} name
   */
  list(name) {
    return this.getAttribute(name)?.split(/\s+/).filter(Boolean);
  }

  /** Attributes in the groups that are asked together. */
  pages() {
    /** @type {import("../schema.js").Attribute[][]} */
    const pages = [];
    let before;
    for (const attribute of this.survey?.schema.attributes ?? []) {
      if (pages.length === 0 || (attribute.page ?? "") !== before) pages.push([]);
      before = attribute.page ?? "";
      pages[pages.length - 1].push(attribute);
    }
    return pages;
  }

  /**
   * Ask the questions of a page.
   *
   * @param {number} number
   * @param {ReadonlySet<string>} [missing] Those that were passed over.
   */
  ask(number, missing = new Set()) {
    const pages = this.pages();
    const asked = pages[number];
    const title = asked[0].page || "Your answers";
    const place = pages.length > 1 ? ` (${number + 1} of ${pages.length})` : "";
    const view = questions({
      heading: title + place,
      questions: asked,
      answers: this.answers,
      missing,
      back: number > 0 ? () => this.ask(number - 1) : null,
      next: () => {
        const open = asked.filter(({ name }) => !this.answers.has(name)).map(({ name }) => name);
        if (open.length > 0) this.ask(number, new Set(open));
        else if (number + 1 < pages.length) this.ask(number + 1);
        else void this.review();
      },
    });
    this.show(view);
    if (missing.size > 0) {
      const [first] = missing;
      const control = view.querySelector(`[name="${CSS.escape(first)}"]`);
      if (control instanceof HTMLElement) control.focus();
    }
  }

  /** Show the answers beside the report that was drawn for them. */
  async review() {
    const { survey, client } = this;
    if (!survey || !client) return;
    const { attributes } = survey.schema;
    const record = Object.fromEntries(this.answers);
    const key = JSON.stringify(attributes.map(({ name }) => record[name]));
    let values;
    try {
      values = this.drawn.get(key) ?? (await client.draw(survey, record));
    } catch (error) {
      this.fail(error, null);
      return;
    }
    this.drawn.set(key, values);
    this.show(
      review({
        attributes,
        answers: this.answers,
        report: survey.schema.decode(values),
        // Where every answer is protected, the promise is about all of them.
        gamma:
          survey.mechanism.amplification(new Set()) ??
          survey.mechanism.amplification(client.unprotected),
        asTheyAre: this.asTheyAre(),
        back: () => this.ask(this.pages().length - 1),
        send: () => void this.send(values),
      }),
    );
  }

  /** @param {readonly number[]} values */
  async send(values) {
    const { survey, client } = this;
    if (!survey || !client) return;
    for (const button of this.root.querySelectorAll("button")) button.disabled = true;
    try {
      const { invitation } = this;
      const submission = await client.deliver(survey, values, { invitation });
      this.forget();
      this.done(submission.status);
      this.tell("submitted", submission);
    } catch (error) {
      const refusal = client.refusal(survey.id);
      if (refusal === null) {
        this.fail(error, null);
      } else {
        this.forget();
        this.refused(refusal);
      }
    }
  }

  /** Let go of the answers, once the report was drawn and remembered for good. */
  forget() {
    this.answers.clear();
    this.drawn.clear();
  }

  /** @param {import("../client.js").Submission["status"]} status */
  done(status) {
    const { survey, client } = this;
    if (!survey || !client) return;
    const again = () => void this.send(client.memory.get(survey.id)?.values ?? []);
    const ofAll = this.asTheyAre().length === 0;
    this.show(outcome(status, ofAll, status === "accepted" ? null : again));
    clearInterval(this.timer);
    if (status !== "waiting") return;
    this.timer = setInterval(async () => {
      await client.flush();
      if (client.isWaiting(survey.id)) return;
      clearInterval(this.timer);
      if (client.refusal(survey.id) !== null) this.refused(client.refusal(survey.id));
      else {
        this.done("accepted");
        this.tell("submitted", { id: client.memory.get(survey.id)?.id, status: "accepted" });
      }
    }, RETRY);
  }

  /**
   * @param {string | null} message What the collector said.
   * @param {(() => void) | null} [retry]
   */
  refused(message, retry = null) {
    clearInterval(this.timer);
    const text = `The collector refused it: ${message}.`;
    this.show(problem("Your report does not count", text, retry));
    this.tell("refused", { message });
  }

  /** Labels of the attributes that are sent as they are. */
  asTheyAre() {
    const known = this.client?.unprotected ?? new Set();
    const { schema, mechanism } = this.survey ?? {};
    if (!schema || !mechanism) return [];
    const others = (/** @type {string} */ name) => schema.names.filter((other) => other !== name);
    return schema.attributes
      .filter(({ name }) => known.has(name) && !mechanism.amplification(new Set(others(name))))
      .map(labelOf);
  }

  /**
   * @param {unknown} error
   * @param {(() => void) | null} retry
   */
  fail(error, retry) {
    if (error instanceof CollectorUnavailable) {
      this.show(problem("The survey cannot be reached", "Please try again in a while.", retry));
      return;
    }
    const message =
      error instanceof HalftruthError ? error.message : "something unforeseen went wrong";
    this.show(this.explain(error, message));
    this.tell("refused", { message });
  }

  /**
   * What is told of an error after which nothing was sent.
   *
   * @param {unknown} error
   * @param {string} message
   */
  explain(error, message) {
    if (error instanceof ParameterError && error.field === "invitation") {
      const { heading, text } = INVITATIONS[this.invitation ? "unreadable" : "missing"];
      return problem(heading, text, null);
    }
    const heading =
      error instanceof AnsweredBefore ? "Answered before" : "This survey is not asked";
    return problem(heading, `Nothing was sent: ${message}.`, null);
  }

  /**
   * @param {string} name
   * @param {unknown} detail
   */
  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** @param {HTMLElement} view */
  show(view) {
    const first =
      this.root.childElementCount === 0 || this.root.querySelector("[role=status]") !== null;
    this.root.replaceChildren(view);
    // A first view leaves the reader where they are; each further one is announced by its heading.
    if (!first) /** @type {HTMLElement | null} */ (view.querySelector("h2"))?.focus();
  }
}
