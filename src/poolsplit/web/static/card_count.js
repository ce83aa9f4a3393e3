/** How many cards: a select that writes the flag for it, and follows the flags as they are typed. */

const FLAG = "--tp";
const WRITTEN = /--tp(?:-size)?[ =](\d+)/;

/**
 * @param {HTMLSelectElement} select
 * @param {HTMLInputElement} flags the field of engine flags
 */
export function followCardCount(select, flags) {
  select.addEventListener("change", () => {
    const said = select.value && `${FLAG} ${select.value}`;
    const kept = flags.value.replace(WRITTEN, said);
    flags.value = (WRITTEN.test(flags.value) ? kept : `${said} ${flags.value}`).trim();
  });
  flags.addEventListener("input", () => showCardCount(select, flags));
}

/**
 * Shows what the flags say.
 * @param {HTMLSelectElement} select
 * @param {HTMLInputElement} flags
 */
export function showCardCount(select, flags) {
  const count = flags.value.match(WRITTEN)?.[1] ?? "1";
  select.value = [...select.options].some((option) => option.value === count) ? count : "";
}
