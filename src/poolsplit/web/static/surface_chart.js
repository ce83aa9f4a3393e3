/** The heat map of a surface, with the budget line and the splits that matter on it. */

import { axis } from "./charts.js";
import { percent } from "./format.js";

/**
 * @param {any} surface
 * @param {import("./charts.js").Colours} colours
 */
export function surfaceDrawing(surface, colours) {
  const { state_slots: slots, kv_tokens: tokens, cached_tokens: cached, line = [], best, default: standing } = surface;
  return {
    data: [
      heat(tokens, slots, cached, colours),
      budgetLine(line ?? [], colours),
      spot("best", best, "star", best && `best: ${percent(best.cached_fraction)} reused`, colours),
      spot("default", standing, "circle", "default ratio", colours),
    ],
    layout: {
      height: 440,
      hovermode: "closest",
      xaxis: axis(colours, "KV tokens", { type: "log", showgrid: false, range: reach(tokens) }),
      yaxis: axis(colours, "state slots", { type: "log", showgrid: false, range: reach(slots) }),
    },
  };
}

/** First and last size, as a logarithmic axis wants them. */
const reach = (sizes) => [Math.log10(sizes[0]), Math.log10(sizes.at(-1))];

function heat(x, y, z, colours) {
  return {
    type: "heatmap",
    x,
    y,
    z,
    colorscale: "Cividis",
    colorbar: { title: { text: "tokens reused", side: "right", font: { color: colours.muted } }, thickness: 12, outlinewidth: 0, tickfont: { color: colours.muted } },
    hovertemplate: "%{y:,} state slots, %{x:,} KV tokens<br>%{z:,} prompt tokens reused<extra></extra>",
  };
}

function budgetLine(points, colours) {
  return {
    name: "budget",
    x: points.map((point) => point.kv_tokens),
    y: points.map((point) => point.state_slots),
    mode: "lines",
    line: { color: colours.surface, width: 3 },
    hoverinfo: "skip",
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
