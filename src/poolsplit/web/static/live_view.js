/** One look at live servers: both pools of every rank, what is predicted beside what is measured, and findings. */

import { commandLine, element, part } from "./dom.js";
import { anything, count, field, percent, words } from "./format.js";
import { findingList } from "./findings.js";
import { refusalNote, remarks } from "./messages.js";
import { usageBar } from "./pools.js";
import { facts, figure, table } from "./tables.js";

const VERDICT = { true: "as predicted", false: "not as predicted", null: "not judged" };

/**
 * @param {any[]} looks objects of `watch`, the last look's
 * @returns {HTMLElement[]}
 */
export function liveView(looks) {
  return looks.map(oneLook);
}

function oneLook(look) {
  if (look.error) return part(look.server, refusalNote({ error: look.error }));
  if (look.fleet) return part("All replicas", fleet(look.fleet));
  return part(
    [look.server, look.replica].filter(Boolean).join(" · "),
    element(
      "p",
      { class: "muted" },
      [look.model, look.time, look.restarted && "restarted since the last look"].filter(Boolean).join(" · "),
    ),
    facts([
      ["running", count(look.running)],
      ["queued", count(look.queued)],
      ["granted", look.granted && count(look.granted)],
      ["reused in this span", field(look, "cached_fraction", percent)],
      ["retractions", field(look, "retractions", count)],
      ["mean request", look.mean_request_tokens && `${count(look.mean_request_tokens)} tokens`],
      ["stops more", look.binding ? words(look.binding) : look.binding_reason],
    ]),
    ...look.ranks.flatMap(rankBars),
    findingList(look.findings, "Nothing to change at the next restart."),
    look.comparisons.length > 0 && comparisons(look.comparisons),
    look.plan_command && commandLine(look.plan_command, "plan command"),
    remarks(look.warnings),
  );
}

function rankBars(rank) {
  const bar = (name, label, fraction, pool) =>
    fraction !== null && usageBar(name, `${label}, rank ${rank.rank || "all"}`, fraction, usageText(fraction, pool));
  return [
    bar("state", "State slots", rank.state_usage_fraction, rank.state),
    bar("kv", "KV tokens", rank.kv_usage_fraction, rank.kv),
  ].filter(Boolean);
}

function usageText(fraction, pool) {
  if (!pool || pool.capacity === null) return percent(fraction);
  return `${percent(fraction)}, ${count(pool.used)} of ${count(pool.capacity)} used, ${count(pool.evictable)} cached`;
}

function comparisons(rows) {
  return table(
    "Predicted beside measured",
    [
      { title: "figure", text: (row) => words(row.name) },
      figure("predicted", "predicted", anything),
      figure("measured", "measured", anything),
      { title: "verdict", text: (row) => row.reason ?? VERDICT[String(row.ok)] },
    ],
    rows,
  );
}

function fleet(all) {
  return facts([
    ["replicas", count(all.replicas)],
    ["running", count(all.running)],
    ["queued", count(all.queued)],
    ["tightest", all.tightest && `${all.tightest.pool} of ${all.tightest.server}`],
  ]);
}
