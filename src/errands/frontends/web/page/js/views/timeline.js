// Runs over time, in rows; those that overlap are on tracks. The same as a table is one button away.
import { query } from "../api.js";
import { clock, duration, now, short, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { Asked, colour, Empty, plural, State, sign, TaskLink } from "../parts/state.js";
import { go, setQuery, taskPath, useAddress } from "../router.js";

const WINDOWS = ["15m", "1h", "6h", "24h", "7d"];
const GROUPS = ["lane", "name", "batch"];
const AXIS = 24; // pixels, as are those below
const ROW = 32;
const TRACK = 16; // of a row that has several
const UNITS = /** @type {Record<string, number>} */ ({ s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 });
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
].map((seconds) => seconds * 1000);
const SHORTEST = 10_000;
const LONGEST = 90 * UNITS.d;
const RESTS = 200; // milliseconds without a move before the server is asked for what is shown now

/** A time span in milliseconds, from the address: `15m`, `1h`, or whatever it was zoomed to. @param {string} text */
function spanOf(text) {
  const [, number, unit] = /^(\d+)([smhd])$/.exec(text) ?? ["", "1", "h"];
  return Math.max(SHORTEST, Math.min(LONGEST, Number(number) * UNITS[unit]));
}
/** Times to mark: round ones, about so many. @param {number} from @param {number} to @param {number} count */
function marksOf(from, to, count) {
  const least = (to - from) / count;
  const step =
    STEPS.find((each) => each >= least) ?? STEPS[STEPS.length - 1] * Math.ceil(least / STEPS[STEPS.length - 1]);
  const zone = new Date(from).getTimezoneOffset() * UNITS.m; // days begin at midnight here
  const first = Math.ceil((from - zone) / step) * step + zone;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step);
}
/** @param {number} span @returns {string} */
const spanText = (span) => WINDOWS.find((name) => spanOf(name) === span) ?? `${Math.round(span / 1000)}s`;

/**
 * Zoom and move by wheel, fingers or pointer. What is drawn is only moved; once it rests, `rest` gets the new window.
 * @param {{ from: number, to: number, width: number, rest: (from: number, to: number) => void }} given
 */
function useZoom({ from, to, width, rest }) {
  const picture = useRef(/** @type {SVGSVGElement | null} */ (null));
  const held = useRef({ from, to, width, rest });
  held.current = { from, to, width, rest };
  useEffect(() => {
    const svg = picture.current;
    if (!svg) return undefined;
    let scale = 1;
    let shift = 0;
    let timer = 0;
    let moved = 0;
    /** @type {Map<number, number>} */
    const pointers = new Map();
    const draw = () =>
      svg
        .querySelector(".moves")
        ?.setAttribute("transform", scale === 1 && !shift ? "" : `translate(${shift} 0) scale(${scale} 1)`);
    const settle = () => {
      const { from, to, width, rest } = held.current;
      const pixel = (to - from) / width;
      const begin = from - (shift / scale) * pixel;
      rest(begin, begin + (to - from) / scale);
      scale = 1;
      shift = 0;
    };
    const later = () => {
      clearTimeout(timer);
      timer = window.setTimeout(settle, RESTS);
      draw();
    };
    /** @param {number} by @param {number} x the place that stays */
    const zoom = (by, x) => {
      const span = held.current.to - held.current.from;
      const next = Math.max(span / LONGEST, Math.min(span / SHORTEST, scale * by));
      shift = x - ((x - shift) * next) / scale;
      scale = next;
      later();
    };
    const left = () => svg.getBoundingClientRect().left;
    /** @param {WheelEvent} event */
    const wheel = (event) => {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 200), event.clientX - left());
      else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) {
        shift -= sideways;
        later();
      } else return; // the page scrolls
      event.preventDefault();
    };
    /** @param {PointerEvent} event */
    const down = (event) => {
      if (event.button) return;
      pointers.set(event.pointerId, event.clientX);
      if (pointers.size === 1) moved = 0;
    };
    /** @param {PointerEvent} event */
    const move = (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
      moved += Math.abs(event.clientX - before);
      if (others.length) {
        const [was, is] = [Math.abs(before - others[0]), Math.abs(event.clientX - others[0])];
        if (was > 4 && is > 4) zoom(is / was, (event.clientX + others[0]) / 2 - left());
      } else if (moved > 4) {
        svg.setPointerCapture(event.pointerId);
        shift += event.clientX - before;
        later();
      }
      pointers.set(event.pointerId, event.clientX);
    };
    /** @param {PointerEvent} event */
    const up = (event) => pointers.delete(event.pointerId);
    /** A drag is not a click. @param {MouseEvent} event */
    const click = (event) => {
      if (moved > 4) event.stopPropagation();
    };
    svg.addEventListener("wheel", wheel, { passive: false });
    svg.addEventListener("pointerdown", down);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("click", click, true);
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, /** @type {any} */ (up));
    return () => {
      clearTimeout(timer);
      for (const name of ["pointerup", "pointercancel"]) removeEventListener(name, /** @type {any} */ (up));
    };
  }, []);
  // The new window is drawn where it belongs.
  useLayoutEffect(() => picture.current?.querySelector(".moves")?.setAttribute("transform", ""), [from, to]);
  return picture;
}

function Picture({ data, width, onRest }) {
  const from = new Date(data.since).getTime();
  const to = new Date(data.until).getTime();
  const picture = useZoom({ from, to, width, rest: onRest });
  /** @param {string | number} time */
  const x = (time) => ((new Date(time).getTime() - from) / (to - from)) * width;
  const labels = [...new Set([...data.rows.map((row) => row.label), ...data.coming.map((each) => each.label)])];
  const marks = Math.max(2, Math.min(8, Math.floor(width / 110)));
  const tracks = labels.map((label) =>
    Math.max(1, ...(data.rows.find((row) => row.label === label)?.bars ?? []).map((bar) => bar.track + 1)),
  );
  const heights = tracks.map((count) => (count > 1 ? count * TRACK + 12 : ROW));
  const tops = heights.map((_, index) => AXIS + heights.slice(0, index).reduce((sum, each) => sum + each, 0));
  const height = AXIS + heights.reduce((sum, each) => sum + each, 0);
  /** Open a run; go closer to many, until they cannot be told apart. @param {any} row @param {any} bar */
  const open = (row, bar) => {
    const [begin, end] = [new Date(bar.started_at).getTime(), Math.min(new Date(bar.ended_at).getTime(), now())];
    const span = Math.max(SHORTEST, (end - begin) * 1.2);
    if (bar.count === 1) go(taskPath(bar.task));
    else if (span < (to - from) * 0.8) onRest((begin + end - span) / 2, (begin + end + span) / 2);
    else go(`/tasks${query({ [data.group === "name" ? "text" : data.group]: row.label, since: bar.started_at })}`);
  };
  return html`<div class="lanes-picture"><div class="lane-names" aria-hidden="true"><span class="axis"></span>${labels.map((label, index) => html`<span key=${label} style=${{ height: `${heights[index]}px` }}>${label || "none"}</span>`)}</div>
    <svg ref=${picture} class="zooms" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label="runs over time; the table has the same"><g class="moves">
      ${marksOf(from, to, marks).map(
        (time) =>
          html`<g key=${time}><line class="grid" x1=${x(time)} x2=${x(time)} y1="18" y2=${height} /><text class="mark" x=${x(time) + 3} y="12">${to - from > UNITS.d ? short(new Date(time).toISOString()) : clock(time).slice(0, to - from < 10 * UNITS.m ? 8 : 5)}</text></g>`,
      )}
      ${data.rows.map((row) => {
        const place = labels.indexOf(row.label);
        const high = tracks[place] > 1 ? TRACK - 2 : ROW - 12;
        return html`<g key=${row.label}>${row.bars.map((bar, index) => {
          const y = tops[place] + 4 + (tracks[place] > 1 ? bar.track * TRACK : 0);
          const name = bar.count > 1 ? String(bar.count) : bar.task;
          const left = Math.max(0, x(bar.started_at));
          const wide = Math.max(3, x(Math.min(new Date(bar.ended_at).getTime(), now())) - left);
          return html`<g key=${index} class="bar-group ${colour(bar.state)}" onClick=${() => open(row, bar)}>
            <title>${bar.count > 1 ? plural(bar.count, "run") : bar.task}: ${bar.state}</title>
            <rect x=${left} y=${y} width=${wide} height=${high} rx="3" />
            ${wide > 20 && html`<text x=${left + 5} y=${y + high / 2 + 4}>${sign(bar.state)}${wide > 24 + name.length * 7 ? ` ${name}` : ""}</text>`}</g>`;
        })}</g>`;
      })}
      ${data.coming.map((each, index) => {
        const y =
          tops[labels.indexOf(each.label)] + (tracks[labels.indexOf(each.label)] > 1 ? TRACK / 2 + 3 : ROW / 2 - 2);
        const left = x(each.at);
        return html`<path key=${index} class="coming-mark" d="M${left} ${y - 6}l6 6l-6 6l-6 -6z"><title>${each.task}: ${short(each.at)}</title></path>`;
      })}
      <line class="now-line" x1=${x(now())} x2=${x(now())} y1="16" y2=${height} />
    </g></svg></div>`;
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
  const span = spanOf(address.get("window") || "1h");
  const wanted = spanText(span);
  const fixed = new Date(address.get("until") || "").getTime() || 0; // 0: it follows the time
  const group = GROUPS.includes(address.get("group") || "") ? address.get("group") : "lane";
  // The window moves on in steps, so that the picture stands still between them.
  const until = Math.ceil((now() + span * 0.15) / (span / 60)) * (span / 60);
  useEffect(() => setStep(until), [until]);
  useEffect(() => {
    const measure = () => setWidth(Math.max(200, (frame.current?.clientWidth ?? 600) - (innerWidth < 720 ? 84 : 144)));
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  const end = fixed || step || until;
  /** Show a window; one that has the present near its end follows it. @param {number} from @param {number} to */
  const show = (from, to) => {
    const next = Math.max(SHORTEST, Math.min(LONGEST, to - from));
    const follows = Math.abs(to - (now() + next * 0.15)) < next * 0.1;
    setQuery({ window: spanText(Math.round(next / 1000) * 1000), until: follows ? "" : new Date(to).toISOString() });
  };
  /** @param {number} by */
  const zoom = (by) => {
    // Around the present if it is in view, else around the middle.
    const fix = now() > end - span && now() < end ? now() : end - span / 2;
    show(fix - (fix - end + span) * by, fix + (end - fix) * by);
  };
  /** @param {number} by */
  const move = (by) => show(end - span + span * by, end + span * by);
  useKeys({
    zoom_in: () => zoom(0.5),
    zoom_out: () => zoom(2),
    earlier: () => move(-0.5),
    later: () => move(0.5),
    group: () => setQuery({ group: GROUPS[(GROUPS.indexOf(group || "lane") + 1) % GROUPS.length] }),
  });
  const asked = useAsk(
    `/api/timeline${query({ since: new Date(end - span).toISOString(), until: new Date(end).toISOString(), group, width: Math.min(600, Math.max(10, Math.floor(width / 4))) })}`,
  );
  const [last, setLast] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (asked.data) setLast({ ...asked.data, group });
  }, [asked.data]);
  const data = asked.data ? { ...asked.data, group } : last;
  /** @param {string} label @param {string} text @param {() => void} act */
  const button = (label, text, act) =>
    html`<button type="button" class="plain" aria-label=${label} title=${label} onClick=${act}>${text}</button>`;
  return html`<main tabindex="-1"><h1>Timeline</h1>
    <div class="list-bar wrap"><span class="chips" role="group" aria-label="window">${WINDOWS.map((name) => html`<button key=${name} type="button" class="chip" aria-pressed=${wanted === name} onClick=${() => setQuery({ window: name })}>${name}</button>`)}</span>
      <span class="zoom" role="group" aria-label="zoom">${button("earlier", "‹", () => move(-0.5))}${button("shorter time", "+", () => zoom(0.5))}${button("longer time", "−", () => zoom(2))}${button("later", "›", () => move(0.5))}
        <button type="button" class="plain" disabled=${!fixed} onClick=${() => setQuery({ until: "" })}>now</button></span>
      <span class="chips" role="group" aria-label="rows">${GROUPS.map((name) => html`<button key=${name} type="button" class="chip" aria-pressed=${group === name} onClick=${() => setQuery({ group: name })}>by ${name}</button>`)}</span>
      <span class="grow"></span><button type="button" class="plain" aria-pressed=${asTable} onClick=${() => setTable(!asTable)}>as a table</button></div>
    <p class="muted window" role="status">${short(new Date(end - span).toISOString())} to ${short(new Date(end).toISOString())}${WINDOWS.includes(wanted) ? "" : ` · ${duration(span / 1000)}`}</p>
    <div ref=${frame}><${Asked} asked=${{ ...asked, data }}>${(shown) =>
      asTable
        ? html`<${Table} data=${shown} />`
        : html`${shown.rows.length || shown.coming.length ? html`<${Picture} data=${shown} width=${width} onRest=${show} />` : html`<${Empty}>Nothing ran in this time.${wanted !== "7d" && !fixed && html` <button type="button" class="plain" onClick=${() => setQuery({ window: "7d" })}>Look at the last 7 days</button>`}<//>`}${shown.left_off > 0 && html`<p class="muted">${plural(shown.left_off, "row")} more are left off.</p>`}`}<//></div>
  </main>`;
}
