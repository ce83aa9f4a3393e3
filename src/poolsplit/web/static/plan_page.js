/** The Plan page: its form, its address and the answer beside it. */

import { followCardCount, showCardCount } from "./card_count.js";
import { byId } from "./dom.js";
import { changedValues, fillForm, offer, showChosen } from "./forms.js";
import { setFragment } from "./fragment.js";
import { announce, clearRefusal, nothingYet, showRefusal } from "./messages.js";
import { planView } from "./plan_view.js";
import { asRefusal, ask } from "./server.js";
import { planRequest } from "./taken_plan.js";

const STOPS = [
  1024, 2048, 3072, 4096, 6144, 8192, 9216, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072, 262144,
];

const form = /** @type {HTMLFormElement} */ (byId("form-plan"));
const results = byId("plan-results");
const slider = /** @type {HTMLInputElement} */ (byId("length-slider"));
const cardCount = /** @type {HTMLSelectElement} */ (byId("card-count"));
const flags = /** @type {HTMLInputElement} */ (form.elements.namedItem("flags"));
const context = /** @type {HTMLInputElement} */ (form.elements.namedItem("context"));
/** @type {AbortController | null} */
let asked = null;
let soon = 0;

/**
 * @param {any} choices what `/api/choices` says
 */
export function openPlan(choices) {
  const cards = choices.cards.map((card) => [card.id, card.name]);
  offer(form, "gpu", [...cards, ["", "Another card"]], "h200");
  offer(
    form,
    "gpu_arch",
    choices.card_architectures.map((name) => [name, name]),
  );
  const releases = choices.versions.map((version) => [version, version]);
  offer(form, "engine_version", [
    ["", choices.engine.version],
    ...releases.filter(([name]) => name !== choices.engine.version),
  ]);
  offer(form, "compare_version", [["", "none"], ...releases]);
  byId("models").replaceChildren(...choices.models.map((model) => new Option(model.id)));
  followCardCount(cardCount, flags);
  slider.max = String(STOPS.length - 1);
  slider.addEventListener("input", slideLength);
  slider.addEventListener("change", () => plan());
  form.addEventListener("change", (event) => {
    showChosen(form);
    if (event.target !== slider) soon = setTimeout(() => plan({ asStep: true }));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    plan({ asStep: true, focus: true });
  });
  results.replaceChildren(nothingYet("Planning…"));
}

/**
 * Shows the state that an address names.
 * @param {URLSearchParams} values
 */
export function showPlan(values) {
  fillForm(form, values);
  showCardCount(cardCount, flags);
  placeSlider();
  return plan();
}

/** Follows the slider; levers are priced, and the address is written, when it rests. */
function slideLength() {
  context.value = String(STOPS[Number(slider.value)]);
  placeSlider();
  plan({ levers: false });
}

function placeSlider(tokens = Number(context.value)) {
  const at = STOPS.findIndex((stop) => stop >= tokens);
  slider.value = String(at < 0 ? STOPS.length - 1 : at);
  slider.setAttribute("aria-valuetext", `${context.value} tokens`);
}

async function plan({ asStep = false, focus = false, levers = true } = {}) {
  clearTimeout(soon); // Enter changes a field and submits the form: one question
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  if (levers) setFragment("plan", changedValues(form), { asStep }); // browsers count how often an address is written
  results.setAttribute("aria-busy", "true");
  try {
    const body = levers ? planRequest() : { ...planRequest(), levers };
    const document = await ask("/api/plan", { method: "POST", body, signal });
    clearRefusal(form);
    results.classList.remove("stale");
    results.replaceChildren(...planView(document, { useLever }));
    if (levers) placeSlider(document.workload.mean_tokens); // the field may say `8k`
    announce(`${document.recommended.running_requests} requests at once, ${document.recommended.flags.join(", ")}`);
    if (focus) results.querySelector("h2")?.focus();
  } catch (failure) {
    if (signal.aborted) return;
    showRefusal(form, results, asRefusal(failure));
  }
  results.removeAttribute("aria-busy");
}

/** Takes a lever as the launch line from now on; the browser's Back takes it away again. */
function useLever(lever) {
  const launch = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("launch"));
  /** @type {any} */ (form.elements.namedItem("by")).value = "launch";
  launch.value = lever.launch_command;
  showChosen(form);
  return plan({ asStep: true, focus: true });
}
