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
    this.text = element("span", { class: "small" });
    this.button = element("button", { type: "button", onclick: () => this.cancel() }, "Cancel");
    this.row = element("div", { class: "job", hidden: true }, this.bar, this.text, this.button);
    this.answer = element("div", { class: "stack", tabindex: "-1" });
    place.replaceChildren(this.row, this.answer);
    this.stop = () => {};
    this.heard = "";
  }

  /** Ends what is under way. */
  cancel() {
    this.stop();
  }

  /**
   * Runs work to its end.
   * @param {Work} work
   * @returns {Promise<any>} the last document; null when it was cancelled or refused
   */
  async run({ kind, prepare, view, said = "starting" }) {
    this.cancel();
    const stopping = new AbortController();
    const { signal } = stopping;
    const unlessStopped = (then) => (...words) => signal.aborted || then(...words);
    const report = unlessStopped((done, total, what) => this.show(done, total, what));
    const draw = unlessStopped((document, last) => this.answer.replaceChildren(...view(document, last)));
    this.begin(said);
    this.stop = () => {
      stopping.abort();
      this.finish("cancelled");
    };
    try {
      const work = await prepare(report, signal);
      if (signal.aborted) return null;
      const document = await this.follow(kind, work, { report, draw, signal });
      if (signal.aborted) return null;
      if (document) draw(document, true);
      this.finish(document ? "done" : "cancelled");
      return document;
    } catch (failure) {
      if (!signal.aborted) this.refuse(asRefusal(failure));
      return null;
    }
  }

  /** The last document of a job; null when it was cancelled, here or by the server. */
  follow(kind, work, { report, draw, signal }) {
    return new Promise((resolve, reject) => {
      const listeners = {
        progress: ({ done, total, what }) => report(done, total, what),
        partial: (document) => draw(document, false),
        result: resolve,
        error: reject,
        cancelled: () => resolve(null),
      };
      startJob(kind, work, listeners).then(({ cancel }) => {
        if (signal.aborted) cancel();
        else signal.addEventListener("abort", cancel);
      }, reject);
    });
  }

  begin(said) {
    this.row.hidden = false;
    this.bar.removeAttribute("value");
    this.say(said);
    this.answer.setAttribute("aria-busy", "true");
    this.answer.querySelector(".refusal")?.remove();
  }

  show(done, total, what) {
    if (total) {
      this.bar.setAttribute("max", String(total));
      this.bar.setAttribute("value", String(done));
    } else this.bar.removeAttribute("value");
    const far = total ? `${count(done)} of ${count(total)}` : done && count(done);
    this.say(what, far);
  }

  /** What goes on, and how far it is: who only listens hears the first, once. */
  say(what, far) {
    this.text.textContent = far ? `${what}: ${far}` : what;
    if (what !== this.heard) announce(what);
    this.heard = what;
  }

  finish(text) {
    const held = this.row.contains(document.activeElement);
    this.stop = () => {};
    this.row.hidden = true;
    if (held) this.answer.focus(); // the button under the focus is gone
    this.answer.removeAttribute("aria-busy");
    announce(text);
  }

  refuse(refusal) {
    this.finish("");
    this.answer.replaceChildren(refusalNote(refusal));
  }
}
