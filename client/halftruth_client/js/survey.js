/** Surveys as collectors publish them, named by their digest. */

import { toHex, utf8 } from "./bytes.js";
import { isLanguage, membersOf, readText } from "./documents.js";
import { ParameterError, SurveyError } from "./errors.js";
import { readMechanism } from "./mechanisms/index.js";
import { checkConditions, checkHidden } from "./protection.js";
import { Rational } from "./rational.js";
import { randomBelow } from "./sampling.js";
import { Schema } from "./schema.js";
import { isKey, readTerms } from "./terms.js";

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const MEMBERS = ["id", "title", "description", "languages", "attributes", "mechanism", "form", "series", "relay"];

const FRAMING_MEMBERS = [
  "asked_by", "purpose", "contact", "privacy_notice", "consent", "thanks", "redirect", "redirect_after",
];

/** Nothing that would add a subject or another recipient to a message. */
const MAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/;
const MOST_CHARACTERS = 2_000;
const MOST_WAVES = 1_000;

const RELAY_MEMBERS = ["url", "key", "sealing_key", "batch", "release"];
const LEAST_BATCH = 2;
const MOST_BATCH = 10 ** 9;

/** An address without what programs normalize; `Relay` of Python has the same pattern. */
const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const RELAY_URL = new RegExp(
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
 * @property {Text} purpose What for.
 * @property {string | null} contact Whom to ask: a mail address, or an address with https.
 * @property {string | null} privacyNotice Where the privacy notice is: an address with https, or a path.
 * @property {Text} consent What has to be agreed to before the first question, if anything has.
 * @property {Text} thanks Said once a report was counted.
 * @property {string | null} redirect Where to go on to then: an address with https, or a path.
 * @property {number | null} redirectAfter Seconds after which that happens by itself.
 *
 * Surveys that ask the same people again, with one total amplification for all of them.
 *
 * @typedef {object} Series
 * @property {string} id
 * @property {number} wave Number of this survey in the series, from 1.
 * @property {Rational} totalGamma Largest amplification of all reports of one person together.
 *
 * Who passes reports on in a shuffled batch, so that the collector cannot know who sent which.
 *
 * @typedef {object} Relay
 * @property {string} url Its address: https, or http on this machine.
 * @property {string} key Public key of the relay, in hexadecimal.
 * @property {string} sealingKey Public key of the collector, which the reports inside are sealed to.
 * @property {number} batch Least number of reports that it passes on.
 * @property {"closing" | "batches"} release Whether all at the end, or batches in the meantime too.
 */

/** A questionnaire with its mechanism. */
export class Survey {
  /** @param {unknown} document As JSON has it. */
  constructor(document) {
    const members = membersOf(document, MEMBERS, "survey");
    const { id, languages = [] } = members;
    if (typeof id !== "string" || !ID.test(id)) {
      throw new SurveyError("id: expected lower-case letters, digits and hyphens", "id");
    }
    this.id = id;
    if (!Array.isArray(languages) || !languages.every(isLanguage)) {
      throw new SurveyError("languages: expected tags of languages", "languages");
    }
    /** The first is the one of plain texts, and is fallen back to.
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
      // A number that cannot be read is no setting of the caller here.
      if (!(error instanceof ParameterError)) throw error;
      throw new SurveyError(error.message, error.field);
    }
    checkConditions(this.schema, this.mechanism);
    if (this.relay !== null) checkHidden(this.schema, this.mechanism);
    this.canonical = canonicalJson(document);
    /** True if the collector accepts no more reports. */
    this.isClosed = false;
    /** Why, if so.
     * @type {"operator" | "deadline" | "quota"} */
    this.closedBecause = "operator";
    /** Terms of the collector, once fetched: until then nothing is sent. */
    this.terms = readTerms();
    this.isPublished = false;
    /** The pinned key that signed them; empty where none is pinned. */
    this.operator = "";
  }

  /** SHA-256 of the canonical JSON, in hexadecimal.
   * @type {() => Promise<string>} */
  async digest() {
    return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(this.canonical))));
  }

  /** Draw what to ask about, before anything is answered.
   * @param {RandomBelow} [below]
   * @returns {number | null} The number of a view; null where everything is always asked. */
  drawView(below = randomBelow()) {
    return this.mechanism.drawView?.(below) ?? null;
  }

  /** Names of the attributes that a report takes answers to: those that it is about, and those that
   * these are asked after, which stay on this device.
   * @type {(view: number | null) => readonly string[]} */
  asked(view) {
    const { mechanism, schema } = this;
    if (view === null) return schema.names;
    return schema.withConditions(mechanism.asked?.(view) ?? schema.names);
  }

  /** Perturb one record, exactly; nothing of the record is kept.
   * @type {(record: import("./schema.js").PersonRecord, below?: RandomBelow, view?: number | null) => number[]} */
  perturb(record, below = randomBelow(), view = null) {
    const codes = this.schema.encode(record, this.asked(view));
    return this.mechanism.perturb(codes, below, view ?? undefined);
  }
}

/** JSON without blanks, its keys sorted by code points: as UTF-16, which strings are compared by, an
 * emoji would come before “！”.
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

/** A text that compares by code units as this one does by code points: those of pairs come last.
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

/** True for an address with https, or a path of the site where the form is.
 * @type {(written: unknown) => written is string} */
function isAddress(written) {
  if (typeof written !== "string" || !/^(https:\/\/[^/]|\/(?![/\\]))[!-[\]-~]*$/.test(written)) {
    return false;
  }
  if (!URL.canParse(written, "https://site.invalid")) return false;
  const { protocol, username, password } = new URL(written, "https://site.invalid");
  return protocol === "https:" && username === "" && password === "";
}

/** True for an https or mailto address.
 * @type {(written: unknown) => written is string} */
function isContact(written) {
  if (typeof written !== "string" || written.length > MOST_CHARACTERS) return false;
  return MAIL.test(written) || (written.startsWith("https://") && isAddress(written));
}

/** @type {(written?: unknown) => Readonly<Series> | null} */
function readSeries(written) {
  if (written === undefined) return null;
  const { id, wave, total_gamma } = membersOf(written, ["id", "wave", "total_gamma"], "series");
  if (typeof id !== "string" || !ID.test(id)) {
    throw fault("id", "lower-case letters, digits and hyphens, at most 64");
  }
  if (typeof wave !== "number" || !Number.isInteger(wave) || wave < 1 || wave > MOST_WAVES) {
    throw fault("wave", `a whole number from 1 to ${MOST_WAVES}`);
  }
  const totalGamma = Rational.parse(total_gamma, "series.total_gamma");
  if (totalGamma.numerator <= totalGamma.denominator) {
    throw fault("total_gamma", "an amplification above 1");
  }
  return Object.freeze({ id, wave, totalGamma });
}

/** @type {(written?: unknown) => Readonly<Relay> | null} */
function readRelay(written) {
  if (written === undefined) return null;
  const members = membersOf(written, RELAY_MEMBERS, "relay");
  const { url, key, sealing_key: sealingKey, batch, release = "closing" } = members;
  const match = typeof url === "string" && url.length <= MOST_CHARACTERS ? RELAY_URL.exec(url) : null;
  if (match === null || Number(match.groups?.port?.slice(1) ?? 0) > LAST_PORT) {
    throw fault("url", "an address with https:// and no slash at its end", "relay");
  }
  const digits = "64 lower-case hexadecimal digits";
  if (!isKey(key)) throw fault("key", digits, "relay");
  if (!isKey(sealingKey)) throw fault("sealing_key", digits, "relay");
  if (key === sealingKey) throw fault("key", "another key than sealing_key", "relay");
  const isBatch = typeof batch === "number" && Number.isInteger(batch);
  if (!isBatch || batch < LEAST_BATCH || batch > MOST_BATCH) {
    throw fault("batch", `a whole number from ${LEAST_BATCH} to ${MOST_BATCH}`, "relay");
  }
  if (release !== "closing" && release !== "batches") {
    throw fault("release", '"closing" or "batches"', "relay");
  }
  return Object.freeze({ url: match[0], key, sealingKey, batch, release });
}

/** @param {string} member
 * @param {string} expected */
function fault(member, expected, table = "series") {
  const field = `${table}.${member}`;
  return new SurveyError(`${field}: expected ${expected}`, field);
}
