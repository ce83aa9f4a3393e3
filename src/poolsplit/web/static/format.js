/** Numbers as people read them. Nothing here finds a number: it writes one that was given. */

const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SIGNED = new Intl.NumberFormat("en", { maximumFractionDigits: 0, signDisplay: "exceptZero" });
const PERCENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const SIGNED_PERCENT = new Intl.NumberFormat("en", {
  style: "percent",
  maximumFractionDigits: 1,
  signDisplay: "exceptZero",
});
const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact" });
const SIZE = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** @type {[string, number][]} */
const UNITS = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
];
const UNKNOWN = "not known";

const written = (format) => (value) => (value === null || value === undefined ? UNKNOWN : format.format(value));

/** @type {(value: number | null | undefined) => string} thousands apart, no decimals */
export const count = written(COUNT);
/** @type {(value: number | null | undefined) => string} short, for the ticks of an axis */
export const short = written(SHORT);
/** @type {(value: number | null | undefined) => string} with its sign */
export const signed = written(SIGNED);
/** @type {(fraction: number | null | undefined) => string} a fraction as percent */
export const percent = written(PERCENT);
/** @type {(fraction: number | null | undefined) => string} a fraction as percent with its sign */
export const signedPercent = written(SIGNED_PERCENT);
/** @type {(value: number | null | undefined) => string} four significant digits */
export const plain = written(PLAIN);

/**
 * Bytes in the largest binary unit that leaves one or more.
 * @param {number | null | undefined} value
 */
export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const fitting = UNITS.find(([, size]) => value >= size);
  return fitting ? `${SIZE.format(value / fitting[1])} ${fitting[0]}` : `${count(value)} B`;
}

/**
 * GiB that are given as GiB.
 * @param {number | null | undefined} value
 */
export function gib(value) {
  return value === null || value === undefined ? UNKNOWN : `${SIZE.format(value)} GiB`;
}

/**
 * A value of any kind, as a derivation holds them.
 * @param {unknown} value
 */
export function anything(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : plain(value);
  return String(value);
}

/**
 * A field written, or the reason beside it when it is unknown.
 * @param {Record<string, any>} fields
 * @param {string} name
 * @param {(value: any) => string} [format]
 */
export function field(fields, name, format = anything) {
  const value = fields[name];
  return value === null || value === undefined ? (fields[`${name}_reason`] ?? UNKNOWN) : format(value);
}

/**
 * A field's name as words.
 * @param {string} name
 */
export function words(name) {
  return name.replaceAll("_", " ").replace(/\bkv\b/g, "KV");
}
