/**
 * Sealed reports, which only the collector can read.
 *
 * A report is encrypted to the collector's key, and bound to the digest of the survey and the id of
 * the report. All reports of a survey have the same length, so that the length reveals nothing.
 *
 * The encryption is HPKE (RFC 9180) in base mode, for one message: DHKEM(X25519, HKDF-SHA256),
 * HKDF-SHA256 and AES-128-GCM. Functions have the names of the RFC.
 */

import { concat, fromHex, utf8 } from "./bytes.js";
import { SurveyRefused } from "./errors.js";

/** Bytes of a hash, and of an X25519 key. */
const HASH = 32;

const VERSION = utf8("HPKE-v1");
const KEM = concat(utf8("KEM"), Uint8Array.of(0x00, 0x20));
const SUITE = concat(utf8("HPKE"), Uint8Array.of(0x00, 0x20, 0x00, 0x01, 0x00, 0x01));

const EMPTY = new Uint8Array(0);
const MODE_BASE = Uint8Array.of(0);
const FIRST_BLOCK = Uint8Array.of(1);

/** Prefixes of the HPKE `info`, so that messages for other purposes cannot be opened as reports. */
const PURPOSE = utf8("halftruth sealed report 1\n");
const RELAYED = utf8("halftruth relayed report 1\n");
const ENVELOPE = utf8("halftruth relay envelope 1\n");

/** Check that this browser can seal reports to a key, before anything is asked.
 * @type {(sealingKey: string) => Promise<void>} */
export async function checkSealing(sealingKey) {
  try {
    await sealBase(fromHex(sealingKey), EMPTY, EMPTY, EMPTY);
  } catch (error) {
    const lacking = error instanceof Error && error.name === "NotSupportedError";
    throw new SurveyRefused(
      lacking
        ? "sealing_key: this browser cannot seal reports; expected one with X25519"
        : "sealing_key: expected an X25519 public key that can be sealed to",
      "sealing_key",
    );
  }
}

/** Encrypt a report to a collector, with an invitation if the survey requires one. Returns base64.
 * @typedef {{id: string, packed: Uint8Array, invitation?: string}} Sealed
 * @type {(sealingKey: string, digest: string, report: Sealed) => Promise<string>} */
export async function seal(sealingKey, digest, { id, packed, invitation = "" }) {
  const info = concat(PURPOSE, fromHex(digest), idBytes(id));
  const plaintext = concat(packed, fromHex(invitation));
  return base64(await sealBase(fromHex(sealingKey), info, EMPTY, plaintext));
}

/** Encrypt a report and its id to the collector, and the result to the relay, which sees another id, so
 * that neither learns both the sender and the content of a report. Returns base64.
 * @typedef {{id: string, relayId: string, packed: Uint8Array}} Relayed
 * @type {(relay: import("./survey.js").Relay, digest: string, report: Relayed) => Promise<string>} */
export async function sealForRelay({ key, sealingKey }, digest, { id, relayId, packed }) {
  const named = concat(idBytes(id), packed);
  const inner = await sealBase(fromHex(sealingKey), concat(RELAYED, fromHex(digest)), EMPTY, named);
  const info = concat(ENVELOPE, fromHex(digest), idBytes(relayId));
  return base64(await sealBase(fromHex(key), info, EMPTY, inner));
}

/** @param {string} id */
function idBytes(id) {
  return fromHex(id.replaceAll("-", ""));
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Zeros that stand for no ticket, so that all reports of a survey have one length. */
const NO_TICKET = "00".repeat(80);

/** Pack the values of a report as big-endian integers of 1, 2 or 4 bytes each, as the largest column
 * needs; and then its ticket, if the survey has tickets.
 * @type {(values: readonly number[], shape: readonly bigint[], hasTickets?: boolean, ticket?: string) =>
 *   Uint8Array<ArrayBuffer>} */
export function pack(values, shape, hasTickets = false, ticket = NO_TICKET) {
  const holds = (/** @type {number} */ bytes) => shape.every((size) => size <= 256n ** BigInt(bytes));
  const width = [1, 2].find(holds) ?? 4;
  const packed = new Uint8Array(width * values.length);
  values.forEach((value, j) => {
    for (let k = 0; k < width; k += 1) packed[j * width + k] = value >>> (8 * (width - 1 - k));
  });
  return hasTickets ? concat(packed, fromHex(ticket)) : packed;
}

/** Encrypt a message to a public key. Returns the ephemeral public key, the ciphertext and the tag.
 * @typedef {Uint8Array<ArrayBuffer>} Bytes
 * @type {(publicKey: Bytes, info: Uint8Array, aad: Bytes, plaintext: Bytes) => Promise<Bytes>} */
export async function sealBase(publicKey, info, aad, plaintext) {
  const { enc, sharedSecret } = await encap(publicKey);
  const { key, nonce } = await keySchedule(sharedSecret, info);
  const algorithm = { name: "AES-GCM", iv: nonce, additionalData: aad };
  const secret = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const sealed = await crypto.subtle.encrypt(algorithm, secret, plaintext);
  return concat(enc, new Uint8Array(sealed));
}

/**
 * Largest number of key pairs to try: WebKit on Linux fails for about 5 in 1,000 of them.
 */
const ATTEMPTS = 8;

/** Agree on a secret with a recipient, using a new key pair (RFC 9180, 4.1).
 * @param {Uint8Array<ArrayBuffer>} publicKey */
async function encap(publicKey) {
  for (let left = ATTEMPTS - 1; ; left -= 1) {
    try {
      return await encapOnce(publicKey);
    } catch (error) {
      if (left === 0 || Object(error).name !== "OperationError") throw error;
    }
  }
}

/** @param {Uint8Array<ArrayBuffer>} publicKey */
async function encapOnce(publicKey) {
  const pair = await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
  const ephemeral = /** @type {CryptoKeyPair} */ (pair);
  const recipient = await crypto.subtle.importKey("raw", publicKey, "X25519", false, []);
  // This fails for a point of small order, for which the secret would be predictable.
  const point = await crypto.subtle.deriveBits(
    { name: "X25519", public: recipient },
    ephemeral.privateKey,
    8 * HASH,
  );
  const enc = new Uint8Array(await crypto.subtle.exportKey("raw", ephemeral.publicKey));
  const prk = await labeledExtract(KEM, EMPTY, "eae_prk", new Uint8Array(point));
  const context = concat(enc, publicKey);
  return { enc, sharedSecret: await labeledExpand(KEM, prk, "shared_secret", context, HASH) };
}

/** Key and nonce of the first message (RFC 9180, 5.1), without a pre-shared key.
 * @type {(sharedSecret: Bytes, info: Uint8Array) => Promise<{key: Bytes, nonce: Bytes}>} */
async function keySchedule(sharedSecret, info) {
  const context = concat(
    MODE_BASE,
    await labeledExtract(SUITE, EMPTY, "psk_id_hash", EMPTY),
    await labeledExtract(SUITE, EMPTY, "info_hash", info),
  );
  const secret = await labeledExtract(SUITE, sharedSecret, "secret", EMPTY);
  return {
    key: await labeledExpand(SUITE, secret, "key", context, 16),
    nonce: await labeledExpand(SUITE, secret, "base_nonce", context, 12),
  };
}

/** @type {(suite: Uint8Array, salt: Bytes, label: string, ikm: Uint8Array) => Promise<Bytes>} */
function labeledExtract(suite, salt, label, ikm) {
  return hmac(salt, concat(VERSION, suite, utf8(label), ikm));
}

/** LabeledExpand for at most the length of a hash, which needs one block of HKDF.
 * @type {(suite: Uint8Array, prk: Bytes, label: string, info: Uint8Array, length: number) => Promise<Bytes>} */
async function labeledExpand(suite, prk, label, info, length) {
  const size = Uint8Array.of(0, length);
  const block = await hmac(prk, concat(size, VERSION, suite, utf8(label), info, FIRST_BLOCK));
  return block.slice(0, length);
}

/** @type {(key: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>} */
async function hmac(key, message) {
  // Browsers refuse an empty key. HMAC pads keys with zeros, so zeros are equivalent.
  const filled = key.length > 0 ? key : new Uint8Array(HASH);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", filled, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, message));
}
