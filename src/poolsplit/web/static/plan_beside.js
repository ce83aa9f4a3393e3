/** What a plan holds only when it is asked: sessions, spreads, pairs, releases, traces; and memory beside the pools. */

import { commandLine, element, part } from "./dom.js";
import { anything, bytes, count, field, percent, plain, signed, signedPercent, words } from "./format.js";
import { facts, figure, table } from "./tables.js";

/**
 * @param {any} plan
 * @returns {(HTMLElement | null)[]}
 */
export function planBeside(plan) {
  return [
    plan.sessions && part("Kept sessions", sessions(plan.sessions)),
    plan.mix && part("The spread of lengths", mix(plan.mix)),
    plan.pair?.length ? part("Prefill and decode", ...plan.pair.map(role)) : null,
    plan.compared && part(`Against release ${plan.compared.version}`, compared(plan.compared)),
    plan.trace && part("On the trace", trace(plan.trace)),
    plan.headroom.length ? part("Allocated beside the pools", headroom(plan)) : null,
  ];
}

function sessions(kept) {
  const rest = Object.keys(kept).filter(
    (name) => !["fits", "state_slots_needed", "kv_tokens_needed"].includes(name) && !name.endsWith("_reason"),
  );
  return facts([
    ["they fit", kept.fits ? "yes" : "no"],
    ["state slots needed", count(kept.state_slots_needed)],
    ["KV tokens needed", count(kept.kv_tokens_needed)],
    ...rest.map((name) => /** @type {[string, string]} */ ([words(name), words(field(kept, name))])),
  ]);
}

function mix(spread) {
  return element(
    "div",
    {},
    element("p", {}, spread.text),
    facts([
      ["mean", `${count(spread.mean_tokens)} tokens`],
      ["p50, p90, p99", [spread.p50_tokens, spread.p90_tokens, spread.p99_tokens].map(count).join(", ")],
      ["accepted overflow", percent(spread.overflow_fraction)],
      ["a plan for the mean promises", `${count(spread.promised_by_mean)} requests`],
      ["and overflows", percent(spread.overflow_of_mean_plan)],
      ["running on average", plain(spread.expected_running)],
    ]),
    spread.losses.length > 0 &&
      table(
        "Ratios beside the recommended one",
        [
          figure("ratio", "ratio", plain),
          figure("by state", "state_requests"),
          figure("by KV", "kv_requests"),
          figure("running", "running_requests"),
          figure("expected running", "expected_running", plain),
        ],
        spread.losses,
      ),
  );
}

function role(server) {
  const best = server.recommended;
  return element(
    "div",
    {},
    element("h3", {}, `${server.role}, ${plain(server.tokens)} tokens a request`),
    facts([
      ["running requests", count(best.running_requests)],
      ["state slots", field(best, "state_slots", count)],
      ["KV tokens", count(best.kv_tokens)],
      ["binding", words(best.binding)],
    ]),
    commandLine(server.launch_command, `launch command of the ${server.role} server`),
  );
}

function compared(other) {
  const differences = [
    ["state slots", signed(other.delta_slots)],
    ["requests", signed(other.delta_requests)],
    ["KV tokens", signed(other.delta_kv_tokens)],
  ];
  return element(
    "div",
    {},
    element("p", {}, other.text),
    other.refused ? null : facts(/** @type {any} */ (differences)),
  );
}

function trace(found) {
  return element(
    "div",
    {},
    facts([
      ["goal", words(found.goal)],
      ["requests", count(found.requests)],
      ["reusable", percent(found.reusable_fraction)],
      ["a GiB of states reuses", `${signed(found.state_tokens_per_gib)} tokens`],
      ["a GiB of KV reuses", `${signed(found.kv_tokens_per_gib)} tokens`],
    ]),
    table(
      "Splits on this trace",
      [
        { title: "split", text: (row) => row.name },
        figure("state slots", "state_slots"),
        figure("KV tokens", "kv_tokens"),
        { title: "recomputed tokens", text: (row) => row.reason ?? count(row.recomputed_tokens), number: true },
        figure("reused", "cached_fraction", percent),
        figure("against recommended", "regret_fraction", signedPercent),
      ],
      found.rivals,
    ),
  );
}

function headroom(plan) {
  return element(
    "div",
    {},
    table(
      "Buffers on one rank",
      [
        { title: "buffer", text: (row) => anything(row.name) },
        figure("size", "bytes", bytes),
        figure("reserved", "reserved_bytes", bytes),
        { title: "note", text: (row) => row.note },
      ],
      plan.headroom,
    ),
    element("p", { class: "small muted" }, `free after the pools: ${field(plan, "free_after_pools_bytes", bytes)}`),
  );
}
