/** Elements made without markup strings, so that text is always text. */

/**
 * A child, or lists of them; null, undefined and false are left out.
 * @typedef {any} Child
 */

/**
 * An element with attributes and children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on…` are listeners; null, undefined and false are left out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/**
 * Text with its quoted words set as code, as the command line quotes them.
 * @param {string} text
 * @returns {Child[]}
 */
export function prose(text) {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

/**
 * An element of the page by its id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no element #${id}`);
  return node;
}

const opened = new Set();

/**
 * Something made when it is asked for; it stays open when the answer around it is drawn again.
 * @param {string} summary
 * @param {() => Child} make
 */
export function onDemand(summary, make) {
  const node = /** @type {HTMLDetailsElement} */ (
    element("details", { class: "more" }, element("summary", {}, summary))
  );
  node.addEventListener("toggle", () => {
    opened[node.open ? "add" : "delete"](summary);
    if (node.open && node.children.length === 1) node.append(element("div", { class: "inside" }, make()));
  });
  node.open = opened.has(summary);
  return node;
}

/**
 * The answer in one number, and what stands with it.
 * @param {string} name what it answers, for those who do not see it
 * @param {string | null} number
 * @param {string} rest what the number counts
 * @param {...Child} children
 */
export function answer(name, number, rest, ...children) {
  const heading = element("h2", { tabindex: "-1" }, number && element("span", { class: "big" }, number), ` ${rest}`);
  return element("section", { class: "answer", "aria-label": name }, heading, ...children);
}

/**
 * A part of an answer under its own heading; nothing where it holds nothing.
 * @param {string} title
 * @param {...Child} children
 * @returns {any}
 */
export function part(title, ...children) {
  if (!children.flat(Infinity).some(Boolean)) return null;
  return element("section", { class: "part" }, element("h2", {}, title), ...children);
}

/**
 * A command with a button that copies it.
 * @param {string} command
 * @param {string} [what] names the command for those who do not see it
 */
export function commandLine(command, what = "launch command") {
  const said = element("span", { class: "unseen", role: "status" });
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy the ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    const copied = await copyText(command, code);
    button.textContent = copied ? "Copied" : "Selected";
    said.textContent = copied ? "copied" : "selected: copy it with your keyboard";
  });
  const code = element("code", {}, command);
  return element("div", { class: "command" }, code, button, said);
}

async function copyText(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(node);
    return false;
  }
}
