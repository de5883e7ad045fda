// The output of a run: read in windows around the reader, followed at its end, searched by the server.
import { at, download, get, query } from "../api.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { onEvent } from "../stream.js";
import { look } from "./ansi.js";
import { Lines } from "./lines.js";
import { Loading, Refused, size } from "./state.js";
import { attempt } from "./toast.js";

const LINE = 20; // pixels
const WINDOW = 65_536; // bytes
const MATCHES = 500; // of one search; more are read when they are looked at
const ERROR = /(error|exception)s?\b|\b(failed|failure|traceback|panic|fatal)\b/i;

/** @param {import("./ansi.js").Row & { gap?: number }} row @param {string} wanted */
function drawn(row, wanted) {
  if (row.gap) return html`<span class="gap">${row.text}</span>`;
  if (wanted && row.text.toLowerCase().includes(wanted)) {
    const pieces = [];
    let place = 0;
    const lowered = row.text.toLowerCase();
    for (let found = lowered.indexOf(wanted); found >= 0; found = lowered.indexOf(wanted, place)) {
      pieces.push(row.text.slice(place, found), html`<mark>${row.text.slice(found, found + wanted.length)}</mark>`);
      place = found + wanted.length;
    }
    return [...pieces, row.text.slice(place)];
  }
  if (!row.spans) return row.text;
  return row.spans.map(([text, style], index) => html`<span key=${index} ...${look(style)}>${text}</span>`);
}

/** @param {{ task: string, run: any }} props */
export function Log({ task, run }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const ruler = useRef(/** @type {HTMLElement | null} */ (null));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [lines] = useState(() => new Lines());
  const [, setDrawn] = useState(0);
  const draw = () => setDrawn((before) => before + 1);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isRead, setRead] = useState(false);
  const [follows, setFollows] = useState(true);
  const [wraps, setWraps] = useState(localStorage.getItem("errands.wrap") !== "no");
  const [top, setTop] = useState(0);
  const [end, setEnd] = useState(0);
  const [isLive, setLive] = useState(false);
  const [wanted, setWanted] = useState("");
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [current, setCurrent] = useState(-1);
  const [only, setOnly] = useState(false); // only the lines that match
  const held = useRef({
    follows: true,
    busy: false,
    again: false,
    finding: false,
    only: false,
    move: /** @type {number | null} */ (null),
  });
  held.current.follows = follows;
  held.current.only = only;
  const path = `${at(task)}/output`;
  const number = run?.number;

  const shownOnly = only && found?.matches.length > 0;
  const matching = useMemo(() => found?.matches.map((each) => ({ text: each.line, spans: null })) ?? [], [found]);
  const rows = shownOnly ? matching : lines.rows;

  const note = (part) => {
    setEnd((before) => Math.max(before, part.end));
    setLive(part.live);
  };
  const columns = () => {
    if (!wraps || !box.current || !ruler.current) return 0;
    const wide = ruler.current.getBoundingClientRect().width / 100;
    return Math.max(20, Math.floor((box.current.clientWidth - 24) / wide));
  };
  const toEnd = async () => {
    held.current.follows = true;
    setFollows(true);
    const part = await get(`${path}/end${query({ run: number, lines: 1000 })}`);
    lines.columns = columns() || lines.columns;
    lines.reset(part);
    note(part);
    held.current.move = Number.MAX_SAFE_INTEGER;
    draw();
  };
  /** Show the output from an offset, which begins a line. @param {number} offset */
  const toOffset = async (offset) => {
    held.current.follows = false;
    setFollows(false);
    const start = Math.max(0, offset - WINDOW / 2);
    const [part, before] = await Promise.all([
      get(`${path}${query({ run: number, offset, limit: WINDOW })}`),
      offset && get(`${path}${query({ run: number, offset: start, limit: offset - start })}`),
    ]);
    lines.reset(part);
    note(part);
    const added = before?.text ? lines.prepend(before) : 0;
    if (!held.current.only) held.current.move = Math.max(0, added - 4) * LINE; // the list may be shown meanwhile
    draw();
  };
  /** Read on at the end of what was read. */
  const readOn = async () => {
    if (held.current.busy) {
      held.current.again = true;
      return;
    }
    held.current.busy = true;
    try {
      do {
        held.current.again = false;
        const part = await get(`${path}${query({ run: number, offset: lines.next, limit: WINDOW })}`);
        note(part);
        lines.append(part);
        if (held.current.follows) {
          held.current.move = Number.MAX_SAFE_INTEGER;
          held.current.again = held.current.again || part.next_offset < part.end;
        }
        draw();
      } while (held.current.again);
    } catch {
      // It is read again with the next news.
    }
    held.current.busy = false;
  };
  const readBack = async () => {
    if (held.current.busy || lines.first <= 0) return;
    held.current.busy = true;
    try {
      const stop = lines.first - lines.missing;
      const start = Math.max(0, stop - WINDOW);
      const part = await get(`${path}${query({ run: number, offset: start, limit: Math.max(1, stop - start) })}`);
      if (part.offset < lines.first && part.text) {
        const added = lines.prepend(part);
        held.current.move = (box.current?.scrollTop ?? 0) + added * LINE;
        draw();
      }
    } catch {
      // The reader scrolls again.
    }
    held.current.busy = false;
  };

  useEffect(() => {
    if (!number) return undefined;
    let gone = false;
    setRead(false);
    setError(null);
    toEnd()
      .then(() => !gone && setRead(true))
      .catch((refusal) => !gone && setError(refusal));
    const stop = onEvent((name, facts) => {
      const isMine = name === "rows" && facts.rows.some((row) => row.id === task);
      if ((isMine || ["hello", "resumed", "again"].includes(name)) && held.current.follows) readOn();
      else if (isMine) get(`${path}/end${query({ run: number, lines: 1 })}`).then(note, () => {});
    });
    return () => {
      gone = true;
      stop();
    };
  }, [task, number]);

  useLayoutEffect(() => {
    const lay = () => {
      lines.lay(columns());
      if (held.current.follows) held.current.move = Number.MAX_SAFE_INTEGER;
      draw();
    };
    lay();
    const watcher = new ResizeObserver(lay);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [wraps, isRead]);

  useLayoutEffect(() => {
    if (held.current.move !== null && box.current) {
      box.current.scrollTop = held.current.move;
      held.current.move = null;
      setTop(box.current.scrollTop);
    }
  });

  const scroll = () => {
    const log = box.current;
    if (!log) return;
    setTop(log.scrollTop);
    if (shownOnly) {
      if (log.scrollTop + log.clientHeight >= log.scrollHeight - 20 * LINE) findMore();
      return;
    }
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - LINE;
    if (isAtEnd !== held.current.follows && (!isAtEnd || lines.next >= end)) {
      held.current.follows = isAtEnd;
      setFollows(isAtEnd);
    }
    if (log.scrollTop < 20 * LINE && lines.first > 0) readBack();
    if (isAtEnd && lines.next < end) readOn();
  };

  /** Search from an offset; on to the end of the output if there is nothing before it. @param {string} text @param {number} offset */
  const find = async (text, offset) => {
    for (;;) {
      const answer = await get(`${path}/find${query({ run: number, text, offset, limit: MATCHES })}`);
      if (answer.matches.length || !answer.next_offset) return answer;
      offset = answer.next_offset;
    }
  };
  const search = async (event) => {
    event.preventDefault();
    const text = field.current?.value ?? "";
    setWanted(text.toLowerCase());
    if (!text) {
      setFound(null);
      setOnly(false);
      return;
    }
    const answer = await attempt(() => find(text, 0));
    if (!answer) return;
    setFound({ ...answer, text });
    setCurrent(-1);
    if (only) held.current.move = 0;
    // The last one that is not below the reader, who mostly is at the end.
    else if (answer.matches.length)
      step(
        answer,
        Math.max(
          0,
          answer.matches.findLastIndex((each) => each.offset < lines.next),
        ),
      );
  };
  const findMore = async () => {
    if (!found?.next_offset || held.current.finding) return;
    held.current.finding = true;
    const more = await attempt(() => find(found.text, found.next_offset));
    held.current.finding = false;
    if (more)
      setFound((before) =>
        before === found ? { ...more, text: found.text, matches: [...found.matches, ...more.matches] } : before,
      );
  };
  /** @param {any} answer @param {number} index */
  const step = (answer, index) => {
    if (!answer?.matches.length) return false;
    const next = (index + answer.matches.length) % answer.matches.length;
    setCurrent(next);
    held.current.only = false;
    setOnly(false);
    attempt(() => toOffset(answer.matches[next].offset));
    field.current?.blur();
    return true;
  };
  /** @param {(row: any) => boolean} fits @param {number} direction */
  const jump = (fits, direction) => {
    const here = Math.round((box.current?.scrollTop ?? 0) / LINE) + 4;
    for (let index = here + direction; index >= 0 && index < lines.rows.length; index += direction) {
      if (fits(lines.rows[index])) {
        held.current.follows = false;
        setFollows(false);
        if (box.current) box.current.scrollTop = Math.max(0, index - 4) * LINE;
        return true;
      }
    }
    return true;
  };
  const toggleWrap = () => {
    localStorage.setItem("errands.wrap", wraps ? "no" : "yes");
    setWraps(!wraps);
  };
  const toggleOnly = () => {
    if (only) {
      step(found, Math.max(0, current));
      return;
    }
    held.current.move = 0;
    held.current.only = true;
    held.current.follows = false;
    setFollows(false);
    setOnly(true);
  };
  const toggleFollow = () => {
    setOnly(false);
    if (follows) setFollows(false);
    else attempt(toEnd);
  };
  useKeys({
    find: () => field.current?.focus(),
    next_match: () => step(found, current + 1),
    previous_match: () => step(found, current - 1),
    next_error: () => jump((row) => ERROR.test(row.text), 1),
    previous_error: () => jump((row) => ERROR.test(row.text), -1),
    gap: () => jump((row) => Boolean(row.gap), -1),
    follow: toggleFollow,
    wrap: toggleWrap,
    first: () => attempt(() => toOffset(0)),
    last: () => attempt(toEnd),
    down: () => box.current?.scrollBy(0, LINE * 3),
    up: () => box.current?.scrollBy(0, -LINE * 3),
  });

  const height = box.current?.clientHeight ?? 600;
  const first = Math.max(0, Math.floor(top / LINE) - 10);
  const shown = rows.slice(first, Math.ceil((top + height) / LINE) + 10);
  const widest = useMemo(
    () => (wraps && !shownOnly ? 0 : rows.reduce((most, row) => Math.max(most, row.text.length), 0)),
    [wraps, shownOnly, rows.length],
  );
  if (!number) return html`<p class="empty">It has not run yet, so it has no output.</p>`;
  return html`<section class="log-frame" aria-label="output">
    <form class="log-bar" role="search" onSubmit=${search}>
      <input ref=${field} type="search" placeholder="find, then Enter" aria-label="find in the output" />
      ${
        found &&
        html`<span class="muted" role="status">${found.matches.length ? `${current + 1} of ${found.matches.length}${found.next_offset ? "+" : ""}` : "not found"}</span>
        <button type="button" class="plain" aria-label="previous match" onClick=${() => step(found, current - 1)}>↑</button>
        <button type="button" class="plain" aria-label="next match" onClick=${() => step(found, current + 1)}>↓</button>`
      }
      ${found?.matches.length > 0 && html`<button type="button" class="plain" aria-pressed=${only} onClick=${toggleOnly}>only matches</button>`}
      <span class="grow"></span>
      <button type="button" class="plain" aria-pressed=${wraps} onClick=${toggleWrap}>wrap</button>
      <button type="button" class="plain" onClick=${() => attempt(() => download(`${path}/raw${query({ run: number })}`, `${run.id}.log`))}>raw ↓</button>
      ${
        isLive
          ? html`<button type="button" class="plain" aria-pressed=${follows} onClick=${toggleFollow}>follow</button>`
          : html`<button type="button" class="plain" disabled=${follows} onClick=${() => attempt(toEnd)}>end ↓</button>`
      }
    </form>
    <div class="log" ref=${box} onScroll=${scroll} tabindex="0" role="region" aria-label="output of run ${number}">
      <span class="ruler" ref=${ruler} aria-hidden="true">${"0".repeat(100)}</span>
      ${error && html`<${Refused} error=${error} />`}
      ${!isRead && !error && html`<${Loading} rows=${6} />`}
      ${isRead && !lines.rows.length && html`<p class="empty">${isLive ? "Nothing was printed yet." : "It printed nothing."}</p>`}
      <div class="log-all" style=${{ height: `${rows.length * LINE}px`, minWidth: widest ? `${widest + 2}ch` : "" }}>
        <div class="log-rows" style=${{ transform: `translateY(${first * LINE}px)` }}>
          ${shown.map((row, index) =>
            shownOnly
              ? html`<button key=${first + index} type="button" class="line match" title="show what is around it" onClick=${() => step(found, first + index)}>${drawn(row, wanted)}</button>`
              : html`<div key=${first + index} class="line">${drawn(row, wanted)}</div>`,
          )}
        </div>
      </div>
    </div>
    <div class="log-foot muted">
      <span>${shownOnly ? `${found.matches.length.toLocaleString("en")}${found.next_offset ? "+" : ""} lines of ` : lines.first > 0 ? `from byte ${lines.first.toLocaleString("en")} of ` : ""}${size(end)}</span>
      <span>${isLive ? (follows ? "following" : "not following; f or the end follows again") : "ended"}</span>
    </div>
  </section>`;
}
