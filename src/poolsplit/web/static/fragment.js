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
  const query = values.toString();
  const address = `#${page}${query ? `?${query}` : ""}`;
  document.querySelector(`nav a[data-page="${page}"]`)?.setAttribute("href", address);
  if (address === location.hash) return;
  history[asStep ? "pushState" : "replaceState"](null, "", address);
}
