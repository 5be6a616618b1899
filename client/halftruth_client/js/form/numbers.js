/** Numbers as people write them, which a browser's own fields for numbers misread. */

const BLANKS = /[\s\u00a0\u2009\u202f'’]/g;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;

/**
 * A number in the digits and signs of a language, as decimals with a point; null for what is none, or
 * could be read in two ways.
 *
 * Thousands may be set apart where it is plain that they are. The sign that a language has between
 * thousands is taken for a decimal one where it cannot be that: "1.2" in German. "1.234" is refused there.
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
    // One of them alone, with three digits behind it, says nothing.
    if (groups.length > 1 || (others === 1 && own === 0) || !areThousands(parts, decimal)) return null;
    plain = parts.join("");
  }
  const number = plain.replace(decimal, ".");
  return DECIMAL.test(number) ? number : null;
}

/** True for groups of three digits after the first one, which are followed by decimals if by anything.
 * @type {(groups: readonly string[], decimal: string) => boolean} */
function areThousands(groups, decimal) {
  const [first, ...more] = groups;
  const last = more.pop() ?? "";
  const [end] = last.split(decimal);
  return /^[+-]?[1-9]\d{0,2}$/.test(first) && [...more, end].every((group) => /^\d{3}$/.test(group));
}

/** @param {string} sign A digit of any script; ten of them follow each other. */
function digitOf(sign) {
  const code = /** @type {number} */ (sign.codePointAt(0));
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}
