// Addresses: every view, filter and tab has one, and Back works.
import { html, useEffect, useState } from "./html.js";

/** @type {Set<() => void>} */
const listeners = new Set();
const changed = () => {
  for (const each of [...listeners]) each();
};
addEventListener("popstate", changed);

/** @param {string} address @param {boolean} [replace] */
export function go(address, replace = false) {
  if (address === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  changed();
  if (!replace) scrollTo(0, 0);
}

/** Change some values of the query of this address; empty ones are removed. @param {Record<string, any>} values @param {boolean} [replace] */
export function setQuery(values, replace = true) {
  const found = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) found.set(name, String(value));
    else found.delete(name);
  }
  const text = found.toString();
  go(location.pathname + (text ? `?${text}` : ""), replace);
}

/** What a part of an address says; one that is not encoded says what it looks like. @param {string} part */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function useAddress() {
  const [, draw] = useState(0);
  useEffect(() => {
    const listener = () => draw((before) => before + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** @param {string} id */
export const taskPath = (id) => `/tasks/${encodeURIComponent(id)}`;

/** A link inside of the page. */
export function Link({ to, children, ...rest }) {
  /** @param {MouseEvent} event */
  const click = (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${click} ...${rest}>${children}</a>`;
}
