/** Parsing of numbers in the notation of a language, more reliably than number fields of browsers.
 * */

const BLANKS = /[\s\u00a0\u2009\u202f'’]/g;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

/**
 * Parse a number in the digits and signs of a language, and return it in decimal notation with a
 * point; null if the text is not a number or is ambiguous.
 *
 * Thousands separators are accepted if unambiguous. The thousands separator of the language is read
 * as the decimal sign if it cannot separate thousands: in German "1.2" is 1.2, and "1.234" is
 * ambiguous.
 *
 * @type {(text: string, locale: string) => string | null}
 */
export function readNumber(text, locale) {
  const signs = new Intl.NumberFormat(locale).formatToParts(0.5);
  const decimal = signs.some(({ type, value }) => type === "decimal" && value === ",") ? "," : ".";
  const other = decimal === "," ? "." : ",";
  const written = text
    .trim()
    .replace(/\p{Nd}/gu, digitOf)
    .replace("−", "-")
    .replaceAll("٫", decimal);
  const groups = written.split(BLANKS);
  if (groups.length > 1 && !areThousands(groups, decimal)) return null;
  const joined = groups.join("");
  const others = joined.split(other).length - 1;
  const own = joined.split(decimal).length - 1;
  const parts = joined.split(other);
  let plain = joined;
  if (others > 0 && own === 0 && others === 1 && parts[1].length !== 3) {
    plain = joined.replace(other, decimal);
  } else if (others > 0) {
    // A single separator before three digits is ambiguous.
    if (groups.length > 1 || (others === 1 && own === 0) || !areThousands(parts, decimal)) return null;
    plain = parts.join("");
  }
  const number = plain.replace(decimal, ".");
  return DECIMAL.test(number) ? number : null;
}

/** True if all groups after the first have three digits, the last one perhaps followed by decimals.
 * @type {(groups: readonly string[], decimal: string) => boolean} */
function areThousands(groups, decimal) {
  const [first, ...more] = groups;
  const last = more.pop() ?? "";
  const [end] = last.split(decimal);
  return /^[+-]?[1-9]\d{0,2}$/.test(first) && [...more, end].every((group) => /^\d{3}$/.test(group));
}

/** @param {string} sign A digit of any script; the ten digits of a script have consecutive code
 * points. */
function digitOf(sign) {
  const code = /** @type {number} */ (sign.codePointAt(0));
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}
