/** What the figures of a log follow from, and which models they fit. */

import { anything, bytes, count } from "./format.js";
import { table } from "./tables.js";

/** @param {any[]} rows whether each release's rules give the printed figures */
export function predictions(rows) {
  return table(
    "Whether the printed figures follow",
    [
      { title: "release", text: (row) => row.version },
      { title: "card", text: (row) => anything(row.card) },
      { title: "follows", text: (row) => (row.holds ? "yes" : "no") },
      { title: "refused", text: (row) => row.refused ?? "–" },
    ],
    rows,
  );
}

/** @param {any[]} rows embedded models whose sizes are those of the log */
export function matches(rows) {
  return table(
    "A fit is no proof",
    [
      { title: "model", text: (row) => row.model },
      { title: "ranks", text: (row) => count(row.tensor_parallel), number: true },
      { title: "state", text: (row) => row.state_dtype },
      { title: "KV", text: (row) => row.kv_dtype },
      { title: "a slot", text: (row) => bytes(row.state_bytes_per_slot), number: true },
      { title: "a token", text: (row) => bytes(row.kv_bytes_per_token), number: true },
    ],
    rows,
  );
}
