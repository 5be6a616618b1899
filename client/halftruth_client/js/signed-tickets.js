/** Verification of the tickets of a relay: Ed25519 (RFC 8032) over digest, id and commitment. */

import { concat, fromHex, utf8 } from "./bytes.js";
import { RequestRefused } from "./errors.js";

/** Prefix of the signed bytes, so that signatures for other purposes are invalid for tickets. */
const PURPOSE = utf8("halftruth relay ticket 1\n");

/** Check that a relay signed a ticket. The collector would omit its report, and no answer would say so. A
 * browser without Ed25519 leaves it to the collector.
 * @type {(relay: import("./survey.js").Relay, signed: string, signature: string) => Promise<void>}
 * @throws {RequestRefused} */
export async function checkSigned({ ticketsKey }, signed, signature) {
  let key;
  try {
    key = await crypto.subtle.importKey("raw", fromHex(ticketsKey ?? ""), "Ed25519", false, ["verify"]);
  } catch {
    return;
  }
  const message = concat(PURPOSE, fromHex(signed));
  if (await crypto.subtle.verify("Ed25519", key, fromHex(signature), message)) return;
  throw new RequestRefused("the relay answered with a ticket that it has not signed", 201);
}
