/** Files that are dropped or chosen, and sent to the server when they are needed. */

import { element } from "./dom.js";
import { bytes } from "./format.js";
import { Refusal, upload } from "./server.js";

/**
 * @typedef {object} FilePlace
 * @property {() => File[]} files what was chosen
 * @property {() => void} clear
 * @property {(progress: (done: number, total: number, what: string) => void, signal: AbortSignal) => Promise<{ upload: string }[]>} send
 */

/**
 * Turns an element into a place to drop files on.
 * @param {HTMLElement} place
 * @param {{ label: string, hint: string, changed: () => void }} words
 * @returns {FilePlace}
 */
export function filePlace(place, { label, hint, changed }) {
  /** @type {File[]} */
  let files = [];
  /** @type {Map<File, { upload: string }>} */
  const sent = new Map();
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "file", multiple: true }));
  const said = element("span", { class: "small muted", "aria-live": "polite" }, hint);
  place.replaceChildren(element("label", {}, element("b", {}, label), input, said));

  const choose = (chosen) => {
    files = [...chosen];
    said.textContent = files.length ? files.map((file) => `${file.name}, ${bytes(file.size)}`).join(" · ") : hint;
    if (files.length) changed();
  };
  input.addEventListener("change", () => choose(input.files ?? []));
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    input.value = "";
    choose(event.dataTransfer?.files ?? []);
  });

  return {
    files: () => files,
    clear: () => {
      input.value = "";
      choose([]);
    },
    send: async (progress, signal) => {
      for (const file of files) {
        if (sent.has(file)) continue;
        await assertReadable(file);
        const { done, cancel } = upload(file, (now, total) => progress(now, total, `sending ${file.name}`));
        signal.addEventListener("abort", cancel, { once: true });
        sent.set(file, { upload: (await done).upload_id });
      }
      return files.map((file) => /** @type {{ upload: string }} */ (sent.get(file)));
    },
  };
}

/** A folder looks like a file until it is read; so does a file that has gone since it was chosen. */
async function assertReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    const hint = "drop files, not their folder; choose them again if they have changed";
    throw new Refusal({ error: `\`${file.name}\` cannot be read`, hint });
  }
}
