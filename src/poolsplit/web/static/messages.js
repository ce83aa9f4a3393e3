/** What is said beside an answer: errors with their hints, warnings, and words for those who only listen. */

import { byId, element, prose } from "./dom.js";

const OPTION = /--([a-z][a-z-]*)/g;
const QUOTED = /`([^`]+)`/g;

/**
 * Says something to screen readers, and nothing on the screen.
 * @param {string} text
 */
export function announce(text) {
  byId("status").textContent = text;
}

/**
 * An error and its hint, as the command line prints them.
 * @param {{ error: string, hint?: string }} refusal
 */
export function refusalNote({ error, hint }) {
  const lines = [element("p", {}, element("b", {}, "error: "), prose(error))];
  if (hint) lines.push(element("p", {}, element("b", {}, "hint: "), prose(hint)));
  return element("div", { class: "refusal", role: "alert" }, lines);
}

/**
 * Shows a refusal beside the field that it is about, or in the place of the answer.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} place
 * @param {any} refusal
 */
export function showRefusal(form, place, refusal) {
  clearRefusal(form);
  const control = culprit(form, refusal);
  const note = refusalNote(refusal);
  if (!control) {
    place.replaceChildren(note);
    return;
  }
  note.id = `refusal-${control.name}`;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", note.id);
  control.closest("details")?.setAttribute("open", "");
  (control.closest(".pair") ?? control.closest(".field")).after(note);
  place.classList.add("stale");
}

/**
 * Takes a refusal back.
 * @param {HTMLFormElement} form
 */
export function clearRefusal(form) {
  form.querySelectorAll(".refusal").forEach((note) => note.remove());
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
}

/** The visible field whose value the error quotes, or whose option it names. */
function culprit(form, { error, hint = "" }) {
  const fields = [...form.elements].filter(
    (field) => field.name && field.closest(".field") && !field.closest("[data-shown-if][hidden]"),
  );
  const quoted = [...error.matchAll(QUOTED)].map(([, text]) => text);
  const options = [...`${error} ${hint}`.matchAll(OPTION)].map(([, name]) => name.replaceAll("-", "_"));
  return (
    fields.find((field) => field.value && quoted.includes(field.value.trim())) ??
    fields.find((field) => field.value && quoted.some((text) => field.value.split(/[\s,=]+/).includes(text))) ??
    fields.find((field) => options.includes(field.name))
  );
}

/**
 * Warnings and notes of an answer.
 * @param {string[]} warnings
 * @param {string[]} [notes]
 */
export function remarks(warnings, notes = []) {
  if (!warnings.length && !notes.length) return null;
  const lines = [
    ...warnings.map((text) => element("li", {}, element("b", {}, "warning: "), prose(text))),
    ...notes.map((text) => element("li", {}, prose(text))),
  ];
  return element("ul", { class: "remarks" }, lines);
}

/**
 * What a page shows before it has an answer.
 * @param {string} text
 */
export function nothingYet(text) {
  return element("p", { class: "empty" }, text);
}
