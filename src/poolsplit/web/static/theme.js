/** Light, dark or as the system has it. */

const KEY = "poolsplit-theme";
const ORDER = ["system", "light", "dark"];
const NEXT = { system: "light", light: "dark", dark: "system" };

/**
 * Lets a button go round the themes.
 * @param {HTMLElement} button
 * @param {() => void} changed called after every change, the system's own included
 */
export function themeButton(button, changed) {
  let theme = remembered();
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    remember(theme);
    show();
    changed();
  });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", changed);
  show();
}

function remembered() {
  try {
    const theme = localStorage.getItem(KEY) ?? "";
    return ORDER.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    /* a page without storage forgets the theme, and nothing else */
  }
}
