/** Findings: what stops more requests, and what to change. */

import { element, onDemand } from "./dom.js";
import { signed, words } from "./format.js";

const SEVERITY = { error: "error", warning: "warning", info: "note" };

/**
 * @param {any[]} findings
 * @param {string} none what is said where there are none
 */
export function findingList(findings, none) {
  if (!findings.length) return element("p", { class: "muted" }, none);
  return element("ul", { class: "findings" }, findings.map(finding));
}

function finding({ id, severity, text, flags, price, evidence }) {
  return element(
    "li",
    { class: `finding ${severity}` },
    element("p", {}, element("b", { class: "tag" }, SEVERITY[severity] ?? severity), ` ${text}`),
    flags.length > 0 &&
      element(
        "p",
        { class: "flags" },
        "set ",
        flags.map((flag) => element("code", {}, flag)),
      ),
    price && element("p", { class: "small" }, priceText(price)),
    evidence.length > 0 &&
      onDemand(`Evidence for ${words(id)}`, () => evidence.map((line) => element("pre", { tabindex: "0" }, line))),
  );
}

function priceText({ delta_requests: requests, delta_kv_tokens: tokens, source }) {
  const parts = [requests !== null && `${signed(requests)} requests`, tokens !== null && `${signed(tokens)} KV tokens`];
  return `${parts.filter(Boolean).join(", ")} (${source})`;
}
