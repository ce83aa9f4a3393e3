/** The page's own server: questions, uploads and jobs, as `poolsplit.web` describes them. */

const TOKEN = new URLSearchParams(location.search).get("token");
const GONE = { error: "the server does not answer", hint: "start `poolsplit ui` again and reload this page" };

/** A refusal of the server: an error with its hint. */
export class Refusal extends Error {
  /** @param {{ error?: string, hint?: string }} said */
  constructor({ error = "the server could not answer", hint = "" }) {
    super(error);
    this.error = error;
    this.hint = hint;
  }
}

/**
 * Any failure as a refusal that can be shown.
 * @param {any} failure
 * @returns {Refusal}
 */
export function asRefusal(failure) {
  return failure instanceof Refusal ? failure : new Refusal({ error: String(failure?.message ?? failure) });
}

/**
 * One answer of the server.
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal }} [how]
 * @returns {Promise<any>}
 */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const headers = { ...(TOKEN && { "X-Poolsplit-Token": TOKEN }) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  const answer = await fetch(path, sent).catch((failure) => {
    throw failure.name === "AbortError" ? failure : new Refusal(GONE);
  });
  if (answer.status === 204) return null;
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(said);
  return said;
}

/**
 * Sends a file, and says how far it is.
 * @param {File} file
 * @param {(sent: number, total: number) => void} progress
 * @returns {{ done: Promise<any>, cancel: () => void }}
 */
export function upload(file, progress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.open("POST", `/api/uploads?name=${encodeURIComponent(file.name)}`);
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (TOKEN) request.setRequestHeader("X-Poolsplit-Token", TOKEN);
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onload = () =>
      request.status === 200 ? resolve(request.response) : reject(new Refusal(request.response ?? {}));
    request.onerror = () => reject(new Refusal(GONE));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

/**
 * @typedef {object} JobListeners
 * @property {(progress: { done: number, total: number | null, what: string }) => void} progress
 * @property {(document: any) => void} partial
 * @property {(document: any) => void} result
 * @property {(refusal: Refusal) => void} error
 * @property {() => void} cancelled
 */

/**
 * Starts long work and follows it.
 * @param {string} kind
 * @param {unknown} work its arguments
 * @param {JobListeners} listeners
 * @returns {Promise<{ cancel: () => void }>}
 */
export async function startJob(kind, work, listeners) {
  const { job_id: job } = await ask("/api/jobs", { method: "POST", body: { kind, arguments: work } });
  const path = `/api/jobs/${encodeURIComponent(job)}`;
  const events = new EventSource(`${path}/events${TOKEN ? `?token=${encodeURIComponent(TOKEN)}` : ""}`);
  const ended = (then) => (event) => {
    events.close();
    then(event);
  };
  const said = (event) => JSON.parse(event.data);
  events.addEventListener("progress", (event) => listeners.progress(said(event)));
  events.addEventListener("partial", (event) => listeners.partial(said(event).document));
  events.addEventListener(
    "result",
    ended((event) => listeners.result(said(event).document)),
  );
  events.addEventListener(
    "cancelled",
    ended(() => listeners.cancelled()),
  );
  events.addEventListener(
    "error",
    ended((event) => listeners.error(new Refusal(event.data ? said(event) : GONE))),
  );
  return { cancel: () => void ask(path, { method: "DELETE" }).catch(() => listeners.error(new Refusal(GONE))) };
}
