/** The answer of a plan: what to set, what it gives, and why. */

import { answer, commandLine, element, onDemand, part } from "./dom.js";
import { anything, bytes, count, field, plain, words } from "./format.js";
import { derivation } from "./derivation.js";
import { leverList } from "./plan_levers.js";
import { planBeside } from "./plan_beside.js";
import { poolBars } from "./pools.js";
import { ratioCurve } from "./plan_curve.js";
import { splitTable } from "./plan_splits.js";
import { facts, figure, table } from "./tables.js";
import { remarks } from "./messages.js";

const BINDING = {
  state: "the state pool binds",
  kv: "the KV pool binds",
  balanced: "both pools end together",
  request_cap: "the request cap binds",
};
/**
 * @param {any} plan the document of a plan
 * @param {{ useLever?: (lever: any) => void }} [actions] what its buttons do; without, there are none
 * @returns {HTMLElement[]}
 */
export function planView(plan, actions = {}) {
  return [
    headline(plan),
    part(
      "Launch",
      commandLine(plan.launch_command),
      plan.pin_reason && element("p", { class: "small muted" }, plan.pin_reason),
    ),
    element(
      "div",
      { class: "twin" },
      part("Two pools, one rank", pictures(plan)),
      part("Now and recommended", splitTable(plan)),
    ),
    plan.picture && part("Requests against the ratio", ...ratioCurve(plan.picture)),
    part("What else gives requests", leverList(plan.levers, actions)),
    part("Pipeline stages", stages(plan.stages)),
    ...planBeside(plan),
    part("Sources", sources(plan), derivation(plan.derivation)),
  ].filter(Boolean);
}

function headline(plan) {
  const { recommended: best, current } = plan;
  const now = current
    ? `${count(current.running_requests)} with the split as it stands: ${BINDING[current.binding]}`
    : `as it stands it does not start: ${plan.current_reason}`;
  return answer(
    "Answer",
    count(best.running_requests),
    `requests at once${best.total_running_requests === best.running_requests ? "" : " a worker"}`,
    element(
      "p",
      { class: "set" },
      best.flags.length ? ["Set ", best.flags.map((flag) => element("code", {}, flag))] : "Keep the split.",
    ),
    element("p", { class: "muted" }, `${now}. ${plan.model} on ${plan.device}, ${lengths(plan)}.`),
    remarks(plan.warnings, plan.notes),
  );
}

const lengths = ({ workload, mix }) => `${count(workload.mean_tokens)} tokens a request${mix ? " on average" : ""}`;

function pictures(plan) {
  if (!plan.picture) return [stageBars(plan)];
  const { current, recommended } = plan.picture;
  return [current && poolBars("Now", current), recommended && poolBars("Recommended", recommended)].filter(Boolean);
}

const stageBars = (plan) => facts([["for both pools", bytes(plan.rest_bytes)]]);

function stages(rows) {
  return table(
    "One rank of each stage",
    [
      { title: "stage", text: (row) => count(rows.indexOf(row)) },
      figure("layers", "layers"),
      figure("state layers", "state_layers"),
      figure("KV layers", "kv_layers"),
      figure("state pool", "state_bytes", bytes),
      figure("KV pool", "kv_bytes", bytes),
      figure("idle", "idle_bytes", bytes),
      { title: "limits", text: (row) => row.binds.map(words).join(", ") || "–" },
    ],
    rows,
  );
}

function sources(plan) {
  const known = plan.constants;
  return element(
    "div",
    {},
    facts([
      ["a state slot", `${field(known, "state_bytes_per_slot", count)} B`],
      ["a KV token", `${field(known, "kv_bytes_per_token", anything)} B`],
      ["a slot is worth", `${field(known, "token_equiv", plain)} tokens`],
      ["slots of a request", field(known, "slots_per_request", count)],
      ["constants from", known.origin],
      ["for both pools", `${bytes(plan.rest_bytes)} (${plan.rest_origin})`],
      ["closed form", field(plan, "formula_ratio", plain)],
      ["engine", `${plan.engine.name} ${plan.engine.version}`],
    ]),
    onDemand("Where the bytes come from", () => [
      element("p", {}, plan.rest_source),
      element("p", {}, plan.formula_note),
    ]),
  );
}
