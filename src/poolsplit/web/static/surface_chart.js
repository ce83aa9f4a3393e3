/** The heat map of a surface, with the budget line, the splits that matter on it, and its scale of colours. */

import { axis } from "./charts.js";
import { element } from "./dom.js";
import { count, percent, short } from "./format.js";

const DECADES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
const TICKS = DECADES.flatMap((decade) => [decade, 2 * decade, 5 * decade]);
const FEWER_TICKS = DECADES.flatMap((decade) => [decade, 3 * decade]);
const NARROW = 480;

/**
 * @param {any} surface
 * @param {import("./charts.js").Colours} colours
 * @param {number} width
 */
export function surfaceDrawing(surface, colours, width) {
  const { line, best, default: standing, current } = surface;
  return {
    data: [
      heat(surface),
      budgetLine(line ?? [], { color: colours.surface, width: 5 }, { showlegend: false }),
      budgetLine(line ?? [], { color: colours.ink, width: 2, dash: "dot" }),
      spot("best", best, "star", best && `best: ${percent(best.cached_fraction)} reused`, colours),
      spot("default", standing, "circle", "default ratio", colours),
      ...(current ? [spot("current", current, "diamond", "current split", colours)] : []),
    ],
    layout: {
      height: 440,
      hovermode: "closest",
      xaxis: sizes(colours, "KV tokens", width < NARROW ? FEWER_TICKS : TICKS),
      yaxis: sizes(colours, "state slots", TICKS),
    },
  };
}

const sizes = (colours, title, ticks) =>
  axis(colours, title, { type: "log", showgrid: false, tickvals: ticks, ticktext: ticks.map(short) });

function heat({ state_slots: slots, kv_tokens: tokens, cached_tokens: cached, method }) {
  return {
    type: "heatmap",
    x: tokens,
    y: slots,
    z: cached,
    customdata: method,
    colorscale: "Cividis",
    showscale: false,
    hovertemplate: "%{y:,} state slots, %{x:,} KV tokens<br>%{z:,} prompt tokens reused (%{customdata})<extra></extra>",
  };
}

function budgetLine(points, line, more = {}) {
  return {
    name: "budget",
    x: points.map((point) => point.kv_tokens),
    y: points.map((point) => point.state_slots),
    mode: "lines",
    line,
    hoverinfo: "skip",
    ...more,
  };
}

function spot(name, split, symbol, text, colours) {
  return {
    name,
    x: split ? [split.kv_tokens] : [],
    y: split ? [split.state_slots] : [],
    mode: "markers",
    marker: { symbol, size: 14, color: colours.surface, line: { color: colours.ink, width: 2 } },
    hovertemplate: `${text ?? name}<br>%{y:,} slots, %{x:,} tokens<extra></extra>`,
  };
}

/**
 * What the colours mean: plotly's own scale sets style attributes, which the content policy refuses.
 * @param {any} surface
 */
export function colourScale({ cached_tokens: cached }) {
  const known = cached.flat().filter((tokens) => tokens !== null);
  if (!known.length) return null;
  return element(
    "p",
    { class: "scale small" },
    `${count(Math.min(...known))} tokens`,
    element("i", { "aria-hidden": "true" }),
    `${count(Math.max(...known))} tokens reused`,
  );
}
