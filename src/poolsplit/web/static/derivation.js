/** How numbers were found. */

import { onDemand } from "./dom.js";
import { anything, words } from "./format.js";
import { figure, table } from "./tables.js";

/**
 * Every step with value, unit and source, on demand.
 * @param {{ name: string, value: unknown, unit: string, source: string }[]} steps
 * @param {string} [title]
 */
export function derivation(steps, title = "How these numbers were found") {
  if (!steps?.length) return null;
  return onDemand(title, () =>
    table(
      "Steps",
      [
        { title: "figure", text: (step) => words(step.name) },
        figure("value", "value", anything),
        { title: "unit", text: (step) => step.unit },
        { title: "source", text: (step) => step.source },
      ],
      steps,
    ),
  );
}
