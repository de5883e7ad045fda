// Small things that every view uses: the state of a task, empty and loading views, refusals.
import { html, useEffect, useState } from "../html.js";
import { Link, taskPath } from "../router.js";

/** The sign of each state, as the command line has it, and the class of its colour. @type {Record<string, [string, string]>} */
const SIGNS = {
  proposed: ["?", "you"],
  rejected: ["✗", "muted"],
  active: ["○", "run"],
  paused: ["‖", "wait"],
  done: ["✓", "good"],
  pending: ["○", "wait"],
  running: ["●", "run"],
  resumed: ["●", "run"],
  cancelling: ["◐", "wait"],
  held: ["‖", "wait"],
  completed: ["✓", "good"],
  failed: ["✗", "bad"],
  cancelled: ["⊘", "muted"],
  skipped: ["»", "muted"],
};

/** @param {string} state */
export const sign = (state) => SIGNS[state]?.[0] ?? "·";
/** @param {string} state */
export const colour = (state) => SIGNS[state]?.[1] ?? "muted";

export function State({ state, said = "", word = false }) {
  const breathes = state === "running" ? " breathes" : "";
  return html`<span class="state ${colour(state)}">
    <span class="sign${breathes}" aria-hidden="true">${sign(state)}</span>
    ${word ? html` <span>${said || state}</span>` : html`<span class="hidden">${said || state}</span>`}
  </span>`;
}

/** A task by its id. */
export const TaskLink = ({ id, children }) => html`<${Link} class="task-link" to=${taskPath(id)}>${children || id}<//>`;

export function Progress({ percent }) {
  if (percent === null || percent === undefined) return null;
  const whole = Math.max(0, Math.min(100, Math.round(percent)));
  return html`<progress max="100" value=${whole} aria-label="progress">${whole}%</progress>`;
}

/** What could not be done, in the server's words; it takes the focus. */
export function Refused({ error, onRetry = null }) {
  if (!error) return null;
  return html`<div class="refused" role="alert">
    <span>${error.message}</span>
    ${onRetry && html` <button type="button" class="plain" onClick=${onRetry}>Try again</button>`}
  </div>`;
}

/** The frame of a list that is being read: grey bars, after a moment. */
export function Loading({ rows = 4 }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="loading" role="status">
    <span class="hidden">Loading</span>
    ${shown && Array.from({ length: rows }, (_, at) => html`<div key=${at} class="bone"></div>`)}
  </div>`;
}

/** Show an answer: its frame first, then its content, or why there is none. */
export function Asked({ asked, rows = 4, children }) {
  if (asked.data) return html`<${Refused} error=${asked.error} onRetry=${asked.reload} />${children(asked.data)}`;
  if (asked.error) return html`<${Refused} error=${asked.error} onRetry=${asked.reload} />`;
  return html`<${Loading} rows=${rows} />`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** @param {number} count @param {string} word */
export const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
