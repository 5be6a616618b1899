/** The element `<halftruth-form survey="…" collector="…" max-gamma="…">`. */

import { Client } from "../client.js";
import {
  AnsweredBefore,
  CollectorUnavailable,
  HalftruthError,
  ParameterError,
  SurveyRefused,
} from "../errors.js";
import { asTheyAre, protection } from "../protection.js";
import { checkInvitation } from "../terms.js";
import { inLanguage } from "../texts.js";
import { styleSheet } from "./style.js";
import { loading, outcome, problem, questions, review } from "./views.js";
import { drawn, INVITATIONS } from "./words.js";

/** Milliseconds between tries while a report waits. */
const RETRY = 5_000;

/** Milliseconds that a person may wait for a busy collector before they are told. */
const PATIENCE = 2_000;

const sheet = styleSheet();

/**
 * Asks the questions of a survey, perturbs the answers here, sends the report, and shows it.
 *
 * The one draw of the answers is made on sending and remembered before anything is sent. What people
 * see before does not depend on it, so that nobody can choose a draw that suits them. Where a survey
 * draws what it asks about, that is drawn and remembered before anything is answered.
 *
 * Attributes: `survey`, its id; `collector`, its address, by default that of the page; `max-gamma`,
 * the largest amplification to accept; `unprotected`, names of attributes that may be sent as they
 * are, and `operator-keys`, public keys of which one must have signed the survey, both with blanks
 * between them; `invitation`, what lets the report in where the survey asks for one; `ask`, whether
 * only what is `drawn` for this browser is asked, by default, or `all`. Events:
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
    /** @type {import("../attribute.js").Attribute[]} What this person is asked. */
    this.asked = [];
    /** @type {string[] | null} What is promised, once it was worked out. */
    this.promises = null;
    /** Whether the report is that of whoever is in front of this page. */
    this.ofThisPerson = false;
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
      const before = this.client.before(id, await this.survey.digest());
      if (before === null) {
        await this.begin(this.client, this.survey);
      } else if (before.refused !== undefined) {
        this.refused(before.refused, this.invitedAgain(this.survey));
      } else {
        this.done(before.sent ? "duplicate" : "waiting");
      }
    } catch (error) {
      this.fail(error, () => void this.start());
    }
  }

  /**
   * Ask the first questions, if a report would be taken.
   *
   * @param {Client} client
   * @param {import("../survey.js").Survey} survey
   */
  async begin(client, survey) {
    if (survey.isClosed) throw new SurveyRefused(`survey '${survey.id}' is closed`, "status");
    checkInvitation(survey, this.invitation);
    const { attributes, names } = survey.schema;
    const asked = this.asksAll() ? names : await client.asked(survey);
    this.asked = attributes.filter(({ name }) => asked.includes(name));
    this.promises = null;
    this.ask(0);
  }

  /**
   * Sends a report that was refused once more, where the page has an invitation for it.
   *
   * @param {import("../survey.js").Survey} survey
   */
  invitedAgain({ terms, isClosed }) {
    if (isClosed || !terms.invitations || this.invitation === undefined) return null;
    return () => void this.resend();
  }

  /** Whether everything is asked, whatever a report is about. */
  asksAll() {
    const ask = this.getAttribute("ask") ?? "drawn";
    if (ask !== "all" && ask !== "drawn") {
      throw new ParameterError("ask: expected drawn or all", "ask");
    }
    return ask === "all";
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

  /** What is asked, in the groups that are asked together. */
  pages() {
    /** @type {import("../attribute.js").Attribute[][]} */
    const pages = [];
    let before;
    for (const attribute of this.survey?.schema.attributes ?? []) {
      const page = inLanguage(attribute.page);
      if (pages.length === 0 || page !== before) pages.push([]);
      before = page;
      pages[pages.length - 1].push(attribute);
    }
    return pages
      .map((page) => page.filter((attribute) => this.asked.includes(attribute)))
      .filter((page) => page.length > 0);
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
    const title = inLanguage(asked[0].page) || "Your answers";
    const place = pages.length > 1 ? ` (${number + 1} of ${pages.length})` : "";
    const view = questions({
      heading: title + place,
      note: number === 0 ? drawn(this.asked.length, this.survey?.schema.names.length ?? 0) : null,
      questions: asked,
      answers: this.answers,
      missing,
      back: number > 0 ? () => this.ask(number - 1) : null,
      next: () => {
        const open = asked.filter(({ name }) => !this.answers.has(name)).map(({ name }) => name);
        if (open.length > 0) this.ask(number, new Set(open));
        else if (number + 1 < pages.length) this.ask(number + 1);
        else this.review();
      },
    });
    this.show(view);
    if (missing.size > 0) {
      const [first] = missing;
      const control = view.querySelector(`[name="${CSS.escape(first)}"]`);
      if (control instanceof HTMLElement) control.focus();
    }
  }

  /** Show the answers before they are sent, and what is promised. */
  review() {
    const { survey, client } = this;
    if (!survey || !client) return;
    this.promises ??= protection(survey, client.unprotected);
    this.show(
      review({
        attributes: this.asked,
        answers: this.answers,
        promises: this.promises,
        ofAll: this.protectsAll(),
        proves: (survey.mechanism.provable?.().size ?? 0) > 0,
        lasts: client.memory.lasts,
        back: () => this.ask(this.pages().length - 1),
        send: () => void this.submit(),
      }),
    );
  }

  /** Draw the one report of the answers and send it. */
  async submit() {
    const { invitation } = this;
    const record = Object.fromEntries(this.answers);
    this.ofThisPerson = true;
    await this.sent((client, survey) => client.submit(survey, record, { invitation }));
  }

  /** Send the report that was drawn before. */
  async resend() {
    const { invitation } = this;
    await this.sent((client, survey) => client.resend(survey, { invitation }));
  }

  /**
   * @param {(client: Client, survey: import("../survey.js").Survey) =>
   *   Promise<import("../client.js").Submission>} send
   */
  async sent(send) {
    const { survey, client } = this;
    if (!survey || !client) return;
    for (const button of this.root.querySelectorAll("button")) button.disabled = true;
    try {
      const submission = await send(client, survey);
      // The report is drawn and remembered for good.
      this.answers.clear();
      this.done(submission.status);
      this.tell("submitted", submission);
    } catch (error) {
      const refusal = client.refusal(survey.id);
      if (refusal === null) {
        this.fail(error, null);
      } else {
        this.answers.clear();
        this.refused(refusal);
      }
    }
  }

  /** @param {import("../client.js").Submission["status"]} status */
  done(status) {
    const { survey, client } = this;
    if (!survey || !client) return;
    this.show(
      outcome({
        status,
        // Whoever opens the page later may be somebody else.
        report: this.ofThisPerson ? client.receipt(survey) : null,
        ofAll: this.protectsAll(),
        proves: (survey.mechanism.provable?.().size ?? 0) > 0,
        lasts: client.memory.lasts,
        again: status === "accepted" ? null : () => void this.resend(),
      }),
    );
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

  /** Whether no answer is sent as it is. */
  protectsAll() {
    const { survey, client } = this;
    return !survey || !client || asTheyAre(survey, client.unprotected).length === 0;
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
