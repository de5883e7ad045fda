// Runs over time, in rows; the server joins what would overlap. The same as a table is one button away.
import { query } from "../api.js";
import { clock, now, short, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { Asked, colour, Empty, plural, State, sign, TaskLink } from "../parts/state.js";
import { go, setQuery, taskPath, useAddress } from "../router.js";

/** @type {Record<string, number>} minutes */
const WINDOWS = { "15m": 15, "1h": 60, "6h": 360, "24h": 1440, "7d": 10_080 };
const GROUPS = ["lane", "name", "batch"];
const ROW = 32;

function Picture({ data, width }) {
  const from = new Date(data.since).getTime();
  const to = new Date(data.until).getTime();
  /** @param {string | number} time */
  const x = (time) => ((new Date(time).getTime() - from) / (to - from)) * width;
  const labels = [...new Set([...data.rows.map((row) => row.label), ...data.coming.map((each) => each.label)])];
  const marks = Math.max(2, Math.min(8, Math.floor(width / 110)));
  const height = labels.length * ROW + 24;
  return html`<div class="lanes-picture"><div class="lane-names" aria-hidden="true"><span class="axis"></span>${labels.map((label) => html`<span key=${label}>${label || "none"}</span>`)}</div>
    <svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label="runs over time; the table has the same">
      ${Array.from({ length: marks }, (_, index) => {
        const time = from + ((to - from) * index) / marks;
        return html`<g key=${index}><line class="grid" x1=${x(time)} x2=${x(time)} y1="18" y2=${height} /><text class="mark" x=${x(time) + 3} y="12">${to - from > 86_400_000 ? short(new Date(time).toISOString()) : clock(time).slice(0, 5)}</text></g>`;
      })}
      ${data.rows.map((row) => {
        const y = labels.indexOf(row.label) * ROW + 24;
        return html`<g key=${row.label}>${row.bars.map((bar, index) => {
          const left = Math.max(0, x(bar.started_at));
          const wide = Math.max(3, x(Math.min(new Date(bar.ended_at).getTime(), now())) - left);
          return html`<g key=${index} class="bar-group ${colour(bar.state)}" onClick=${() => go(bar.count > 1 ? `/tasks${query({ [data.group === "name" ? "text" : data.group]: row.label })}` : taskPath(bar.task))}>
            <title>${bar.count > 1 ? plural(bar.count, "run") : bar.task}: ${bar.state}</title>
            <rect x=${left} y=${y + 4} width=${wide} height=${ROW - 12} rx="3" />
            ${wide > 22 && html`<text x=${left + 5} y=${y + 18}>${bar.count > 1 ? `${sign(bar.state)} ${bar.count}` : sign(bar.state)}</text>`}</g>`;
        })}</g>`;
      })}
      ${data.coming.map((each, index) => {
        const y = labels.indexOf(each.label) * ROW + 24 + ROW / 2 - 2;
        const left = x(each.at);
        return html`<path key=${index} class="coming-mark" d="M${left} ${y - 6}l6 6l-6 6l-6 -6z"><title>${each.task}: ${short(each.at)}</title></path>`;
      })}
      <line class="now-line" x1=${x(now())} x2=${x(now())} y1="16" y2=${height} />
    </svg></div>`;
}

function Table({ data }) {
  return html`<div class="table-frame" tabindex="0" role="region" aria-label="runs as a table"><table><thead><tr><th scope="col">Row</th><th scope="col">State</th><th scope="col">Task</th><th scope="col">From</th><th scope="col">To</th></tr></thead>
    <tbody>${data.rows.flatMap((row) =>
      row.bars.map(
        (
          bar,
          index,
        ) => html`<tr key=${`${row.label} ${index}`}><td>${row.label || "none"}</td><td><${State} state=${bar.state} word=${true} /></td>
        <td>${bar.count > 1 ? plural(bar.count, "run") : html`<${TaskLink} id=${bar.task} />`}</td><td>${short(bar.started_at)}</td><td>${short(bar.ended_at)}</td></tr>`,
      ),
    )}
    ${data.coming.map((each, index) => html`<tr key=${`c${index}`}><td>${each.label || "none"}</td><td>coming</td><td><${TaskLink} id=${each.task} /></td><td>${short(each.at)}</td><td></td></tr>`)}</tbody></table></div>`;
}

export function Timeline() {
  useTick();
  const { query: address } = useAddress();
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(600);
  const [asTable, setTable] = useState(false);
  const [step, setStep] = useState(0);
  const wanted = address.get("window") || "1h";
  const minutes = WINDOWS[wanted] || 60;
  const group = GROUPS.includes(address.get("group") || "") ? address.get("group") : "lane";
  // The window moves on in steps, so that the picture stands still between them.
  const span = minutes * 60_000;
  const until = Math.ceil((now() + span * 0.15) / (span / 60)) * (span / 60);
  useEffect(() => setStep(until), [until]);
  useEffect(() => {
    const measure = () => setWidth(Math.max(200, (frame.current?.clientWidth ?? 600) - (innerWidth < 720 ? 84 : 144)));
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  const zoom = (by) => {
    const names = Object.keys(WINDOWS);
    setQuery({ window: names[Math.max(0, Math.min(names.length - 1, names.indexOf(wanted) + by))] });
  };
  useKeys({
    zoom_in: () => zoom(-1),
    zoom_out: () => zoom(1),
    group: () => setQuery({ group: GROUPS[(GROUPS.indexOf(group || "lane") + 1) % GROUPS.length] }),
  });
  const end = step || until;
  const asked = useAsk(
    `/api/timeline${query({ since: new Date(end - span).toISOString(), until: new Date(end).toISOString(), group, width: Math.min(600, Math.max(10, Math.floor(width / 4))) })}`,
  );
  const [last, setLast] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (asked.data) setLast({ ...asked.data, group });
  }, [asked.data]);
  const data = asked.data ? { ...asked.data, group } : last;
  return html`<main tabindex="-1"><h1>Timeline</h1>
    <div class="list-bar wrap"><span class="chips" role="group" aria-label="window">${Object.keys(WINDOWS).map((name) => html`<button key=${name} type="button" class="chip" aria-pressed=${wanted === name} onClick=${() => setQuery({ window: name })}>${name}</button>`)}</span>
      <span class="chips" role="group" aria-label="rows">${GROUPS.map((name) => html`<button key=${name} type="button" class="chip" aria-pressed=${group === name} onClick=${() => setQuery({ group: name })}>by ${name}</button>`)}</span>
      <span class="grow"></span><button type="button" class="plain" aria-pressed=${asTable} onClick=${() => setTable(!asTable)}>as a table</button></div>
    <div ref=${frame}><${Asked} asked=${{ ...asked, data }}>${(shown) =>
      shown.rows.length || shown.coming.length
        ? html`${asTable ? html`<${Table} data=${shown} />` : html`<${Picture} data=${shown} width=${width} />`}${shown.left_off > 0 && html`<p class="muted">${plural(shown.left_off, "row")} more are left off.</p>`}`
        : html`<${Empty}>Nothing ran in the last ${wanted}.<//>`}<//></div>
  </main>`;
}
