/** Exact random sampling: unbiased uniform integers from random bytes. */

import { ParameterError } from "./errors.js";

/** Largest number of bytes of one call of `crypto.getRandomValues`. */
const MOST_BYTES = 65_536;

/** Fill an array with random bytes, like `crypto.getRandomValues`; and a uniform integer from 0 to k − 1.
 * @typedef {(bytes: Uint8Array) => unknown} RandomBytes
 * @typedef {(k: bigint) => bigint} RandomBelow */

/**
 * Draw integers from a source of random bytes; by default that of the browser.
 *
 * For a bound of b bits it takes the b leading bits of ⌈b/8⌉ bytes, and draws again while the
 * number is not below the bound.
 *
 * @type {(fill?: RandomBytes) => RandomBelow}
 */
export function randomBelow(fill = fromBrowser) {
  return (k) => {
    if (k < 1n) throw new ParameterError("k: expected an integer above 0", "k");
    const bits = k.toString(2).length;
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    const spare = BigInt(8 * bytes.length - bits);
    for (;;) {
      fill(bytes);
      let number = 0n;
      for (const byte of bytes) number = (number << 8n) | BigInt(byte);
      number >>= spare;
      if (number < k) return number;
    }
  };
}

/** @param {Uint8Array} bytes */
function fromBrowser(bytes) {
  for (let start = 0; start < bytes.length; start += MOST_BYTES) {
    crypto.getRandomValues(bytes.subarray(start, start + MOST_BYTES));
  }
}
