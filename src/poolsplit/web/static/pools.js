/** Both pools drawn to scale: state slots and KV tokens always in the same two colours. */

import { element } from "./dom.js";

const PARTS = [
  ["state", "State slots"],
  ["kv", "KV tokens"],
  ["idle", "idle"],
];

/**
 * One split: a bar for a rank of each stage, as wide as its bytes.
 * @param {string} title
 * @param {any[]} ranks as the plan's `picture` holds them
 */
export function poolBars(title, ranks) {
  return element(
    "div",
    { class: "pools" },
    element("h3", {}, title),
    ranks.map((rank) => rankBar(rank, ranks.length)),
  );
}

function rankBar(rank, stages) {
  const where = stages > 1 ? `Stage ${rank.stage}, ${rank.layers} layers` : `${rank.layers} layers`;
  const shown = PARTS.filter(([name]) => rank[`${name}_bytes`] > 0);
  const spoken = shown.map(([name, label]) => `${label} ${rank[`${name}_text`]}`).join(", ");
  const bar = element("div", { class: "bar", role: "img", "aria-label": `${where}: ${spoken}` });
  for (const [name] of shown) {
    const piece = element("span", { class: `pool ${name}` });
    piece.style.setProperty("--part", rank[`${name}_fraction`]);
    bar.append(piece);
  }
  return element("div", { class: "rank" }, element("p", { class: "small" }, where), bar, sizes(rank, shown));
}

function sizes(rank, shown) {
  return element(
    "p",
    { class: "sizes small" },
    shown.map(([name, label]) =>
      element(
        "span",
        {},
        element("i", { class: `swatch ${name}` }),
        `${label} `,
        element("b", {}, rank[`${name}_text`]),
      ),
    ),
    element("span", { class: "muted" }, `of ${rank.pools_text}`),
  );
}

/**
 * How full one pool is.
 * @param {"state" | "kv"} name
 * @param {string} label
 * @param {number} fraction
 * @param {string} text
 */
export function usageBar(name, label, fraction, text) {
  const bar = element("div", { class: "bar", role: "img", "aria-label": `${label}: ${text}` });
  const piece = element("span", { class: `pool ${name}` });
  piece.style.setProperty("--part", String(fraction));
  bar.append(piece);
  return element("div", { class: "usage" }, element("p", { class: "small" }, `${label} `, element("b", {}, text)), bar);
}
