/** What a form says: as text for the address, as a request for the server. */

const THOUSANDS = /^\d{1,3}(,\d{3})+(\.\d+)?$/;

/**
 * Every control that counts: named, and not in a part that another choice hides.
 * @param {HTMLFormElement} form
 * @returns {any[]}
 */
function controls(form) {
  return /** @type {any[]} */ ([...form.elements]).filter(
    (control) => control.name && !control.closest("[data-shown-if][hidden]"),
  );
}

const standing = (control) => {
  if (control.type === "checkbox") return control.checked ? "1" : "";
  return control.type === "radio" && !control.checked ? null : control.value.trim();
};

const given = (control) => {
  if (control.type === "checkbox") return control.defaultChecked ? "1" : "";
  if (control.type === "radio") return control.defaultChecked ? control.value : "";
  if (control.tagName === "SELECT")
    return ([...control.options].find((o) => o.defaultSelected) ?? control[0])?.value ?? "";
  return control.defaultValue;
};

/**
 * Values that are not those the page opens with.
 * @param {HTMLFormElement} form
 */
export function changedValues(form) {
  const values = new URLSearchParams();
  for (const control of controls(form)) {
    const value = standing(control);
    if (value !== null && value !== given(control)) values.set(control.name, value);
  }
  return values;
}

/**
 * Puts values from an address into a form; what the address leaves out is as the page opens.
 * @param {HTMLFormElement} form
 * @param {URLSearchParams} values
 */
export function fillForm(form, values) {
  form.reset();
  for (const control of /** @type {any[]} */ ([...form.elements])) {
    const value = control.name ? values.get(control.name) : null;
    if (value === null) continue;
    if (control.type === "checkbox") control.checked = value !== "";
    else if (control.type === "radio") control.checked ||= control.value === value;
    else write(control, value);
    if (standing(control) !== given(control)) control.closest("details")?.setAttribute("open", "");
  }
  showChosen(form);
}

/** Writes a value; one that a select does not offer joins it, for the server to refuse. */
function write(control, value) {
  const isOffered = control.tagName !== "SELECT" || [...control.options].some((option) => option.value === value);
  if (!isOffered) control.add(new Option(value, value));
  control.value = value;
}

/**
 * What a form asks, by the server's names: `data-group` puts a value into an object of its own.
 * @param {HTMLFormElement} form
 * @returns {Record<string, any>}
 */
export function requestOf(form) {
  const request = {};
  for (const control of controls(form)) {
    const value = standing(control);
    if (!value || control.type === "radio") continue;
    const { group, kind } = control.dataset;
    const place = group ? (request[group] ??= {}) : request;
    place[control.name] = typed(value, kind);
  }
  return request;
}

/** Text as the server wants it; what is no number goes as it stands, for the server to refuse. */
function typed(value, kind) {
  if (kind === "flag") return true;
  if (kind !== "number") return value;
  const number = Number(THOUSANDS.test(value) ? value.replaceAll(",", "") : value);
  return Number.isFinite(number) ? number : value;
}

/**
 * Shows the parts of a form that its choices call for.
 * @param {HTMLFormElement} form
 */
export function showChosen(form) {
  for (const part of /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-shown-if]")])) {
    const named = form.elements.namedItem(part.dataset.shownIf ?? "");
    const control = /** @type {any} */ (named);
    const value = control.type === "checkbox" ? standing(control) : control.value;
    part.hidden = value !== part.dataset.is;
  }
}

/**
 * Fills a select with choices.
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {[value: string, label: string][]} choices
 * @param {string} [chosen]
 */
export function offer(form, name, choices, chosen = choices[0]?.[0]) {
  const select = /** @type {HTMLSelectElement} */ (form.elements.namedItem(name));
  select.replaceChildren(
    ...choices.map(([value, label]) => new Option(label, value, value === chosen, value === chosen)),
  );
}
