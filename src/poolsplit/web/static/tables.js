/** Tables and lists of facts. */

import { element } from "./dom.js";
import { count, field } from "./format.js";

/**
 * @typedef {{ title: string, text: (row: any) => any, number?: boolean }} Column
 */

/**
 * A table that scrolls by itself where it is wider than its place.
 * @param {string} caption
 * @param {Column[]} columns the first one heads each row
 * @param {any[]} rows
 */
export function table(caption, columns, rows) {
  const head = columns.map((column) => element("th", { scope: "col", class: side(column) }, column.title));
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      columns.map((column, at) =>
        element(at ? "td" : "th", { scope: at ? null : "row", class: side(column) }, column.text(row)),
      ),
    ),
  );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, head)),
      element("tbody", {}, body),
    ),
  );
}

/**
 * A column of one figure by its name in the rows; where it is unknown, the reason beside it.
 * @param {string} title
 * @param {string} name
 * @param {(value: any) => string} [format]
 * @returns {Column}
 */
export function figure(title, name, format = count) {
  return { title, text: (row) => field(row, name, format), number: true };
}

const side = (column) => (column.number ? "number" : null);

/**
 * Names with their values; pairs without a value are left out, and nothing is made of none.
 * @param {[string, any][]} pairs
 */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!known.length) return null;
  return element(
    "dl",
    { class: "facts" },
    known.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}
