/** A replay: what was reused, what was lost and why, and both pools over time. */

import { axis, chart } from "./charts.js";
import { answer, element, onDemand, part } from "./dom.js";
import { count, field, percent, plain, words } from "./format.js";
import { derivation } from "./derivation.js";
import { remarks } from "./messages.js";
import { facts, figure, table } from "./tables.js";

const LOSSES = [
  ["cached_tokens", "reused"],
  ["recomputed_tokens", "recomputed"],
  ["lost_to_state_tokens", "lost to evicted states"],
  ["lost_to_kv_tokens", "lost to evicted KV"],
  ["lost_to_placement_tokens", "lost to checkpoint placement"],
  ["lost_to_length_tokens", "lost to the length rule"],
];

/**
 * @param {any} replay the document of `replay`, with its timeline
 * @returns {HTMLElement[]}
 */
export function replayView(replay) {
  return [
    headline(replay),
    replay.timeline && part("Both pools over time", ...timeline(replay)),
    element(
      "div",
      { class: "twin" },
      part("Prompt tokens", losses(replay)),
      part("The server", server(replay), derivation(replay.derivation, "How the replay was set up")),
    ),
  ].filter(Boolean);
}

function headline(replay) {
  return answer(
    "Answer of the replay",
    percent(replay.cached_fraction),
    "of prompt tokens reused",
    element("p", { class: "set" }, `Grow ${replay.grow}`),
    element(
      "p",
      { class: "muted" },
      `A KV pool alone would promise ${percent(replay.kv_only_cached_fraction)}. Binding: ${words(replay.binding ?? "neither")}.`,
    ),
    remarks(replay.warnings),
  );
}

function timeline({ timeline: points, running, server: { state_slots: slots, kv_tokens: tokens } }) {
  const timed = points.clock_s.some((second) => second > 0);
  const x = timed ? points.clock_s : points.iteration;
  const line = (name, y, colour) => ({ name, x, y, mode: "lines", line: { color: colour, width: 2 } });
  const label = `Used share of both pools over ${timed ? "seconds" : "steps of the scheduler"}: ${count(slots)} state slots, ${count(tokens)} KV tokens. Used is running or cached.`;
  return [
    chart("replay-timeline", `Line chart. ${label}`, (colours) => ({
      data: [
        line("state slots used", points.state_used_fraction, colours.state),
        line("KV tokens used", points.kv_used_fraction, colours.kv),
        ...(running.max > 1 ? [{ ...line("running requests", points.running, colours.muted), yaxis: "y2" }] : []),
      ],
      layout: {
        xaxis: axis(colours, timed ? "seconds" : "scheduler steps"),
        yaxis: axis(colours, "share of the pool", { range: [0, 1.02], tickformat: ".0%" }),
        yaxis2: axis(colours, "running", {
          overlaying: "y",
          side: "right",
          rangemode: "tozero",
          showgrid: false,
          tickmode: "auto",
        }),
        margin: { l: 60, r: 56, t: 16, b: 48 },
      },
    })),
    element("p", { class: "small muted" }, label),
    onDemand("The timeline as a table", () => timelineTable(points)),
  ];
}

function timelineTable(points) {
  const rows = points.iteration.map((_, at) =>
    Object.fromEntries(Object.entries(points).map(([name, values]) => [name, values[at]])),
  );
  return table(
    "Both pools over time",
    [
      figure("step", "iteration"),
      figure("seconds", "clock_s", plain),
      figure("running", "running"),
      figure("waiting", "waiting"),
      figure("state used", "state_used_fraction", percent),
      figure("KV used", "kv_used_fraction", percent),
    ],
    rows,
  );
}

function losses(replay) {
  const meter = (value) =>
    element("meter", { min: 0, max: replay.input_tokens || 1, value: value ?? 0, "aria-label": "share" });
  return table(
    `${count(replay.input_tokens)} prompt tokens of ${count(replay.requests)} requests`,
    [
      { title: "what became of them", text: ([, label]) => label },
      { title: "tokens", text: ([name]) => count(replay[name]), number: true },
      { title: "share", text: ([name]) => meter(replay[name]) },
    ],
    LOSSES,
  );
}

function server(replay) {
  const { running, server: asked, clock } = replay;
  return facts([
    ["state slots", count(asked.state_slots)],
    ["KV tokens", count(asked.kv_tokens)],
    ["checkpoints", words(asked.strategy)],
    ["order", `${clock.mode}, ${count(clock.sessions)} at a time`],
    ["running", `mean ${plain(running.mean)}, most ${count(running.max)}`],
    ["peaks", `${count(replay.state_peak)} slots, ${count(replay.kv_peak)} KV tokens`],
    ["evicted", `${count(replay.evictions.states)} states, ${count(replay.evictions.kv_tokens)} KV tokens`],
    ["mean wait", field(replay, "queue_wait_s", (value) => `${plain(value)} s`)],
    ["retractions", count(replay.retractions)],
    ["aborted, rejected", `${count(replay.aborted)}, ${count(replay.rejected)}`],
  ]);
}
