/**
 * Tickets: neither who sends a report nor who collects it draws the questions that it is about.
 *
 * The browser commits to random bytes, its secret, before it knows the id of its ticket; the collector,
 * or the relay of the survey, draws the id before it knows the secret. The view follows from both.
 */

import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { RequestRefused } from "./errors.js";
import { randomBelow } from "./sampling.js";
import { loaded } from "./transport.js";

/**
 * @import { Survey } from "./survey.js"
 *
 * A ticket, in hexadecimal: as it was issued (id, and code or signature), and the secret.
 *
 * @typedef {{id: string, secret: string, code: string}} Ticket
 */

/** Bytes of a secret, and of an id. */
const SECRET = 32;
const ID = 16;

/** First line of what a commitment is the hash of. */
const COMMITMENT = utf8("halftruth ticket 1\n");

const ISSUED = /^(?:[0-9a-f]{2}){17,}$/;

/** Take a ticket of the collector or relay, and return it as text, with the number of its view.
 * @type {(transport: import("./transport.js").Transport, survey: Survey, digest: string,
 *   invitations?: string[]) => Promise<{ticket: string, view: number}>} */
export async function takeTicket(transport, survey, digest, invitations) {
  const secret = newSecret();
  const commitment = await commitTo(digest, secret);
  const message = { digest, commitments: [commitment], invitations };
  const answer = await transport.request(`/v1/surveys/${encodeURIComponent(survey.id)}/tickets`, message);
  const ticket = readIssued(answer, secret);
  if (survey.relay) {
    const { checkSigned } = await loaded(import("./signed-tickets.js"));
    await checkSigned(survey.relay, digest + ticket.id + commitment, ticket.code);
  }
  return { ticket: ticketText(ticket), view: await viewOf(survey, digest, ticket) };
}

/** Draw a secret, in hexadecimal. */
export function newSecret() {
  return toHex(crypto.getRandomValues(new Uint8Array(SECRET)));
}

/** The commitment to a secret, for the survey with a digest.
 * @type {(digest: string, secret: string) => Promise<string>} */
export async function commitTo(digest, secret) {
  return toHex(await sha256(concat(COMMITMENT, fromHex(digest + secret))));
}

/** Read a ticket from the answer to a request for one.
 * @type {(answer: unknown, secret: string) => Ticket}
 * @throws {RequestRefused} If it has none. */
export function readIssued(answer, secret) {
  const { tickets } = /** @type {{tickets: unknown}} */ (answer);
  const text = Array.isArray(tickets) && tickets.length === 1 ? tickets[0] : undefined;
  if (typeof text !== "string" || !ISSUED.test(text)) {
    throw new RequestRefused("the answer is no ticket", 201);
  }
  return { id: text.slice(0, 2 * ID), secret, code: text.slice(2 * ID) };
}

/** A ticket as it is stored, and sent with a report.
 * @param {Ticket} ticket */
export function ticketText({ id, secret, code }) {
  return id + secret + code;
}

/** Number of the view that follows from a ticket, an exact draw from the bytes of SHA-256(digest, id,
 * secret, counter), counter 0, 1, …
 * @type {(survey: Survey, digest: string, ticket: {id: string, secret: string}) => Promise<number>} */
export async function viewOf(survey, digest, { id, secret }) {
  const seed = fromHex(digest + id + secret);
  let stream = concat();
  for (let counter = 0; ; counter += 1) {
    const number = Uint8Array.of(counter >>> 24, counter >>> 16, counter >>> 8, counter);
    stream = concat(stream, await sha256(concat(seed, number)));
    const view = drawFrom(survey, stream);
    if (view !== null) return view;
  }
}

/** Draw a view from known bytes; null if there are too few.
 * @type {(survey: Survey, stream: Uint8Array) => number | null} */
function drawFrom(survey, stream) {
  let position = 0;
  /** @param {Uint8Array} bytes */
  const fill = (bytes) => {
    if (position + bytes.length > stream.length) throw new RangeError();
    bytes.set(stream.subarray(position, position + bytes.length));
    position += bytes.length;
  };
  try {
    return survey.drawView(randomBelow(fill));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
