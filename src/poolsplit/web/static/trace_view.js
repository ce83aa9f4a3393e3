/** What a trace holds. */

import { element, part } from "./dom.js";
import { count, field, percent, plain } from "./format.js";
import { derivation } from "./derivation.js";
import { remarks } from "./messages.js";
import { facts, figure, table } from "./tables.js";

/**
 * @param {any} trace the document of `trace info`
 * @returns {HTMLElement[]}
 */
export function traceView(trace) {
  return [
    part(
      "The trace",
      facts([
        ["format", [trace.format, trace.dialect].filter(Boolean).join(", ")],
        ["requests", count(trace.requests)],
        ["sessions", field(trace, "sessions", count)],
        ["span", field(trace, "span_s", (value) => `${count(value)} s`)],
        ["blocks", trace.block_tokens && `${count(trace.block_tokens)} tokens`],
        ["reusable without limits", field(trace, "infinite_reuse_fraction", percent)],
        ["distinct tokens", field(trace, "unique_tokens", count)],
      ]),
      lengths(trace),
      remarks(trace.warnings ?? []),
      derivation(trace.derivation, "How the trace was counted"),
    ),
  ];
}

function lengths(trace) {
  const rows = ["input", "output"].map((name) => ({ name, ...trace[`${name}_tokens`] }));
  return element(
    "div",
    {},
    table(
      "Tokens of a request",
      [
        { title: "tokens", text: (row) => row.name },
        figure("mean", "mean", plain),
        figure("p50", "p50"),
        figure("p90", "p90"),
        figure("p99", "p99"),
        figure("max", "max"),
        figure("sum", "sum"),
      ],
      rows,
    ),
  );
}
