/** The plan that other pages go by: the one their address names, or the Plan page's. */

import { planRequest } from "./plan_page.js";
import { ask } from "./server.js";

let named = null;

/**
 * Takes the plan request that an address carries.
 * @param {URLSearchParams} values
 */
export function namePlan(values) {
  const text = values.get("plan");
  try {
    named = text ? JSON.parse(text) : null;
  } catch {
    named = null;
  }
}

/** The request as text for an address. */
export const takenPlan = () => JSON.stringify(named ?? planRequest());

/** Lets the Plan page decide again. */
export function forgetPlan() {
  named = null;
}

/** The document of that plan. */
export const planDocument = () => ask("/api/plan", { method: "POST", body: named ?? planRequest() });
