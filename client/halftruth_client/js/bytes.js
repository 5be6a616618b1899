/** Conversion between bytes and text. */

/** @param {Uint8Array} bytes */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} digits An even number of hexadecimal digits. */
export function fromHex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** UTF-8 of a text.
 * @type {(text: string) => Uint8Array<ArrayBuffer>} */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** @param {...Uint8Array} parts */
export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}
