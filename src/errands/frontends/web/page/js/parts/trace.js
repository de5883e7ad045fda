// Where the time went: the spans of a task and of all that it started, as bars below each other.

import { at } from "../api.js";
import { exact, now } from "../clock.js";
import { about, useAsk } from "../data.js";
import { html } from "../html.js";
import { Asked, Empty, TaskLink } from "./state.js";

/** @param {any[]} spans */
function depths(spans) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const span of spans) found.set(span.id, (found.get(span.parent) ?? -1) + 1);
  return found;
}

/** @param {{ id: string }} props */
export function Trace({ id }) {
  const asked = useAsk(`${at(id)}/trace`, about(id));
  return html`<${Asked} asked=${asked}>${({ spans }) => {
    if (!spans.length) return html`<${Empty}>Nothing has started yet.<//>`;
    const end = (span) => (span.ended_at ? new Date(span.ended_at).getTime() : now());
    const first = Math.min(...spans.map((span) => new Date(span.started_at).getTime()));
    const last = Math.max(first + 1, ...spans.map(end));
    const depth = depths(spans);
    return html`<ol class="trace">${spans.slice(0, 1000).map((span) => {
      const from = new Date(span.started_at).getTime();
      const left = ((from - first) / (last - first)) * 100;
      const width = Math.max(0.3, ((end(span) - from) / (last - first)) * 100);
      return html`<li key=${span.id}><span class="trace-name" style=${{ paddingLeft: `${(depth.get(span.id) ?? 0) * 12}px` }}>
          ${span.task && span.task !== id ? html`<${TaskLink} id=${span.task}>${span.name}<//>` : span.name}</span>
        <span class="trace-bar" aria-hidden="true"><i class=${span.error ? "bad" : span.ended_at ? "good" : "run"} style=${{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }}></i></span>
        <span class="time">${exact((end(span) - from) / 1000)}</span>
        ${span.error && html`<span class="bad trace-error">${span.error}</span>`}</li>`;
    })}</ol>`;
  }}<//>`;
}
