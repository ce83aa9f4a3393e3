/** Long work on a page: how far it is, a button that stops it, and what became of it. */

import { element } from "./dom.js";
import { count } from "./format.js";
import { announce, refusalNote } from "./messages.js";
import { asRefusal, startJob } from "./server.js";

/**
 * @typedef {object} Work
 * @property {string} kind
 * @property {(report: (done: number, total: number | null, what: string) => void, signal: AbortSignal) => Promise<any>} prepare
 *   gives the job's arguments once its files are sent
 * @property {(document: any, last: boolean) => HTMLElement[]} view
 * @property {string} [said] what is said until there is progress
 */

/** A place that holds one piece of work at a time: a new one takes the place of the last. */
export class JobPanel {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.bar = element("progress", { "aria-label": "progress" });
    this.text = element("span", { class: "small", role: "status" });
    this.button = element("button", { type: "button", onclick: () => this.cancel() }, "Cancel");
    this.row = element("div", { class: "job", hidden: true }, this.bar, this.text, this.button);
    this.answer = element("div", { class: "stack" });
    place.replaceChildren(this.row, this.answer);
    this.stop = () => {};
  }

  /** Ends what is under way. */
  cancel() {
    this.stop();
    this.stop = () => {};
  }

  /**
   * Runs work to its end.
   * @param {Work} work
   * @returns {Promise<any>} the last document; null when it was cancelled or refused
   */
  async run({ kind, prepare, view, said = "starting" }) {
    this.cancel();
    const sending = new AbortController();
    let current = true;
    const ifCurrent =
      (then) =>
      (...said) =>
        current && then(...said);
    const report = ifCurrent((done, total, what) => this.show(done, total, what));
    this.stop = () => {
      current = false;
      sending.abort();
      this.finish("cancelled");
    };
    this.begin(said);
    try {
      const job = await prepare(report, sending.signal);
      if (!current) return null;
      return await this.follow(kind, job, { view, report, ifCurrent });
    } catch (failure) {
      if (current) this.refuse(asRefusal(failure));
      return null;
    }
  }

  follow(kind, job, { view, report, ifCurrent }) {
    return new Promise((resolve, reject) => {
      const show = ifCurrent((document, last) => this.answer.replaceChildren(...view(document, last)));
      const end = (text, document) => {
        this.finish(text);
        resolve(document);
      };
      const listeners = {
        progress: ({ done, total, what }) => report(done, total, what),
        partial: (document) => show(document, false),
        result: (document) => {
          show(document, true);
          end("done", document);
        },
        error: reject,
        cancelled: () => end("cancelled", null),
      };
      startJob(kind, job, listeners).then((running) => {
        this.stop = running.cancel;
      }, reject);
    });
  }

  begin(said) {
    this.row.hidden = false;
    this.bar.removeAttribute("value");
    this.text.textContent = said;
    this.answer.setAttribute("aria-busy", "true");
    this.answer.querySelector(".refusal")?.remove();
  }

  show(done, total, what) {
    if (total) {
      this.bar.setAttribute("max", String(total));
      this.bar.setAttribute("value", String(done));
    } else this.bar.removeAttribute("value");
    const far = total ? `${count(done)} of ${count(total)}` : done && count(done);
    this.text.textContent = far ? `${what}: ${far}` : what;
  }

  finish(text) {
    this.row.hidden = true;
    this.answer.removeAttribute("aria-busy");
    announce(text);
  }

  refuse(refusal) {
    this.finish("");
    this.answer.replaceChildren(refusalNote(refusal));
  }
}
