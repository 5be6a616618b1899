/**
 * Sealed reports: nobody between this browser and the collector can read one.
 *
 * A report is encrypted to the collector's key, bound to the survey's digest and the report's id.
 * All reports of a survey are of one length, so that it tells nothing.
 */

import { concat, fromHex, utf8 } from "./bytes.js";
import { SurveyRefused } from "./errors.js";
import { sealBase } from "./hpke.js";

/** First bytes of what a report is bound to, so that nothing else opens as a report. */
const PURPOSE = utf8("halftruth sealed report 1\n");

const EMPTY = new Uint8Array(0);

/**
 * Make sure that this browser can seal reports to a key, before anyone is asked for one.
 *
 * @param {string} sealingKey In hexadecimal.
 * @returns {Promise<void>}
 * @throws {SurveyRefused}
 */
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

/**
 * Encrypt a report to a collector.
 *
 * @param {string} sealingKey In hexadecimal.
 * @param {string} digest Of the survey.
 * @param {{id: string, packed: Uint8Array, invitation?: string}} report
 *   With an invitation where the survey asks for one.
 * @returns {Promise<string>} In base64.
 */
export async function seal(sealingKey, digest, { id, packed, invitation = "" }) {
  const info = concat(PURPOSE, fromHex(digest), fromHex(id.replaceAll("-", "")));
  const plaintext = concat(packed, fromHex(invitation));
  const sealed = await sealBase(fromHex(sealingKey), info, EMPTY, plaintext);
  return btoa(Array.from(sealed, (byte) => String.fromCharCode(byte)).join(""));
}

/**
 * The values of a report in the same number of bytes each, big-endian: 1, 2 or 4, enough for the
 * column with the most values.
 *
 * @param {readonly number[]} values
 * @param {readonly bigint[]} shape Sizes of the columns.
 */
export function pack(values, shape) {
  const holds = (/** @type {number} */ bytes) => shape.every((size) => size <= 256n ** BigInt(bytes));
  const width = [1, 2].find(holds) ?? 4;
  const packed = new Uint8Array(width * values.length);
  values.forEach((value, j) => {
    for (let k = 0; k < width; k += 1) packed[j * width + k] = value >>> (8 * (width - 1 - k));
  });
  return packed;
}
