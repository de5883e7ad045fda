// Requests to the server: the key of this browser, and refusals in the server's own sentence.

const KEY = "errands.key";

/** What the server refused, or that it cannot be reached (`status` 0). */
export class Refusal extends Error {
  /** @param {number} status @param {string} detail @param {string} kind */
  constructor(status, detail, kind) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }
}

/** @type {Set<() => void>} */
const listeners = new Set();

export const key = () => localStorage.getItem(KEY) || "";

/** @param {string} value */
export function setKey(value) {
  if (value) localStorage.setItem(KEY, value);
  else localStorage.removeItem(KEY);
  for (const each of listeners) each();
}

/** Call back when this browser signs in or out, in whichever tab. @param {() => void} listener */
export function onKey(listener) {
  listeners.add(listener);
}
addEventListener("storage", (event) => {
  if (event.key === KEY) for (const each of listeners) each();
});

/** @param {Record<string, any>} values */
export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) found.set(name, String(value));
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

/** @param {string} id */
export const at = (id) => `/api/tasks/${encodeURIComponent(id)}`;

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [signal] */
export async function send(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = {};
  const sent = key();
  if (sent) headers.Authorization = `Bearer ${sent}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, "The server cannot be reached: type `errands web` in a terminal.", "Unreachable");
  }
  if (answer.ok) return answer;
  const facts = await answer.json().catch(() => ({}));
  if (answer.status === 401 && sent === key()) setKey("");
  throw new Refusal(answer.status, facts.detail || answer.statusText, facts.kind || "Refused");
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = async (path, signal) => (await send("GET", path, undefined, signal)).json();
/** @param {string} path @param {any} [body] @returns {Promise<any>} */
export const post = async (path, body = {}) => (await send("POST", path, body)).json();
/** @param {string} path @returns {Promise<any>} */
export const remove = async (path) => (await send("DELETE", path)).json();

/** Save what a request answers as a file: a link could not send the key. @param {string} path @param {string} name */
export async function download(path, name) {
  const blob = await (await send("GET", path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
