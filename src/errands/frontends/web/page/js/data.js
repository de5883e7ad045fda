// What views show: asked of the server, and asked again when the stream says that it changed.
import { get } from "./api.js";
import { useEffect, useRef, useState } from "./html.js";
import { onEvent, stream } from "./stream.js";

const GATHER = 200; // milliseconds between two readings of the same, while it changes

/** What waits until this tab is looked at. @type {Set<() => void>} */
const waiting = new Set();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const act of [...waiting]) act();
  waiting.clear();
});

/** Read something again, once this tab is looked at: twelve tabs must not all read at once. @param {() => void} act */
export function whenVisible(act) {
  if (document.hidden) waiting.add(act);
  else act();
}

/**
 * Ask for something, and again when news of it come; `affects` says which do (default: all changes).
 * What is shown stays until the next answer is there.
 * @param {string | null} path
 * @param {(name: string, facts: any) => boolean} [affects]
 */
export function useAsk(path, affects) {
  const [state, setState] = useState(/** @type {any} */ ({ path: null, data: null, error: null }));
  const again = useRef(/** @type {() => void} */ (() => {}));
  const fits = useRef(affects);
  fits.current = affects;
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    let timer = 0;
    let busy = false;
    let due = false;
    let failed = false;
    const read = async () => {
      if (busy) {
        due = true;
        return;
      }
      busy = true;
      due = false;
      try {
        const data = await get(path, abort.signal);
        failed = false;
        if (!abort.signal.aborted) setState({ path, data, error: null });
      } catch (error) {
        failed = true;
        if (!abort.signal.aborted)
          setState((before) => ({ path, data: before.path === path ? before.data : null, error }));
      }
      if (!abort.signal.aborted) {
        timer = window.setTimeout(() => {
          busy = false;
          if (due) whenVisible(read);
        }, GATHER);
      }
    };
    again.current = read;
    read();
    const stop = onEvent((name, facts) => {
      if (["beat", "lost", "counts", "lanes", "daemon", "output", "state"].includes(name)) return;
      if (name === "resumed") return failed ? whenVisible(read) : undefined;
      if (name === "hello" || name === "again" || !fits.current || fits.current(name, facts)) whenVisible(read);
    });
    return () => {
      abort.abort();
      waiting.delete(read);
      clearTimeout(timer);
      stop();
    };
  }, [path]);
  const isOld = state.path !== path;
  return {
    data: isOld ? null : state.data,
    error: isOld ? null : state.error,
    isLoading: path !== null && (isOld || (!state.data && !state.error)),
    reload: () => again.current(),
  };
}

/** @param {string} id @returns {(name: string, facts: any) => boolean} */
export const about = (id) => (name, facts) =>
  name === "rows" ? facts.rows.some((row) => row.id === id || row.parent === id) : facts.ids?.includes(id);

export const isLive = () => stream.live;
