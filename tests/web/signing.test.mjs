// Signatures are those of tests/vectors, and whatever else comes is refused.

import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";

import { statement, verify } from "../../client/halftruth_client/js/signing.js";
import { readPins, readTerms } from "../../client/halftruth_client/js/terms.js";
import { readVectors, withoutAlgorithm } from "./helpers.mjs";

const { vectors, refused } = readVectors("signed");

/** What stands before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410). */
const PRIVATE = Buffer.from("302e020100300506032b657004220420", "hex");

vectors.forEach(({ seed, public: key, digest, terms, statement: signed, value }, i) => {
  test(`a survey's digest and terms make the known statement: ${i}`, () => {
    assert.equal(new TextDecoder().decode(statement(digest, readTerms(terms))), signed);
  });

  test(`a known signature is good, alone and among other pins: ${i}`, async () => {
    const published = { terms: readTerms(terms), signature: { key, value } };
    await verify(published, digest, [key]);
    await verify(published, digest, ["00".repeat(32), key]);
  });

  test(`the vector is what its seed signs: ${i}`, () => {
    const der = Buffer.concat([PRIVATE, Buffer.from(seed, "hex")]);
    const own = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    assert.equal(sign(null, Buffer.from(signed), own).toString("hex"), value);
  });
});

for (const { why, pins, digest, terms, signature } of refused) {
  test(`a survey is refused where ${why}`, async () => {
    await assert.rejects(verify({ terms: readTerms(terms), signature }, digest, pins), {
      name: "SurveyRefused",
      field: "operatorKeys",
    });
  });
}

test("what is no signature at all is refused", async () => {
  const [{ public: key, digest, terms, value }] = vectors;
  const pins = [key];
  for (const signature of [
    undefined,
    null,
    5,
    "signature",
    [],
    {},
    { key },
    { value },
    { key, value: null },
    { key, value: value.toUpperCase() },
    { key, value: `${value}\n` },
    { key, value: [value] },
    { key: key.toUpperCase(), value },
    { key: [key], value },
  ]) {
    const published = { terms: readTerms(terms), signature };
    await assert.rejects(verify(published, digest, pins), { name: "SurveyRefused" });
  }
});

test("no bit of a signature can be another", async () => {
  const [{ public: key, digest, terms, value }] = vectors;
  for (let bit = 0; bit < 512; bit += 1) {
    const altered = Buffer.from(value, "hex");
    altered[bit >> 3] ^= 1 << (bit & 7);
    const published = {
      terms: readTerms(terms),
      signature: { key, value: altered.toString("hex") },
    };
    await assert.rejects(verify(published, digest, [key]), { name: "SurveyRefused" }, `bit ${bit}`);
  }
});

test("a browser without Ed25519 says so, and takes nothing for signed", async () => {
  const [{ public: key, digest, terms, value }] = vectors;
  const published = { terms: readTerms(terms), signature: { key, value } };
  const restore = withoutAlgorithm("Ed25519");
  try {
    await assert.rejects(verify(published, digest, [key]), {
      name: "SurveyRefused",
      field: "operatorKeys",
      message: /this browser cannot verify .* expected one with Ed25519/,
    });
  } finally {
    restore();
  }
  await verify(published, digest, [key]);
});

test("a new key signs what this client verifies", async () => {
  const pair = generateKeyPairSync("ed25519");
  const key = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex");
  const digest = "cd".repeat(32);
  const terms = { invitations: true, sealing_key: null };
  const text = `{"digest":"${digest}","invitations":true,"sealing_key":null}`;
  const made = sign(null, Buffer.from(`halftruth survey 1\n${text}`), pair.privateKey);
  const signature = { key, value: made.toString("hex") };
  await verify({ terms: readTerms(terms), signature }, digest, [key]);
  const dropped = { terms: readTerms({ ...terms, invitations: false }), signature };
  await assert.rejects(verify(dropped, digest, [key]), { name: "SurveyRefused" });
});

// What is read of terms and of pins.

test("without terms, reports are plain and need no invitation", () => {
  const none = { invitations: false, sealingKey: null };
  for (const written of [undefined, {}, { invitations: false }, { sealing_key: null }]) {
    assert.deepEqual(readTerms(written), none);
  }
});

test("terms of another shape are refused, not guessed", () => {
  const key = "ab".repeat(32);
  for (const [written, field] of [
    [null, "terms"],
    ["none", "terms"],
    [[], "terms"],
    // What a client does not know it cannot keep to.
    [{ invitations: true, colour: "red" }, "colour"],
    [{ invitations: "true" }, "invitations"],
    [{ invitations: 1 }, "invitations"],
    [{ invitations: null }, "invitations"],
    [{ sealing_key: false }, "sealing_key"],
    [{ sealing_key: "" }, "sealing_key"],
    [{ sealing_key: key.slice(1) }, "sealing_key"],
    [{ sealing_key: `${key}ab` }, "sealing_key"],
    [{ sealing_key: key.toUpperCase() }, "sealing_key"],
    [{ sealing_key: `${key}\n` }, "sealing_key"],
    [{ sealing_key: [key] }, "sealing_key"],
  ]) {
    assert.throws(() => readTerms(written), { name: "SurveyError", field });
  }
});

test("pins are public keys, one or more", () => {
  const key = "ab".repeat(32);
  assert.equal(readPins(undefined), null);
  assert.deepEqual(readPins([key, key]), [key, key]);
  for (const wrong of [null, key, [], [""], [key, null], [key.toUpperCase()], [`${key}0`], {}]) {
    assert.throws(() => readPins(wrong), { name: "ParameterError", field: "operatorKeys" });
  }
});
