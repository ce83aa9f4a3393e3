/** The Traffic page: a trace, what survives of it at one split, and at every split. */

import { byId } from "./dom.js";
import { filePlace } from "./files.js";
import { changedValues, fillForm, offer, requestOf, showChosen } from "./forms.js";
import { count } from "./format.js";
import { setFragment } from "./fragment.js";
import { JobPanel } from "./job_panel.js";
import { nothingYet, showRefusal } from "./messages.js";
import { replayView } from "./replay_view.js";
import { asRefusal } from "./server.js";
import { surfaceView } from "./surface_view.js";
import { planDocument, takePlan, withPlan } from "./taken_plan.js";
import { traceView } from "./trace_view.js";

const form = /** @type {HTMLFormElement} */ (byId("form-traffic"));
const sample = /** @type {HTMLSelectElement} */ (form.elements.namedItem("sample"));
const panels = {};
let samples = [];
let described = "";
let place;

/** @param {any} choices */
export function openTraffic(choices) {
  samples = choices.samples;
  offer(form, "sample", [...choices.samples.map(({ name, title }) => [name, title]), ["", "My own file"]]);
  offer(
    form,
    "mode",
    choices.orders.map((name) => [name, name]),
    "order",
  );
  offer(form, "strategy", [["", "The engine’s default"], ...choices.strategies.map((name) => [name, name])]);
  for (const name of ["trace", "replay", "surface"]) panels[name] = new JobPanel(byId(`${name}-results`));
  place = filePlace(/** @type {HTMLElement} */ (form.querySelector(".drop")), {
    label: "Or drop a trace here, or choose it",
    hint: "Mooncake, Azure, request logs and others; gzip too",
    changed: () => {
      sample.value = "";
      keepAddress();
      describe();
    },
  });
  form.addEventListener("change", (event) => {
    showChosen(form);
    if (event.target === sample && sample.value) place.clear();
    keepAddress();
    if (event.target === sample) describe();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    work(/** @type {any} */ (event.submitter)?.value || "replay");
  });
}

/** @param {URLSearchParams} values */
export function showTraffic(values) {
  takePlan(values);
  fillForm(form, values);
  keepAddress();
  describe();
}

function keepAddress() {
  const values = changedValues(form);
  setFragment("traffic", requestOf(form).from_plan ? withPlan(values) : values);
}

const trace = async (report, signal) => (sample.value ? [{ sample: sample.value }] : place.send(report, signal));

/** Tells what the trace holds, once for the same trace. */
async function describe() {
  showPlanTaken();
  byId("sample-made").textContent = samples.find(({ name }) => name === sample.value)?.command ?? "";
  if (!sample.value && !place.files().length) {
    described = "";
    panels.trace.answer.replaceChildren(
      nothingYet("Pick a sample or drop a trace. A link keeps the choices, not the file: drop it again."),
    );
    return;
  }
  const { reading = {} } = requestOf(form);
  const wanted = JSON.stringify([sample.value, place.files().map((file) => [file.name, file.lastModified]), reading]);
  if (wanted === described) return;
  described = wanted;
  const document = await panels.trace.run({
    kind: "trace-info",
    prepare: async (report, signal) => ({ files: await trace(report, signal), reading }),
    view: traceView,
  });
  if (!document && described === wanted) described = "";
}

async function showPlanTaken() {
  const said = byId("plan-taken");
  said.textContent = "";
  if (!requestOf(form).from_plan) return;
  try {
    const { model, device, recommended: split } = await planDocument();
    said.textContent = `${model} on ${device}: ${count(split.state_slots)} state slots, ${count(split.kv_tokens)} KV tokens`;
  } catch (failure) {
    said.textContent = asRefusal(failure).error;
  }
}

async function work(kind) {
  keepAddress();
  if (!sample.value && !place.files().length) {
    showRefusal(form, panels[kind].answer, { error: "there is no trace yet", hint: "pick a sample, or drop a file" });
    return;
  }
  byId(`${kind}-results`).scrollIntoView({ block: "nearest" });
  panels[kind].run({
    kind,
    prepare: async (report, signal) => {
      const asked = requestOf(form);
      const plan = asked.from_plan ? { plan: await planDocument() } : {};
      const files = await trace(report, signal);
      return kind === "replay" ? replayWork(asked, files, plan) : surfaceWork(asked, files, plan);
    },
    view: kind === "replay" ? replayView : surfaceView,
  });
}

/** @param {any} asked @param {any} files @param {any} plan */
const replayWork = ({ reading = {}, split, cache, pace = {} }, files, plan) => ({
  files,
  reading,
  split: { ...split, ...cache, ...plan },
  pace,
});

/** @param {any} asked @param {any} files @param {any} plan */
const surfaceWork = ({ reading = {}, budget, cache = {}, pace: order = {} }, files, plan) => ({
  files,
  reading,
  cache,
  order,
  budget: { ...budget, ...plan },
});
