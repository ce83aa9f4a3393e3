/** Charts by plotly in the page's own colours, drawn again when the theme or their width changes. */

import { element } from "./dom.js";

const COLOURS = ["ink", "muted", "line", "surface", "state", "kv"];
const CONFIG = { displayModeBar: false, showTips: false };
const drawn = new Map();
/** @type {Promise<any> | null} */
let loading = null;

/**
 * @typedef {Record<"ink" | "muted" | "line" | "surface" | "state" | "kv", string>} Colours
 */

/**
 * The chart of a name; the same name later is the same chart with other figures.
 * @param {string} name
 * @param {string} label what it shows, for those who do not see it
 * @param {(colours: Colours, width: number) => { data: any[], layout: any }} build
 * @returns {HTMLElement}
 */
export function chart(name, label, build) {
  const held = drawn.get(name) ?? newChart(name);
  held.build = build;
  held.node.setAttribute("aria-label", label);
  queueMicrotask(() => draw(held));
  return held.node;
}

/** Draws every chart again, in the colours of now. */
export function redrawCharts() {
  drawn.forEach(draw);
}

/**
 * Moves one trace of a chart that stands already.
 * @param {string} name
 * @param {number} trace
 * @param {Record<string, any>} change
 */
export function moveTrace(name, trace, change) {
  const node = drawn.get(name)?.node;
  if (node?.data) globalThis.Plotly.restyle(node, change, [trace]);
}

function newChart(name) {
  const held = { node: element("div", { class: "chart", role: "img" }), build: null, width: 0 };
  drawn.set(name, held);
  new ResizeObserver(() => held.node.clientWidth !== held.width && draw(held)).observe(held.node);
  return held;
}

async function draw(held) {
  if (!held.node.isConnected || !held.node.clientWidth) return;
  const width = held.node.clientWidth;
  try {
    const plotly = await bundle();
    if (held.width !== width) plotly.purge(held.node); // a legend keeps the place that the width before gave it
    held.width = width;
    const found = colours();
    const { data, layout } = held.build(found, width);
    await plotly.react(held.node, data, { ...base(width, found), ...layout }, CONFIG);
  } catch (failure) {
    held.node.textContent = `the chart cannot be drawn: ${/** @type {Error} */ (failure).message}`;
  }
}

function bundle() {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  loading ??= new Promise((resolve, reject) => {
    const refuse = () => reject(new Error("the server gives no plotly.min.js"));
    const script = element("script", {
      src: "/plotly.min.js",
      onload: () => resolve(globalThis.Plotly),
      onerror: refuse,
    });
    document.head.append(script);
  });
  return loading;
}

function colours() {
  const probe = document.body.appendChild(element("span", { hidden: true }));
  const found = COLOURS.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found);
}

function base(width, { ink, muted }) {
  return {
    width,
    height: 320,
    margin: { l: 60, r: 16, t: 16, b: 48 },
    font: { family: "system-ui, sans-serif", size: 13, color: ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: muted } },
    hovermode: "x unified",
    dragmode: false,
  };
}

/**
 * One axis in the page's colours.
 * @param {Colours} colours
 * @param {string} title
 * @param {Record<string, any>} [more]
 */
export function axis(colours, title, more = {}) {
  return {
    title: { text: title, font: { color: colours.muted, size: 13 } },
    gridcolor: colours.line,
    linecolor: colours.line,
    zerolinecolor: colours.line,
    tickfont: { color: colours.muted },
    fixedrange: true,
    ...more,
  };
}
