// One stream of changes for all tabs of a browser: the tab that holds the lock reads it and passes it on.
// Browsers open six connections to a server, so a stream for each tab would stop the seventh.
import { key, onKey, query } from "./api.js";

const SILENT = 25_000; // without a beat for so long, what is shown is not live
const LOCK = "errands.stream";
const EVENT = /^(?:id: (.*)\n)?event: (.*)\ndata: (.*)$/;
const channel = new BroadcastChannel("errands");
const tab = Math.random().toString(36).slice(2);

/** @type {Set<(name: string, facts: any) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const watchers = new Set();

/** What the bar at the top shows; `since` and `retryAt` are times of this browser's clock. */
export const stream = {
  live: false,
  begun: false,
  since: Date.now(),
  retryAt: 0,
  leader: false,
  counts: /** @type {any} */ (null),
  daemon: /** @type {any} */ (null),
  skew: 0,
};
let lastAt = 0;
/** @type {any} */
let lastHello = null;
let lastId = ""; // of the last event: the next stream continues after it

const changed = () => {
  for (const each of watchers) each();
};

/** @param {() => void} watcher */
export function watchStream(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Listen to every event of the stream. @param {(name: string, facts: any) => void} listener */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether an event is not the same as another or a later one. @param {string} id @param {string} other */
function isBefore(id, other) {
  const [[epoch, number], [otherEpoch, otherNumber]] = [id.split("."), other.split(".")];
  return epoch !== otherEpoch || Number(number) < Number(otherNumber);
}

/** @param {string} name @param {any} facts @param {string} id */
function receive(name, facts, id) {
  lastAt = Date.now();
  let kind = name;
  // The stream continues where this tab, like the last reader, already was: nothing has to be read again.
  if (name === "hello" && facts.resumed && !isBefore(lastId, facts.after)) kind = "resumed";
  if (name === "state" && !stream.live) kind = "hello";
  if (id) lastId = id;
  const wasLive = stream.live;
  if (name === "hello" || name === "state") {
    stream.counts = facts.counts;
    stream.daemon = facts.daemon;
    lastHello = facts;
  }
  if (name === "counts") stream.counts = facts;
  if (name === "daemon") stream.daemon = facts;
  if (facts?.now) stream.skew = new Date(facts.now).getTime() - Date.now();
  if (name === "lost") {
    if (stream.live) stream.since = facts.since;
    stream.live = false;
    stream.retryAt = facts.retryAt;
  } else {
    stream.live = true;
    stream.begun = true;
  }
  if (!wasLive || name !== "beat") changed();
  for (const each of [...listeners]) each(kind, facts);
}

/** @param {string} name @param {any} facts @param {string} [id] */
function pass(name, facts, id = "") {
  channel.postMessage({ name, facts, id });
  receive(name, facts, id);
}

channel.onmessage = ({ data }) => {
  if (data.ask) {
    if (stream.leader && stream.live && lastHello) {
      const facts = { ...lastHello, counts: stream.counts, daemon: stream.daemon, now: undefined };
      channel.postMessage({ name: "state", facts, id: lastId, to: data.ask });
    }
  } else if (data.retry) {
    wake();
  } else if (!stream.leader && key() && (!data.to || data.to === tab)) {
    receive(data.name, data.facts, data.id);
  }
};

setInterval(() => {
  if (stream.live && Date.now() - lastAt > SILENT) {
    stream.live = false;
    stream.since = lastAt;
    stream.retryAt = 0;
    changed();
    current?.abort();
  }
}, 1000);

/** @type {AbortController | null} */
let current = null;
let wake = () => {};

/** Let the tab that reads the stream try again at once. */
export function retry() {
  wake();
  channel.postMessage({ retry: true });
}
// A tab in the background may be slow to try again; a reader does not wait for it.
document.addEventListener("visibilitychange", () => !document.hidden && !stream.live && retry());

/** @param {number} milliseconds */
const pause = (milliseconds) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
  });

/** Read the stream until it ends. */
async function read() {
  current = new AbortController();
  const after = lastId;
  const answer = await fetch(`/api/stream${query({ after })}`, {
    headers: { Authorization: `Bearer ${key()}` },
    signal: current.signal,
    cache: "no-store",
    // Before all other requests: the other tabs wait for it.
    priority: "high",
  });
  if (!answer.ok || !answer.body) throw Object.assign(new Error("refused"), { status: answer.status });
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const [, id, name, data] = EVENT.exec(rest.slice(0, end)) ?? [];
      rest = rest.slice(end + 2);
      if (name) pass(name, name === "hello" ? { ...JSON.parse(data), after } : JSON.parse(data), id);
    }
  }
}

/** Read the stream for all tabs, again and again, for as long as this browser is signed in. */
async function lead() {
  stream.leader = true;
  let tries = 0;
  while (key()) {
    const begun = Date.now();
    try {
      await read();
    } catch (error) {
      if (/** @type {any} */ (error).status === 401) break;
    }
    if (!key()) break;
    tries = Date.now() - begun > 5000 ? 0 : Math.min(tries + 1, 5);
    const wait = 2 ** tries * 250 + Math.random() * 250;
    pass("lost", { since: lastAt || begun, retryAt: Date.now() + wait });
    await pause(wait);
  }
  stream.leader = false;
}

/** Take part in the stream; called once. */
export function start() {
  const enter = () => {
    if (!key()) {
      current?.abort();
      stream.begun = false;
      return;
    }
    channel.postMessage({ ask: tab });
    navigator.locks.request(LOCK, { ifAvailable: false }, lead);
  };
  let entered = "";
  onKey(() => {
    if (key() !== entered) {
      entered = key();
      enter();
    }
  });
  entered = key();
  enter();
}
