/** The Read page: logs in, the report out. */

import { byId } from "./dom.js";
import { filePlace } from "./files.js";
import { changedValues, fillForm, offer, requestOf } from "./forms.js";
import { setFragment } from "./fragment.js";
import { JobPanel } from "./job_panel.js";
import { nothingYet } from "./messages.js";
import { readView } from "./read_view.js";

const form = /** @type {HTMLFormElement} */ (byId("form-read"));
let panel;
let place;

/** @param {any} choices */
export function openRead(choices) {
  offer(form, "gpu", [["", "Found from the log"], ...choices.cards.map((card) => [card.id, card.name])]);
  panel = new JobPanel(byId("read-results"));
  place = filePlace(/** @type {HTMLElement} */ (form.querySelector(".drop")), {
    label: "Drop logs here, or choose them",
    hint: "Start-up and run-time lines, gzip too; several ranks may stand in several files",
    changed: read,
  });
  form.addEventListener("change", () => setFragment("read", changedValues(form)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    read();
  });
}

/** @param {URLSearchParams} values */
export function showRead(values) {
  fillForm(form, values);
  if (!place.files().length) panel.answer.replaceChildren(nothingYet(emptyText(values)));
}

const emptyText = (values) =>
  values.size
    ? "This link keeps the choices, not the log: drop the file again."
    : "The report shows what stopped more requests first, then every start and both pools. A log stays on this machine.";

function read() {
  if (!place.files().length) {
    panel.refuse({ error: "there is no log yet", hint: "drop one, or choose it with the button" });
    return;
  }
  panel.run({
    kind: "read",
    prepare: async (report, signal) => ({ ...requestOf(form), files: await place.send(report, signal) }),
    view: readView,
  });
}
