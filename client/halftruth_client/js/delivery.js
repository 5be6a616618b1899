/** A report on its way: what is sent, and what answer is final. */

import { CollectorUnavailable, RequestRefused } from "./errors.js";

/**
 * The message that carries a report: plain or sealed, with an invitation where terms ask for one.
 *
 * @param {import("./survey.js").Survey} survey
 * @param {import("./memory.js").Remembered} report
 */
export async function messageOf({ mechanism, terms }, { digest, id, values, invitation }) {
  const ticket = terms.invitations ? invitation : undefined;
  if (terms.sealingKey === null) return { id, values, invitation: ticket };
  const { pack, seal } = await loaded(import("./sealing.js"));
  const packed = pack(values, mechanism.reportSpace.shape);
  return { id, sealed: await seal(terms.sealingKey, digest, { id, packed, invitation: ticket }) };
}

/**
 * True if sending the same report again is pointless: the survey was closed or replaced, this is
 * no report, or it was not let in.
 *
 * @param {unknown} error
 * @returns {error is RequestRefused}
 */
export function isFinal(error) {
  if (!(error instanceof RequestRefused)) return false;
  const { status, field } = error;
  return status === 409 || status === 422 || (status === 403 && field === "invitation");
}

/**
 * A module that most surveys do without.
 *
 * @template T
 * @param {Promise<T>} module
 */
export async function loaded(module) {
  try {
    return await module;
  } catch {
    throw new CollectorUnavailable("a part of this page that the survey needs cannot be loaded");
  }
}
