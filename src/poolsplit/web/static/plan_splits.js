/** The split as it stands beside the recommended one, figure by figure. */

import { element } from "./dom.js";
import { count, field, percent, plain, words } from "./format.js";
import { table } from "./tables.js";

/** @type {[string, string, (value: any) => string][]} */
const ROWS = [
  ["state_slots", "state slots", count],
  ["kv_tokens", "KV tokens", count],
  ["swa_tokens", "window tokens", count],
  ["state_requests", "requests by state", count],
  ["kv_requests", "requests by KV", count],
  ["max_running_requests", "granted by the engine", count],
  ["running_requests", "really running", count],
  ["binding", "binding", (value) => words(value)],
  ["state_used_fraction", "state pool used", percent],
  ["kv_used_fraction", "KV pool used", percent],
];

/** @param {any} plan the document of a plan */
export function splitTable({ current, recommended, current_reason: reason }) {
  const said = (split) =>
    split.mode === "pin" ? `${count(split.max_mamba_cache_size)} slots` : `ratio ${plain(split.state_to_kv_ratio)}`;
  const shown = ROWS.filter(([name]) => recommended[name] !== null);
  /** @type {{ label: string, now: any, best: string }[]} */
  const rows = [{ label: "split", now: current && said(current), best: said(recommended) }];
  for (const [name, label, format] of shown) {
    rows.push({ label, now: current && field(current, name, format), best: field(recommended, name, format) });
  }
  return element(
    "div",
    {},
    table(
      "Figures of one data-parallel worker",
      [
        { title: "figure", text: (row) => row.label },
        { title: "now", text: (row) => row.now ?? "–", number: true },
        { title: "recommended", text: (row) => row.best, number: true },
      ],
      rows,
    ),
    !current && element("p", { class: "small muted" }, `now: ${reason}`),
  );
}
