/** Survey documents, identified by their digest. */

import { toHex, utf8 } from "./bytes.js";
import { isLanguage, membersOf, readText } from "./documents.js";
import { ParameterError, SurveyError, SurveyRefused } from "./errors.js";
import { Columns } from "./mechanisms/columns.js";
import { readMechanism } from "./mechanisms/index.js";
import { isWithin } from "./mechanisms/views.js";
import { checkConditions, checkHidden, spentAmplification } from "./protection.js";
import { Rational } from "./rational.js";
import { randomBelow } from "./sampling.js";
import { Schema } from "./schema.js";
import { isHex, readTerms } from "./terms.js";

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const MEMBERS = ["id", "title", "description", "languages", "attributes", "mechanism", "form", "series", "relay", "promise", "test_of", "reports"];

const FRAMING_MEMBERS = [
  "asked_by", "purpose", "contact", "privacy_notice", "consent", "thanks", "redirect", "redirect_after",
];

/** Mail address, without parameters such as a subject or another recipient. */
const MAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/;
const MOST_CHARACTERS = 2_000;
const MOST_WAVES = 1_000;
const SERIES_MEMBERS = ["id", "wave", "total_gamma", "origin"];

const RELAY_MEMBERS = ["url", "key", "sealing_key", "batch", "release", "tickets_key"];
const LEAST_BATCH = 2;
const MOST_BATCH = 10 ** 9;

/** Addresses of servers in normalized form; `addresses.py` in Python has the same pattern. */
const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const ADDRESS = new RegExp(
  `^(?:https://(?:(?:${LABEL}\\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?|${OCTET}(?:\\.${OCTET}){3})` +
    `|http://(?:localhost|127(?:\\.${OCTET}){3}|\\[::1\\]))` +
    "(?<port>:[1-9][0-9]{0,4})?(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$",
);
const LAST_PORT = 65_535;

/**
 * @import { RandomBelow } from "./sampling.js"
 * @import { Text } from "./documents.js"
 *
 * Introduction and ending of a form.
 *
 * @typedef {object} Framing
 * @property {Text} askedBy Who asks.
 * @property {Text} purpose Purpose of the survey.
 * @property {string | null} contact Contact: a mail address or an https URL.
 * @property {string | null} privacyNotice Privacy notice: an https URL or a path.
 * @property {Text} consent Consent that is required before the first question; empty if none is.
 * @property {Text} thanks Text that is shown after a report was counted.
 * @property {string | null} redirect Link that is offered then: an https URL or a path.
 * @property {number | null} redirectAfter Seconds until an automatic redirect to this link.
 *
 * Membership in a series of surveys of the same people, with a limit of the total amplification.
 *
 * @typedef {object} Series
 * @property {string} id
 * @property {number} wave Number of this survey in the series, from 1.
 * @property {Rational} totalGamma Largest total amplification of all reports of one person.
 * @property {string} origin Page address of the forms of all waves: scheme, host and port.
 *
 * Relay that passes reports on in shuffled batches, so that the collector does not learn who sent
 * which.
 *
 * @typedef {object} Relay
 * @property {string} url Address of the relay: https, or http on this machine.
 * @property {string} key Public key of the relay, in hexadecimal.
 * @property {string} sealingKey Public key of the collector, to which reports are sealed.
 * @property {string | null} ticketsKey Public key by which the relay signs tickets; null without any.
 * @property {number} batch Smallest number of reports that the relay passes on.
 * @property {"closing" | "batches"} release
 *   Whether the relay passes all reports on at closing, or also batches before.
 */

/** A questionnaire with its mechanism. */
export class Survey {
  /** @param {unknown} document Parsed JSON document. */
  constructor(document) {
    const members = membersOf(document, MEMBERS, "survey");
    const { id, languages = [], promise = "record", test_of: testOf = null } = members;
    if (typeof id !== "string" || !ID.test(id)) {
      throw new SurveyError("id: expected lower-case letters, digits and hyphens", "id");
    }
    this.id = id;
    if (!Array.isArray(languages) || !languages.every(isLanguage)) {
      throw new SurveyError("languages: expected tags of languages", "languages");
    }
    /** Languages of the texts. The first is the language of texts without translations, and the
     * fallback.
     * @type {readonly string[]} */
    this.languages = languages;
    this.title = readText(members.title, this.languages, "title");
    this.description = readText(members.description, this.languages, "description");
    this.framing = readFraming(members.form, this.languages);
    try {
      this.series = readSeries(members.series);
      this.relay = readRelay(members.relay);
      this.schema = new Schema(members.attributes, this.languages);
      this.mechanism = readMechanism(members.mechanism, this.schema);
    } catch (error) {
      // An invalid number is an error of the document here, not of a parameter.
      if (!(error instanceof ParameterError)) throw error;
      throw new SurveyError(error.message, error.field);
    }
    /** What is promised: an amplification of the record, or of each answer to someone who knows all others. */
    this.promise = /** @type {"record" | "answer"} */ (promise);
    if (promise !== "record") {
      // Other responses perturb answers together.
      const isByAttribute = promise === "answer" && this.mechanism.views[0].response instanceof Columns;
      const gamma = isByAttribute && spentAmplification(this);
      if (!gamma || gamma.numerator === gamma.denominator) {
        throw new SurveyError('promise: expected "record", or "answer" of independent answers', "promise");
      }
    }
    /** Id of the survey that this one is a test of; null if it is none.
     * @type {string | null} */
    this.testOf = /** @type {string | null} */ (testOf);
    if (testOf !== null && (id !== `${testOf}-test` || this.series !== null || this.relay !== null)) {
      throw new SurveyError("test_of: expected the id without '-test', and neither series nor relay", "test_of");
    }
    checkConditions(this.schema, this.mechanism);
    if (this.relay !== null) checkHidden(this.schema, this.mechanism);
    /** Whether each report needs a ticket, from which its view follows. */
    this.hasTickets = readTickets(members.reports, members.mechanism, this);
    this.canonical = canonicalJson(document);
    /** True if the collector accepts reports later. */
    this.isPlanned = false;
    /** True if the collector accepts no more reports. */
    this.isClosed = false;
    /** Why a closed survey is closed.
     * @type {"operator" | "deadline" | "quota" | "relay"} */
    this.closedBecause = "operator";
    /** Terms of the collector, if `isPublished`; nothing is sent before. */
    this.terms = readTerms();
    this.isPublished = false;
  }

  /** Error for a survey that opens later. */
  opensLater() {
    return new SurveyRefused(`survey '${this.id}' opens at ${this.terms.opensAt}; nothing was asked or sent`, "opens_at");
  }

  /** SHA-256 of the canonical JSON, in hexadecimal.
   * @type {() => Promise<string>} */
  async digest() {
    return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(this.canonical))));
  }

  /** Draw the view, which determines the questions to ask, before anything is answered.
   * @param {RandomBelow} [below]
   * @returns {number | null} Number of the view; null if the mechanism has no views. */
  drawView(below = randomBelow()) {
    return this.mechanism.drawView(below);
  }

  /** Names of the attributes to ask: those that the report is about, and those in their conditions,
   * whose answers are not part of the report.
   * @type {(view: number | null) => readonly string[]} */
  asked(view) {
    const { mechanism, schema } = this;
    return view === null ? schema.names : schema.withConditions(mechanism.asked(view));
  }

  /** Perturb one record with exact sampling.
   * @type {(record: import("./schema.js").PersonRecord, below?: RandomBelow, view?: number | null) => number[]} */
  perturb(record, below = randomBelow(), view = null) {
    const codes = this.schema.encode(record, this.asked(view));
    return this.mechanism.perturb(codes, below, view ?? undefined);
  }
}

/** Canonical JSON: without blanks, and with keys sorted by code point. JavaScript compares strings
 * by UTF-16 code units, in which an emoji precedes “！”.
 * @type {(value: unknown) => string} */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
    throw new SurveyError("survey: expected text without half of a surrogate pair", "survey");
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => (inOrder(a) < inOrder(b) ? -1 : 1))
    .map(([key, member]) => `${canonicalJson(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** Map a text to one whose order by code units is the order of the text by code points: surrogates
 * are moved behind all other code units.
 * @param {string} text */
function inOrder(text) {
  return text.replace(/[\ud800-\uffff]/g, (unit) =>
    String.fromCharCode(unit.charCodeAt(0) + (unit < "\ue000" ? 0x2000 : -0x800)),
  );
}

/** @type {(written: unknown, languages: readonly string[]) => Framing} */
function readFraming(written = {}, languages = []) {
  const members = membersOf(written, FRAMING_MEMBERS, "form");
  const address = (/** @type {string} */ member, fits = isAddress, or = "a path of the site") => {
    const written = members[member] ?? null;
    if (written === null || fits(written)) return written;
    const field = `form.${member}`;
    throw new SurveyError(`${field}: expected an address with https://, or ${or}`, field);
  };
  const text = (/** @type {string} */ member) =>
    readText(members[member], languages, `form.${member}`);
  return Object.freeze({
    askedBy: text("asked_by"),
    purpose: text("purpose"),
    contact: address("contact", isContact, "a mail address"),
    privacyNotice: address("privacy_notice"),
    consent: text("consent"),
    thanks: text("thanks"),
    redirect: address("redirect"),
    redirectAfter: Number(members.redirect_after) || null,
  });
}

/** True for an https URL, or a path of the site of the form.
 * @type {(written: unknown) => written is string} */
function isAddress(written) {
  if (typeof written !== "string" || !/^(https:\/\/[^/]|\/(?![/\\]))[!-[\]-~]*$/.test(written)) {
    return false;
  }
  if (!URL.canParse(written, "https://site.invalid")) return false;
  const { protocol, username, password } = new URL(written, "https://site.invalid");
  return protocol === "https:" && username === "" && password === "";
}

/** True for an https URL or a mail address.
 * @type {(written: unknown) => written is string} */
function isContact(written) {
  if (typeof written !== "string" || written.length > MOST_CHARACTERS) return false;
  return MAIL.test(written) || (written.startsWith("https://") && isAddress(written));
}

/** @type {(written?: unknown) => Readonly<Series> | null} */
function readSeries(written) {
  if (written === undefined) return null;
  const { id, wave, total_gamma, origin } = membersOf(written, SERIES_MEMBERS, "series");
  if (typeof id !== "string" || !ID.test(id)) {
    throw fault("id", "lower-case letters, digits and hyphens, at most 64");
  }
  if (!isWithin(wave, 1, MOST_WAVES)) {
    throw fault("wave", `a whole number from 1 to ${MOST_WAVES}`);
  }
  const totalGamma = Rational.parse(total_gamma, "series.total_gamma");
  if (totalGamma.numerator <= totalGamma.denominator) {
    throw fault("total_gamma", "an amplification above 1");
  }
  // Without a path and a default port, as browsers write the origin of a page.
  if (!isServerAddress(origin) || new URL(origin).origin !== origin) {
    throw fault("origin", "the web address of its forms, such as https://survey.example.org");
  }
  return Object.freeze({ id, wave, totalGamma, origin });
}

/** True for an origin, perhaps with a path without a final slash.
 * @type {(written: unknown) => written is string} */
function isServerAddress(written) {
  const match = typeof written === "string" && written.length <= MOST_CHARACTERS ? ADDRESS.exec(written) : null;
  return match !== null && Number(match.groups?.port?.slice(1) ?? 0) <= LAST_PORT;
}

/** @type {(written: unknown, mechanism: any, survey: {relay: Readonly<Relay> | null, schema: Schema}) => boolean} */
function readTickets(written, mechanism, { relay, schema }) {
  const isSigned = relay !== null && relay.ticketsKey !== null;
  if (written === undefined) {
    if (isSigned) throw fault("tickets_key", "none without tickets", "relay");
    return false;
  }
  const { tickets } = membersOf(written, ["tickets"], "reports");
  const isSplit = tickets === "required" && mechanism?.kind === "split-questionnaire";
  // From ticket to report, a relay sees the time that the questions took.
  const isTimed = relay !== null && schema.conditional.size > 0;
  if (!isSplit || isTimed) {
    throw fault("tickets", '"required", for a split questionnaire, or no such member', "reports");
  }
  if (relay !== null && !isSigned) throw fault("tickets_key", "that of the relay's tickets", "relay");
  return true;
}

/** @type {(written?: unknown) => Readonly<Relay> | null} */
function readRelay(written) {
  if (written === undefined) return null;
  const members = membersOf(written, RELAY_MEMBERS, "relay");
  const { url, key, sealing_key: sealingKey, batch, release = "closing" } = members;
  const ticketsKey = members.tickets_key ?? null;
  if (!isServerAddress(url)) {
    throw fault("url", "an address with https:// and no slash at its end", "relay");
  }
  const digits = "64 lower-case hexadecimal digits";
  if (!isHex(key)) throw fault("key", digits, "relay");
  if (!isHex(sealingKey)) throw fault("sealing_key", digits, "relay");
  if (key === sealingKey) throw fault("key", "another key than sealing_key", "relay");
  if (ticketsKey !== null && (!isHex(ticketsKey) || [key, sealingKey].includes(ticketsKey))) {
    throw fault("tickets_key", `${digits}, and another key`, "relay");
  }
  if (!isWithin(batch, LEAST_BATCH, MOST_BATCH)) {
    throw fault("batch", `a whole number from ${LEAST_BATCH} to ${MOST_BATCH}`, "relay");
  }
  if (release !== "closing" && release !== "batches") {
    throw fault("release", '"closing" or "batches"', "relay");
  }
  return Object.freeze({ url, key, sealingKey, ticketsKey, batch, release });
}

/** @param {string} member
 * @param {string} expected */
function fault(member, expected, table = "series") {
  const field = `${table}.${member}`;
  return new SurveyError(`${field}: expected ${expected}`, field);
}
