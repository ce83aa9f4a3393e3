/** Requests against the ratio: what each pool allows, and where the two lines cross. */

import { axis, chart, moveTrace } from "./charts.js";
import { element, onDemand } from "./dom.js";
import { count, plain } from "./format.js";
import { figure, table } from "./tables.js";

const NAME = "plan-curve";
const PICKED = 5;
const RATIOS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/**
 * The chart, a slider along it and the figures as a table; the reason where there is none.
 * @param {any} picture
 * @returns {HTMLElement[]}
 */
export function ratioCurve(picture) {
  const { curve } = picture;
  if (!curve.length) return [element("p", { class: "muted" }, picture.curve_reason ?? "no ratio is free here")];
  const label = crossing(picture);
  return [
    chart(NAME, `Line chart. ${label}`, (colours) => drawing(picture, colours)),
    element("p", { class: "small muted" }, label),
    ratioSlider(picture),
    onDemand("The curve as a table", () => curveTable(curve)),
  ];
}

function crossing({ balance }) {
  if (!balance) return "The two limits do not cross in this range.";
  return `Both limits cross at ratio ${plain(balance.state_to_kv_ratio)}, at ${count(balance.requests)} requests.`;
}

function ratioSlider({ curve, recommended_point: best }) {
  const said = element("output", { class: "readout", for: "ratio-slider" });
  const slider = /** @type {HTMLInputElement} */ (
    element("input", { type: "range", id: "ratio-slider", min: 0, max: curve.length - 1, step: 1 })
  );
  const show = () => {
    const point = curve[Number(slider.value)];
    const text = `ratio ${plain(point.state_to_kv_ratio)}: ${count(point.running_requests)} requests run`;
    const why = `${count(point.state_requests)} by state, ${count(point.kv_requests)} by KV`;
    const pools = `${count(point.state_slots)} state slots, ${count(point.kv_tokens)} KV tokens`;
    said.replaceChildren(element("b", {}, text), ` · ${why} · ${pools}`);
    slider.setAttribute("aria-valuetext", text);
    moveTrace(NAME, PICKED, { x: [[point.state_to_kv_ratio]], y: [[point.running_requests]] });
  };
  const start = curve.findIndex((point) => best && point.state_to_kv_ratio >= best.state_to_kv_ratio);
  slider.value = String(Math.max(0, start));
  slider.addEventListener("input", show);
  show();
  return element("div", { class: "slide" }, element("label", { for: "ratio-slider" }, "Try a ratio"), slider, said);
}

function drawing({ curve, balance, current_point: now, recommended_point: best }, colours) {
  const x = curve.map((point) => point.state_to_kv_ratio);
  const line = (name, column, colour, more = {}) => ({
    name,
    x,
    y: curve.map((point) => point[column]),
    mode: "lines",
    line: { color: colour, width: 2 },
    ...more,
  });
  const spot = (name, point, symbol, more = {}) => ({
    name,
    x: point ? [point.state_to_kv_ratio] : [],
    y: point ? [point.requests] : [],
    mode: "markers",
    hoverinfo: "skip",
    marker: { symbol, size: 11, color: colours.surface, line: { color: colours.ink, width: 2 } },
    ...more,
  });
  return {
    data: [
      line("state slots allow", "state_requests", colours.state),
      line("KV tokens allow", "kv_requests", colours.kv),
      line("really running", "running_requests", colours.ink, { line: { color: colours.ink, width: 2, dash: "dot" } }),
      spot("now", now, "circle"),
      spot("recommended", best, "diamond"),
      spot("picked", best, "cross-thin", { showlegend: false }),
    ],
    layout: {
      xaxis: axis(colours, "state : KV ratio", { type: "log", tickvals: RATIOS, ticktext: RATIOS.map(String) }),
      yaxis: axis(colours, "requests", { rangemode: "tozero" }),
      shapes: balance ? [balanceLine(balance, colours)] : [],
    },
  };
}

function balanceLine({ state_to_kv_ratio: at }, colours) {
  return {
    type: "line",
    x0: at,
    x1: at,
    y0: 0,
    y1: 1,
    yref: "paper",
    line: { color: colours.muted, width: 1, dash: "dash" },
  };
}

function curveTable(curve) {
  return table(
    "Requests against the ratio",
    [
      figure("ratio", "state_to_kv_ratio", plain),
      figure("state slots", "state_slots"),
      figure("KV tokens", "kv_tokens"),
      figure("by state", "state_requests"),
      figure("by KV", "kv_requests"),
      figure("running", "running_requests"),
    ],
    curve,
  );
}
