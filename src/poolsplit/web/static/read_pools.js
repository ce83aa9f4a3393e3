/** Pools of a log to scale, from the sizes that it prints. */

import { element } from "./dom.js";
import { gib } from "./format.js";

/** @type {[string, string, string[]][]} */
const PIECES = [
  ["state", "State", ["conv_state_gib", "ssm_state_gib"]],
  ["scratch", "Verify scratch", ["intermediate_conv_gib", "intermediate_ssm_gib"]],
  ["kv", "KV", ["k_gib", "v_gib", "kv_gib"]],
];
const MOST_RANKS = 8;

/**
 * A bar for each rank, as wide as what was printed; ranks that print the same sizes share one.
 * @param {any[]} ranks
 * @returns {HTMLElement[]}
 */
export function sizedPools(ranks) {
  const alike = new Map();
  for (const rank of ranks) {
    const pieces = piecesOf(rank);
    if (!pieces.length) continue;
    const key = JSON.stringify(pieces);
    alike.set(key, [...(alike.get(key) ?? []), rank.label]);
  }
  return [...alike].slice(0, MOST_RANKS).map(([key, labels]) => rankBar(labels, JSON.parse(key)));
}

function piecesOf(rank) {
  return PIECES.flatMap(([kind, label, names]) =>
    names
      .filter((name) => rank[name] > 0)
      .map((name) => ({ kind, label: `${label} (${partOf(name)})`, size: rank[name] })),
  );
}

const partOf = (name) =>
  name.replace("intermediate_", "").replace("_state", "").replace("_gib", "").replace("kv", "both").toUpperCase();

function rankBar(labels, pieces) {
  const where = labels.includes("-") ? "Every rank" : `Ranks ${labels.join(", ")}`;
  const spoken = pieces.map((piece) => `${piece.label} ${gib(piece.size)}`).join(", ");
  const bar = element("div", { class: "bar", role: "img", "aria-label": `${where}: ${spoken}` });
  for (const { kind, size } of pieces) {
    const piece = element("span", { class: `pool ${kind}` });
    piece.style.flexGrow = String(size);
    bar.append(piece);
  }
  const sizes = pieces.map(({ kind, label, size }) =>
    element("span", {}, element("i", { class: `swatch ${kind}` }), `${label} `, element("b", {}, gib(size))),
  );
  return element(
    "div",
    { class: "rank" },
    element("p", { class: "small" }, where),
    bar,
    element("p", { class: "sizes small" }, sizes),
  );
}
