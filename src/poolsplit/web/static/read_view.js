/** The report of a log: findings first, then every start, then the run. */

import { answer, element, part } from "./dom.js";
import { anything, bytes, count, gib, percent, plain, words } from "./format.js";
import { derivation } from "./derivation.js";
import { findingList } from "./findings.js";
import { matches, predictions } from "./read_matches.js";
import { sizedPools } from "./read_pools.js";
import { remarks } from "./messages.js";
import { facts, figure, table } from "./tables.js";

const KINDS = {
  hybrid: "hybrid, two pools",
  not_hybrid: "not hybrid, one pool",
  elastic: "elastic pools",
  other_engine: "another engine",
  not_a_boot: "no start of a server",
};

const OTHER_POOLS = ["elastic", "unified", "kv_reduction", "other_engine"];

/**
 * @param {any} report the document of `read`
 * @returns {HTMLElement[]}
 */
export function readView(report) {
  const starts = report.boots.length;
  return [
    headline(report),
    part(
      "What to change",
      findingList(report.findings, "Nothing that this log shows stands in the way."),
      withheld(report),
    ),
    ...report.boots.map((boot, at) => part(starts > 1 ? `Start ${at + 1} of ${starts}` : "The start", ...start(boot))),
    report.runtime && part("The run", run(report.runtime)),
    report.predictions.length > 0 && part("Against the rules of each release", predictions(report.predictions)),
    report.matches.length > 0 && part("Models that these pools fit", matches(report.matches)),
    part(
      "Sources",
      report.missing.length > 0 &&
        element("p", { class: "muted" }, `not in the log: ${report.missing.map(words).join(", ")}`),
      derivation(report.derivation),
    ),
  ].filter(Boolean);
}

function headline(report) {
  const boot = report.boots.at(-1);
  const last = boot
    ? `${boot.engine ?? "engine not told"} ${boot.version ?? "version not told"}, ${KINDS[boot.kind] ?? words(boot.kind)}`
    : "";
  const granted = boot && boot.granted_running_requests;
  const named = boot ? (boot.model ?? "The log of a server") : "No start of a server";
  return answer(
    "Answer",
    granted ? count(granted) : null,
    granted ? "requests granted" : named,
    element("p", { class: "muted" }, [boot?.model, last].filter(Boolean).join(" · ")),
    remarks(report.warnings),
  );
}

const withheld = ({ withheld: texts }) =>
  texts.length > 0 &&
  element(
    "ul",
    { class: "remarks" },
    texts.map((text) => element("li", {}, text)),
  );

function start(boot) {
  const ranks = Object.entries(boot.ranks).map(([label, rank]) => ({ label, ...rank }));
  return [
    facts([
      ["model", boot.model],
      ["requests asked for", boot.requested_running_requests && count(boot.requested_running_requests)],
      ["requests granted", boot.granted_running_requests && count(boot.granted_running_requests)],
      ["slots of a request", boot.slots_per_request && count(boot.slots_per_request)],
      ...OTHER_POOLS.flatMap((kind) => Object.entries(boot[kind] ?? {}).map(otherFact)),
      ["binding", boot.binding && `${words(boot.binding)}${boot.binding_reason ? `, by ${boot.binding_reason}` : ""}`],
    ]),
    ...sizedPools(ranks),
    rankTable(ranks),
    ...boot.errors.map((error) => element("pre", { tabindex: "0", class: error.fatal ? "fatal" : null }, error.text)),
  ].filter(Boolean);
}

/** @returns {[string, string]} */
const otherFact = ([name, value]) => [words(name), anything(value)];

function rankTable(ranks) {
  const columns = [
    figure("state slots", "max_mamba_cache_size"),
    figure("a slot", "state_bytes_per_slot", bytes),
    figure("KV tokens", "kv_tokens"),
    figure("a token", "kv_bytes_per_token", bytes),
    figure("after weights", "avail_after_weights_gib", gib),
    figure("after pools", "pool_end_avail_gib", gib),
    figure("when ready", "available_gpu_mem_gib", gib),
    figure("context", "context_len"),
  ].filter((each) => ranks.some((rank) => each.text(rank) !== "not known"));
  if (!columns.length) return null;
  return table(
    "Ranks as printed",
    [{ title: "rank", text: (rank) => (rank.label === "-" ? "all" : rank.label) }, ...columns],
    ranks,
  );
}

function run(seen) {
  const row = (name, figures, format) => figures && { name, peak: format(figures.peak), mean: format(figures.mean) };
  const rows = [
    row("running requests", seen.running, plain),
    row("queued requests", seen.queue, plain),
    row("state pool used", seen.state_usage_fraction, percent),
    row("KV pool used", seen.kv_usage_fraction, percent),
  ].filter(Boolean);
  return element(
    "div",
    {},
    table(
      `${count(seen.samples)} periodic lines`,
      [
        { title: "figure", text: (line) => line.name },
        { title: "peak", text: (line) => line.peak, number: true },
        { title: "mean", text: (line) => line.mean, number: true },
      ],
      rows,
    ),
    facts([
      ["prompt tokens from cache", seen.cached_token_fraction === null ? null : percent(seen.cached_token_fraction)],
      ["retractions", count(seen.retractions)],
      ["lines with a full state pool", count(seen.state_full_samples)],
      ["lines with a full KV pool", count(seen.kv_full_samples)],
      ["binding", seen.binding && words(seen.binding)],
    ]),
  );
}
