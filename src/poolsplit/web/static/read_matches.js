/** What the figures of a log follow from, and which models they fit. */

import { anything, bytes } from "./format.js";
import { figure, table } from "./tables.js";

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
      figure("ranks", "tensor_parallel"),
      { title: "state", text: (row) => row.state_dtype },
      { title: "KV", text: (row) => row.kv_dtype },
      figure("a slot", "state_bytes_per_slot", bytes),
      figure("a token", "kv_bytes_per_token", bytes),
    ],
    rows,
  );
}
