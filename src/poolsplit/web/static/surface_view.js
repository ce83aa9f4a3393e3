/** A surface: reuse at every pair of pool sizes, the budget line, and the best split on it. */

import { chart } from "./charts.js";
import { answer, element, onDemand, part } from "./dom.js";
import { count, percent, signed, signedPercent, words } from "./format.js";
import { derivation } from "./derivation.js";
import { remarks } from "./messages.js";
import { colourScale, surfaceDrawing } from "./surface_chart.js";
import { facts, figure, table } from "./tables.js";

/**
 * @param {any} surface the document of `surface`
 * @returns {any[]}
 */
export function surfaceView(surface) {
  return [
    headline(surface),
    part("Reuse at every split", map(surface)),
    surface.confirmed.length > 0 && part("Confirmed by the whole scheduler", confirmed(surface.confirmed)),
    part("How sure it is", certainty(surface), derivation(surface.derivation, "How the surface was found")),
  ].filter(Boolean);
}

function headline({ best, default: standing, current, reusable_fraction: most, gradient, warnings }) {
  if (!best) {
    return answer(
      "Answer of the surface",
      percent(most),
      "reusable at most",
      element(
        "p",
        { class: "set" },
        "Give a budget, the bytes of a slot and of a KV token, or a plan, to find the best split.",
      ),
      remarks(warnings),
    );
  }
  return answer(
    "Answer of the surface",
    percent(best.cached_fraction),
    "reused at the best split",
    element(
      "p",
      { class: "set" },
      `${count(best.state_slots)} state slots, ${count(best.kv_tokens)} KV tokens; states take ${percent(best.state_bytes_fraction)} of the bytes`,
    ),
    element(
      "p",
      { class: "muted" },
      `${percent(most)} is possible. ${against("The default ratio", standing)}${againstCurrent(current)}`,
    ),
    gradient &&
      element(
        "p",
        { class: "muted" },
        `The next GiB reuses ${signed(gradient.state_tokens_per_gib)} tokens in the state pool, ${signed(gradient.kv_tokens_per_gib)} in the KV pool.`,
      ),
    best.cliff && element("p", {}, `A slightly smaller ${words(best.cliff.pool)} pool falls off a cliff.`),
    remarks(warnings),
  );
}

function against(name, split) {
  if (!split) return "";
  if (split.regret_fraction === null) return `${name} does not serve this order: ${split.recomputed_tokens_reason}.`;
  if (split.regret_fraction === 0) return `${name} is as good.`;
  return `${name} recomputes ${signedPercent(split.regret_fraction)} against it.`;
}

function againstCurrent(current) {
  if (!current) return "";
  if (current.equals_default) return " The current split is the default.";
  const beyond = current.within_budget ? "" : " It takes more than the budget.";
  return ` ${against("The current split", current)}${beyond}`;
}

function map(surface) {
  const label = "Heat map of prompt tokens reused, by state slots and KV tokens. Brighter is more.";
  return [
    chart("surface", label, (colours, width) => surfaceDrawing(surface, colours, width)),
    colourScale(surface),
    element(
      "p",
      { class: "small muted" },
      "Brighter cells reuse more prompt tokens. Along the dotted line both pools cost the whole budget; empty cells do not serve this order.",
    ),
    onDemand("The surface as a table", () => surfaceTable(surface)),
    surface.best && onDemand("Splits compared, as a table", () => comparedTable(surface)),
    surface.line?.length > 0 && onDemand("Splits of the budget as a table", () => lineTable(surface.line)),
  ].filter(Boolean);
}

function surfaceTable({ state_slots: slots, kv_tokens: tokens, cached_tokens: cached }) {
  const columns = tokens.map((size, at) => ({
    title: count(size),
    text: (row) => (cached[row][at] === null ? "–" : count(cached[row][at])),
    number: true,
  }));
  return table(
    "Prompt tokens reused; rows are state slots, columns KV tokens",
    [{ title: "slots", text: (row) => count(slots[row]) }, ...columns],
    slots.map((_, at) => at),
  );
}

function comparedTable({ best, default: standing, current }) {
  const rows = [
    { ...best, name: "best", regret_fraction: 0 },
    { ...standing, name: "default" },
    ...(current ? [{ ...current, name: "current" }] : []),
  ];
  return table(
    "Best, default and current split",
    [
      { title: "split", text: (row) => row.name },
      figure("state slots", "state_slots"),
      figure("KV tokens", "kv_tokens"),
      figure("recomputed tokens", "recomputed_tokens"),
      figure("against the best", "regret_fraction", signedPercent),
    ],
    rows,
  );
}

function lineTable(points) {
  return table(
    "Splits of the budget",
    [
      figure("state slots", "state_slots"),
      figure("KV tokens", "kv_tokens"),
      figure("recomputed tokens", "recomputed_tokens"),
      figure("running at most", "running_requests_cap"),
      figure("bytes in states", "state_bytes_fraction", percent),
    ],
    points,
  );
}

function confirmed(rows) {
  return table(
    "Replay and scheduler",
    [
      { title: "split", text: (row) => words(row.role) },
      figure("state slots", "state_slots"),
      figure("KV tokens", "kv_tokens"),
      figure("recomputed by replay", "ordered_recomputed_tokens"),
      { title: "by the scheduler", text: (row) => row.reason ?? count(row.scheduler_recomputed_tokens), number: true },
    ],
    rows,
  );
}

function certainty({ worst_error: worst, replays, held_by_running: held }) {
  return facts([
    ["replays", count(replays)],
    [
      "worst error found",
      worst &&
        `${signedPercent(worst.error_fraction)} of prompt tokens, at ${count(worst.state_slots)} slots and ${count(worst.kv_tokens)} tokens`,
    ],
    ["running at once", `mean ${count(held.running_mean)}, p95 ${count(held.running_p95)}`],
    ["held by them", `${count(held.slots_mean)} slots, ${count(held.tokens_mean)} tokens`],
  ]);
}
