/** The state of a page in its address: `#plan?model=…&context=9216`. */

/**
 * @returns {{ page: string, values: URLSearchParams }}
 */
export function fragment() {
  const [page, query] = location.hash.slice(1).split("?", 2);
  return { page, values: new URLSearchParams(query ?? "") };
}

/**
 * Writes a page's state into the address, and into the link that leads back to it; the page is not told.
 * @param {string} page
 * @param {URLSearchParams} values
 * @param {{ asStep?: boolean }} [how] `asStep` leaves the state before for the browser's Back
 */
export function setFragment(page, values, { asStep = false } = {}) {
  const own = new URLSearchParams(values);
  own.delete("plan"); // whoever comes back goes by the plan of then
  leadTo(page, own);
  const address = addressOf(page, values);
  if (address === location.hash) return;
  history[asStep ? "pushState" : "replaceState"](null, "", address);
}

/**
 * Lets the link to a page lead to a state of it.
 * @param {string} page
 * @param {URLSearchParams} values
 */
export function leadTo(page, values) {
  document.querySelector(`nav a[data-page="${page}"]`)?.setAttribute("href", addressOf(page, values));
}

function addressOf(page, values) {
  const query = values.toString();
  return `#${page}${query ? `?${query}` : ""}`;
}
