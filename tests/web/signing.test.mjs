// Signatures match tests/vectors, and all others are refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { statement, verify } from "../../client/halftruth_client/js/signing.js";
import { readPins, readTerms } from "../../client/halftruth_client/js/terms.js";
import { readVectors } from "./helpers.mjs";

const { vectors, refused } = readVectors("signed");

vectors.forEach(({ public: key, digest, terms, statement: signed, value }, i) => {
  test(`the statement matches the vectors and verifies with one or more pins: ${i}`, async () => {
    const published = { terms: readTerms(terms), signature: { key, value } };
    assert.equal(new TextDecoder().decode(statement(digest, published.terms)), signed);
    await verify(published, digest, [key]);
    await verify(published, digest, ["00".repeat(32), key]);
  });
});

for (const { why, pins, digest, terms, signature } of refused) {
  test(`a survey is refused if ${why}`, async () => {
    await assert.rejects(verify({ terms: readTerms(terms), signature }, digest, pins), {
      name: "SurveyRefused",
      field: "operatorKeys",
    });
  });
}

test("malformed signatures are refused", async () => {
  const [{ public: key, digest, terms, value }] = vectors;
  const pins = [key];
  const others = [`${value}\n`, value.toUpperCase(), null, [value]];
  const wrong = [undefined, null, 5, "signature", [], {}, { key }, { value }];
  wrong.push({ key: key.toUpperCase(), value }, { key: [key], value });
  for (const signature of [...wrong, ...others.map((other) => ({ key, value: other }))]) {
    const published = { terms: readTerms(terms), signature };
    await assert.rejects(verify(published, digest, pins), { name: "SurveyRefused" });
  }
});

// Parsing of terms and pins.

test("without terms, reports are plain and need no invitation", () => {
  const none = {
    invitations: false,
    sealingKey: null,
    opensAt: null,
    closesAt: null,
    maxReports: null,
    sharedDevices: false,
  };
  for (const written of [undefined, {}, { invitations: false }, { sealing_key: null }]) {
    assert.deepEqual(readTerms(written), none);
  }
});

test("malformed terms are refused", () => {
  const key = "ab".repeat(32);
  for (const [written, field] of [
    [null, "terms"],
    ["none", "terms"],
    [[], "terms"],
    [{ shared_devices: "yes" }, "shared_devices"],
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

test("pins are one or more public keys", () => {
  const key = "ab".repeat(32);
  assert.equal(readPins(undefined), null);
  assert.deepEqual(readPins([key, key]), [key, key]);
  for (const wrong of [null, key, [], [""], [key, null], [key.toUpperCase()], [`${key}0`], {}]) {
    assert.throws(() => readPins(wrong), { name: "ParameterError", field: "operatorKeys" });
  }
});
