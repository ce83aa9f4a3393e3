/** What else could be changed, each on top of the recommended split. */

import { commandLine, element, onDemand } from "./dom.js";
import { count, signed, words } from "./format.js";
import { facts } from "./tables.js";

const SHOWN = 6;

/**
 * @param {any[]} levers
 * @param {{ useLever?: (lever: any) => void }} actions
 */
export function leverList(levers, actions) {
  if (!levers.length) return element("p", { class: "muted" }, "Levers are not priced here.");
  const offered = levers.filter((lever) => lever.status === "offered");
  const gaining = offered.filter((lever) => lever.delta_requests > 0);
  const others = offered.filter((lever) => !gaining.includes(lever));
  const refused = levers.filter((lever) => lever.status === "refused");
  return element(
    "div",
    { class: "levers" },
    gaining.slice(0, SHOWN).map((lever) => leverCard(lever, actions)),
    gaining.length > SHOWN &&
      onDemand("More that give requests", () => gaining.slice(SHOWN).map((lever) => leverCard(lever, actions))),
    !gaining.length && element("p", { class: "muted" }, "Nothing else gives more requests here."),
    others.length > 0 && onDemand("No more requests", () => others.map((lever) => leverCard(lever, actions))),
    refused.length > 0 &&
      onDemand("Refused by the engine", () =>
        facts(refused.map((lever) => [words(lever.name), lever.reason ?? "refused"])),
      ),
  );
}

/** @param {any} lever @param {{ useLever?: (lever: any) => void }} actions */
function leverCard(lever, { useLever }) {
  const name = words(lever.name);
  return element(
    "article",
    { class: "lever", "aria-label": name },
    element("h3", {}, name),
    element(
      "p",
      { class: "gain" },
      element("b", {}, signed(lever.delta_requests)),
      ` requests, ${signed(lever.delta_kv_tokens)} KV tokens`,
      element("span", { class: "muted" }, ` (${count(lever.total_running_requests)} in all)`),
    ),
    element("p", { class: "small muted" }, lever.risk),
    element(
      "p",
      { class: "flags" },
      lever.flags.map((flag) => element("code", {}, flag)),
    ),
    useLever
      ? lever.launch_command &&
          element("button", { type: "button", onclick: () => useLever(lever), "aria-label": `Try ${name}` }, "Try it")
      : lever.launch_command &&
          onDemand(`Launch with ${name}`, () => commandLine(lever.launch_command, `launch command with ${name}`)),
  );
}
