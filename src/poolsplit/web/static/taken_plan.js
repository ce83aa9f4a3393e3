/** The plan that other pages go by: the one that the Plan page's form asks for, carried along in their addresses. */

import { byId } from "./dom.js";
import { changedValues, fillForm, requestOf } from "./forms.js";
import { leadTo } from "./fragment.js";
import { ask } from "./server.js";

const form = /** @type {HTMLFormElement} */ (byId("form-plan"));

/** What the form asks of `/api/plan` as it stands. */
export const planRequest = () => requestOf(form);

/** The document of that plan. */
export const planDocument = () => ask("/api/plan", { method: "POST", body: planRequest() });

/**
 * Fills the Plan page's form with the plan that another page's address carries.
 * @param {URLSearchParams} values
 */
export function takePlan(values) {
  const words = values.get("plan");
  if (words === null) return;
  const plan = new URLSearchParams(words);
  fillForm(form, plan);
  leadTo("plan", plan);
}

/**
 * Values of a page that goes by the plan, with the plan among them.
 * @param {URLSearchParams} values
 */
export function withPlan(values) {
  const words = changedValues(form).toString();
  if (words) values.set("plan", words);
  return values;
}
