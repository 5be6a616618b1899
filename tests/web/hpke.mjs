// The recipient's side of HPKE with Node's cryptography, independent of the client.

import { createDecipheriv, createHmac, createPrivateKey, createPublicKey } from "node:crypto";
import { diffieHellman, generateKeyPairSync } from "node:crypto";

/** DER prefixes of an X25519 key's 32 bytes in PKCS #8 and in SPKI (RFC 8410). */
const PRIVATE = Buffer.from("302e020100300506032b656e04220420", "hex");
const PUBLIC = Buffer.from("302a300506032b656e032100", "hex");

const KEM = Buffer.from("4b454d0020", "hex");
const SUITE = Buffer.from("48504b45002000010001", "hex");

const bytes = (hex) => Buffer.from(hex, "hex");
const privateKey = (hex) =>
  createPrivateKey({ key: Buffer.concat([PRIVATE, bytes(hex)]), format: "der", type: "pkcs8" });
const publicKey = (raw) =>
  createPublicKey({ key: Buffer.concat([PUBLIC, raw]), format: "der", type: "spki" });
const rawOf = (key) => key.export({ format: "der", type: "spki" }).subarray(PUBLIC.length);

/** Return a new private and public key in hexadecimal. */
export function newKey() {
  const pair = generateKeyPairSync("x25519");
  const der = pair.privateKey.export({ format: "der", type: "pkcs8" });
  return {
    privateHex: der.subarray(PRIVATE.length).toString("hex"),
    publicHex: rawOf(pair.publicKey).toString("hex"),
  };
}

/** Return a known key pair for WebCrypto. */
export async function pairOf(privateHex) {
  const pkcs8 = Buffer.concat([PRIVATE, bytes(privateHex)]);
  const raw = rawOf(createPublicKey(privateKey(privateHex)));
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", raw, "X25519", true, []),
  };
}

const hmac = (key, ...parts) =>
  createHmac("sha256", key).update(Buffer.concat(parts)).digest();
const version = Buffer.from("HPKE-v1");
const extract = (suite, salt, label, ikm) =>
  hmac(salt, version, suite, Buffer.from(label), ikm);
const expand = (suite, prk, label, info, length) => {
  const labeled = Buffer.concat([Buffer.of(0, length), version, suite, Buffer.from(label), info]);
  return hmac(prk, labeled, Buffer.of(1)).subarray(0, length);
};

/** Decrypt a message to a key; throws if it is invalid. */
export function open(sealed, privateHex, info, aad = Buffer.alloc(0)) {
  const recipient = privateKey(privateHex);
  const enc = sealed.subarray(0, 32);
  const point = diffieHellman({ privateKey: recipient, publicKey: publicKey(enc) });
  const none = Buffer.alloc(0);
  const both = Buffer.concat([enc, rawOf(createPublicKey(recipient))]);
  const shared = expand(KEM, extract(KEM, none, "eae_prk", point), "shared_secret", both, 32);
  const context = Buffer.concat([
    Buffer.of(0),
    extract(SUITE, none, "psk_id_hash", none),
    extract(SUITE, none, "info_hash", info),
  ]);
  const secret = extract(SUITE, shared, "secret", none);
  const key = expand(SUITE, secret, "key", context, 16);
  const nonce = expand(SUITE, secret, "base_nonce", context, 12);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(sealed.length - 16));
  const plaintext = decipher.update(sealed.subarray(32, sealed.length - 16));
  return Buffer.concat([plaintext, decipher.final()]);
}

/** Decrypt a report in base64 for a survey's digest and the report's id. */
export function openReport(sealed, privateHex, digest, id) {
  const purpose = Buffer.from("halftruth sealed report 1\n");
  const info = Buffer.concat([purpose, bytes(digest), bytes(id.replaceAll("-", ""))]);
  return open(Buffer.from(sealed, "base64"), privateHex, info);
}
