// Sealed reports match RFC 9180 and tests/vectors, and only their recipient can open them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkSealing, pack, seal, sealBase, sealForRelay } from "../../client/halftruth_client/js/sealing.js";
import { readVectors } from "./helpers.mjs";
import { newKey, open, openReport, pairOf } from "./hpke.mjs";

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");

// RFC 9180, A.1.1: base mode, the first message.
const RFC = {
  info: "4f6465206f6e2061204772656369616e2055726e",
  skEm: "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
  enc: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
  skRm: "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
  pkRm: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
  aad: "436f756e742d30",
  pt: "4265617574792069732074727574682c20747275746820626561757479",
  ct:
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a9" +
    "6d8770ac83d07bea87e13c512a",
};

/** Let the next key pair be a known one. */
async function knowEphemeral({ mock }, privateHex) {
  const pair = await pairOf(privateHex);
  mock.method(crypto.subtle, "generateKey", async () => pair, { times: 1 });
}

test("a message is sealed as in appendix A.1.1 of RFC 9180", async (t) => {
  const { info, pkRm, aad, pt } = RFC;
  await knowEphemeral(t, RFC.skEm);
  const sealed = await sealBase(bytes(pkRm), bytes(info), bytes(aad), bytes(pt));
  assert.equal(hex(sealed), RFC.enc + RFC.ct);
});

test("the test's own decryption opens appendix A.1.1 of RFC 9180", () => {
  const sealed = Buffer.from(RFC.enc + RFC.ct, "hex");
  assert.equal(hex(open(sealed, RFC.skRm, bytes(RFC.info), bytes(RFC.aad))), RFC.pt);
});

const { vectors } = readVectors("sealed");

vectors.forEach((vector, i) => {
  const { shape, values, digest, id, invitation } = vector;

  test(`a report is packed, sealed and opened as in the vectors: ${i}`, async (t) => {
    const packed = pack(values, shape.map(BigInt));
    assert.equal(hex(packed) + (invitation ?? ""), vector.plaintext);
    const report = { id, packed, invitation: invitation ?? undefined };
    await knowEphemeral(t, vector.ephemeral_private);
    assert.equal(await seal(vector.recipient_public, digest, report), vector.sealed);
    const sealed = await seal(vector.recipient_public, digest, report);
    assert.notEqual(sealed, vector.sealed);
    assert.equal(hex(openReport(sealed, vector.recipient_private, digest, id)), vector.plaintext);
  });
});

readVectors("relayed").vectors.forEach((vector, i) => {
  const { shape, values, digest, id, relay_id: relayId, ephemeral_private: [inner, outer] } = vector;

  test(`a report for a relay is sealed twice as in the vectors: ${i}`, async ({ mock }) => {
    const relay = { key: vector.key, sealingKey: vector.sealing_key };
    const pairs = [await pairOf(inner), await pairOf(outer)];
    mock.method(crypto.subtle, "generateKey", async () => pairs.shift(), { times: 2 });
    const report = { id, relayId, packed: pack(values, shape.map(BigInt)) };
    assert.equal(await sealForRelay(relay, digest, report), vector.sealed);
  });
});

test("two sealings for a relay differ in every part", async () => {
  const [relay, collector] = [newKey(), newKey()];
  const keys = { key: relay.publicHex, sealingKey: collector.publicHex };
  const report = { id: "6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11", packed: new Uint8Array(40) };
  const digest = "00".repeat(32);
  const opened = async (relayId) => {
    const sealed = Buffer.from(await sealForRelay(keys, digest, { ...report, relayId }), "base64");
    const about = Buffer.from(`${digest}${relayId.replaceAll("-", "")}`, "hex");
    const purpose = Buffer.from("halftruth relay envelope 1\n");
    return { sealed, inner: open(sealed, relay.privateHex, Buffer.concat([purpose, about])) };
  };
  const id = "0a0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a22";
  const [one, other] = [await opened(id), await opened(id)];
  for (const part of ["sealed", "inner"]) {
    const size = one[part].length;
    for (let i = 0; i < size - 8; i += 8) {
      assert.notDeepEqual(one[part].subarray(i, i + 8), other[part].subarray(i, i + 8));
    }
  }
});

test("failed key pairs are drawn again a limited number of times", async ({ mock }) => {
  const { publicHex, privateHex } = newKey();
  const id = "6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11";
  const fail = async () => {
    throw new DOMException("The operation failed", "OperationError");
  };
  mock.method(crypto.subtle, "deriveBits", fail, { times: 3 });
  const sealed = await seal(publicHex, "00".repeat(32), { id, packed: Uint8Array.of(7) });
  assert.equal(hex(openReport(sealed, privateHex, "00".repeat(32), id)), "07");
  const { mock: always } = mock.method(crypto.subtle, "deriveBits", fail);
  await assert.rejects(seal(publicHex, "00".repeat(32), { id, packed: Uint8Array.of(7) }));
  assert.equal(always.callCount(), 8);
});

test("an invalid sealing key is refused", async () => {
  await checkSealing(newKey().publicHex);
  // Points of small order: the shared secret with one is zero.
  for (const key of ["00".repeat(32), `01${"00".repeat(31)}`]) {
    await assert.rejects(checkSealing(key), {
      name: "SurveyRefused",
      field: "sealing_key",
      message: /expected an X25519 public key/,
    });
    await assert.rejects(seal(key, "00".repeat(32), { id: "00", packed: new Uint8Array(1) }));
  }
});
