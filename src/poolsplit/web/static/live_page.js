/** The Live page: servers watched, one look after another. */

import { axis, chart } from "./charts.js";
import { byId, part } from "./dom.js";
import { changedValues, fillForm, requestOf } from "./forms.js";
import { setFragment } from "./fragment.js";
import { JobPanel } from "./job_panel.js";
import { liveView } from "./live_view.js";
import { nothingYet } from "./messages.js";
import { planDocument, takePlan, withPlan } from "./taken_plan.js";

const MOST_LOOKS = 720;
const form = /** @type {HTMLFormElement} */ (byId("form-live"));
let panel;
/** @type {any[]} */
let seen = [];

export function openLive() {
  panel = new JobPanel(byId("live-results"));
  panel.answer.replaceChildren(
    nothingYet("Name a server to see both of its pools, look by look, and what to change at its next restart."),
  );
  form.addEventListener("change", keepAddress);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    watch();
  });
}

/** @param {URLSearchParams} values */
export function showLive(values) {
  takePlan(values);
  fillForm(form, values);
  keepAddress();
}

function keepAddress() {
  const values = changedValues(form);
  setFragment("live", requestOf(form).from_plan ? withPlan(values) : values);
}

function watch() {
  const { targets = "", from_plan: held, ...pace } = requestOf(form);
  const names = targets.split(/\s+/).filter(Boolean);
  if (!names.length) {
    panel.refuse({ error: "there is no server to watch", hint: "give an address, such as `http://host:30000`" });
    return;
  }
  seen = [];
  panel.run({
    kind: "watch",
    said: "watching",
    prepare: async () => ({ targets: names, ...pace, ...(held && { plan: await planDocument() }) }),
    view: ({ looks }) => {
      seen = [...seen, ...looks.filter((look) => look.ranks)].slice(-MOST_LOOKS);
      return [...liveView(looks), history()];
    },
  });
}

function history() {
  const servers = [...new Set(seen.map((look) => look.server))];
  const lines = (colours) =>
    servers.flatMap((server) => {
      const own = seen.filter((look) => look.server === server);
      const line = (name, column, colour) => ({
        name: servers.length > 1 ? `${name}, ${server}` : name,
        x: own.map((look) => look.time),
        y: own.map((look) => look[column]),
        mode: "lines+markers",
        line: { color: colour, width: 2 },
      });
      return [
        line("state slots", "state_usage_fraction", colours.state),
        line("KV tokens", "kv_usage_fraction", colours.kv),
      ];
    });
  const label = "Line chart. Used share of both pools, look by look";
  return part(
    "Both pools, look by look",
    chart("live-history", label, (colours) => ({
      data: lines(colours),
      layout: {
        xaxis: axis(colours, "time (UTC)", { type: "date" }),
        yaxis: axis(colours, "share of the pool", { range: [0, 1.02], tickformat: ".0%" }),
      },
    })),
  );
}
