/**
 * Verification of signatures of surveys, so that no intermediary can weaken a survey.
 *
 * A signature is Ed25519 (RFC 8032) over the digest of a survey and its terms.
 */

import { fromHex, utf8 } from "./bytes.js";
import { SurveyRefused } from "./errors.js";
import { canonicalJson } from "./survey.js";

/** Prefix of the signed bytes, so that signatures for other purposes are invalid for surveys. */
const PURPOSE = "halftruth survey 1\n";

const VALUE = /^[0-9a-f]{128}$/;

/** Check that one of these operators signed the digest of a survey, computed here, and its terms.
 * @typedef {{terms: import("./terms.js").Terms, signature?: unknown}} Published
 * @type {(published: Published, digest: string, pins: readonly string[]) => Promise<void>} */
export async function verify({ terms, signature }, digest, pins) {
  if (signature === undefined || signature === null) {
    throw refused("there is no signature; expected one by a pinned key");
  }
  const { key, value } = /** @type {Record<string, unknown>} */ (signature);
  const pinned = pins.find((pin) => pin === key);
  if (pinned === undefined) {
    throw refused("the signature is by another key; expected one by a pinned key");
  }
  const matches =
    typeof value === "string" &&
    VALUE.test(value) &&
    (await crypto.subtle.verify(
      "Ed25519",
      await publicKey(pinned),
      fromHex(value),
      statement(digest, terms),
    ));
  if (!matches) {
    throw refused("the signature does not match; expected one of this survey and these terms");
  }
}

/** Bytes that an operator signs: the purpose, then digest and terms in canonical JSON. Terms that were
 * added to the protocol later are left out if they are not used, so that older signatures stay valid.
 * @type {(digest: string, terms: import("./terms.js").Terms) => Uint8Array<ArrayBuffer>} */
export function statement(digest, terms) {
  const { invitations, sealingKey, opensAt, closesAt, maxReports, sharedDevices } = terms;
  return utf8(
    PURPOSE +
      canonicalJson({
        digest,
        invitations,
        sealing_key: sealingKey,
        ...(opensAt !== null ? { opens_at: opensAt } : {}),
        ...(closesAt !== null ? { closes_at: closesAt } : {}),
        ...(maxReports !== null ? { max_reports: maxReports } : {}),
        ...(sharedDevices ? { shared_devices: true } : {}),
      }),
  );
}

/** @param {string} pin */
async function publicKey(pin) {
  try {
    return await crypto.subtle.importKey("raw", fromHex(pin), "Ed25519", false, ["verify"]);
  } catch {
    throw refused("this browser cannot verify signatures by it; expected one with Ed25519");
  }
}

/** @param {string} why */
function refused(why) {
  return new SurveyRefused(`operatorKeys: ${why}`, "operatorKeys");
}
