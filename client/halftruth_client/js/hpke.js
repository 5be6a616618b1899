/**
 * HPKE (RFC 9180) in base mode, for one message: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and
 * AES-128-GCM. The functions have the names of the RFC.
 */

import { concat, utf8 } from "./bytes.js";

/** Bytes of a hash, which are also those of a key of X25519. */
const HASH = 32;

const VERSION = utf8("HPKE-v1");
const KEM = concat(utf8("KEM"), Uint8Array.of(0x00, 0x20));
const SUITE = concat(utf8("HPKE"), Uint8Array.of(0x00, 0x20, 0x00, 0x01, 0x00, 0x01));

const EMPTY = new Uint8Array(0);
const MODE_BASE = Uint8Array.of(0);
const FIRST_BLOCK = Uint8Array.of(1);

/**
 * Encrypt a message to a public key.
 *
 * @param {Uint8Array<ArrayBuffer>} publicKey Of the recipient.
 * @param {Uint8Array} info What the message is bound to.
 * @param {Uint8Array<ArrayBuffer>} aad
 * @param {Uint8Array<ArrayBuffer>} plaintext
 * @returns {Promise<Uint8Array<ArrayBuffer>>} The ephemeral public key, then ciphertext and tag.
 */
export async function sealBase(publicKey, info, aad, plaintext) {
  const { enc, sharedSecret } = await encap(publicKey);
  const { key, nonce } = await keySchedule(sharedSecret, info);
  const algorithm = { name: "AES-GCM", iv: nonce, additionalData: aad };
  const secret = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const sealed = await crypto.subtle.encrypt(algorithm, secret, plaintext);
  return concat(enc, new Uint8Array(sealed));
}

/**
 * A secret that is shared with a recipient, by a new key pair (RFC 9180, 4.1).
 *
 * @param {Uint8Array<ArrayBuffer>} publicKey
 */
async function encap(publicKey) {
  const pair = await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
  const ephemeral = /** @type {CryptoKeyPair} */ (pair);
  const recipient = await crypto.subtle.importKey("raw", publicKey, "X25519", false, []);
  // Fails for a point of small order, which would make a secret that everyone knows.
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

/**
 * Key and nonce of the first message (RFC 9180, 5.1), without a pre-shared key.
 *
 * @param {Uint8Array<ArrayBuffer>} sharedSecret
 * @param {Uint8Array} info
 */
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

/**
 * @param {Uint8Array} suite
 * @param {Uint8Array<ArrayBuffer>} salt
 * @param {string} label
 * @param {Uint8Array} ikm
 */
function labeledExtract(suite, salt, label, ikm) {
  return hmac(salt, concat(VERSION, suite, utf8(label), ikm));
}

/**
 * @param {Uint8Array} suite
 * @param {Uint8Array<ArrayBuffer>} prk
 * @param {string} label
 * @param {Uint8Array} info
 * @param {number} length At most that of a hash, so that one block of HKDF is enough.
 */
async function labeledExpand(suite, prk, label, info, length) {
  const size = Uint8Array.of(0, length);
  const block = await hmac(prk, concat(size, VERSION, suite, utf8(label), info, FIRST_BLOCK));
  return block.slice(0, length);
}

/**
 * @param {Uint8Array<ArrayBuffer>} key
 * @param {Uint8Array<ArrayBuffer>} message
 */
async function hmac(key, message) {
  // Browsers take no empty key; HMAC makes zeros of it.
  const filled = key.length > 0 ? key : new Uint8Array(HASH);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", filled, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, message));
}
