// All tasks: filters in the address, thousands of rows, and verbs for those selected or all that match.
import { get, post, query } from "../api.js";
import { ago, took, until, useTick } from "../clock.js";
import { whenVisible } from "../data.js";
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { confirmed } from "../parts/dialog.js";
import { VirtualRows } from "../parts/rows.js";
import { Empty, Loading, plural, Refused, State } from "../parts/state.js";
import { attempt, tell } from "../parts/toast.js";
import { go, Link, setQuery, taskPath, useAddress } from "../router.js";
import { onEvent } from "../stream.js";

const FILTERS = ["state", "kind", "text", "batch", "lane", "parent", "since"];
const STATES = ["proposed", "pending", "running", "completed", "failed", "cancelled", "skipped", "active", "paused"];
const VERBS = ["cancel", "restart", "pause", "unpause", "fire", "clear"];
const FIRST = 200; // rows that are read before the others
const PAGE = 2000; // rows of each reading after that: a larger one would hold up the server and the page
const MOST = 20_000; // rows that are kept; filters find the others
const LABELS = /** @type {Record<string, string>} */ ({ clear: "remove", fire: "run now" });

/** A row of the stream as a light one. @param {any} row */
const light = (row) => ({ ...row, more: row.said.more });

function time(row) {
  if (row.state === "running") return took(row.started_at, null);
  if (row.completed_at && !["active", "paused", "pending"].includes(row.state)) return ago(row.completed_at);
  return row.next_at ? until(row.next_at) : ago(row.created_at);
}

/** The tasks that match, kept up to date; new ones wait until the reader wants them. @param {string} filters */
function useTasks(filters) {
  const [state, setState] = useState(
    /** @type {any} */ ({ filters: null, rows: [], error: null, fresh: [], hidden: 0, isWhole: false, isCut: false }),
  );
  const held = useRef(state);
  held.current = state;
  const quiet = useRef(false); // whether rows may move: nothing is selected, and the list is at its top
  const turn = useRef(0);
  const read = async () => {
    turn.current += 1;
    const mine = turn.current;
    const page = (more) => get(`/api/light-tasks${filters}${filters ? "&" : "?"}${more}`);
    try {
      // What fits on the screen first; thousands of others take a moment.
      const first = await page(`limit=${FIRST}`);
      const hidden =
        first.rows.length || !filters ? 0 : (await get(`/api/tasks${filters}${filters ? "&" : "?"}limit=1`)).hidden;
      if (mine !== turn.current) return;
      const isKnown = held.current.filters === filters && held.current.rows.length > first.rows.length;
      if (!first.before || !isKnown) {
        setState({ filters, rows: first.rows, error: null, fresh: [], hidden, isWhole: !first.before, isCut: false });
      }
      if (!first.before) return;
      const rows = [...first.rows];
      let next = first.before;
      while (next && rows.length < MOST) {
        const more = await page(`limit=${PAGE}&before=${encodeURIComponent(next)}`);
        if (mine !== turn.current) return;
        rows.push(...more.rows);
        next = more.before;
      }
      setState((before) => {
        const newer = new Map(isKnown ? [] : before.rows.map((row) => [row.id, row]));
        const ids = new Set(rows.map((row) => row.id));
        const added = isKnown ? [] : before.rows.filter((row) => !ids.has(row.id));
        const all = [...added, ...rows.map((row) => newer.get(row.id) || row)];
        return {
          ...before,
          filters,
          rows: all,
          error: null,
          fresh: [],
          hidden: 0,
          isWhole: !next,
          isCut: Boolean(next),
        };
      });
    } catch (error) {
      if (mine === turn.current) setState({ ...held.current, filters, error });
    }
  };
  useEffect(() => {
    read();
    let timer = 0;
    return onEvent((name, facts) => {
      if (name === "hello" || name === "again" || (name === "resumed" && held.current.error)) {
        clearTimeout(timer);
        timer = window.setTimeout(() => whenVisible(read), 200);
      } else if (name === "gone") {
        const gone = new Set(facts.ids);
        setState((before) => ({ ...before, rows: before.rows.filter((row) => !gone.has(row.id)) }));
      } else if (name === "rows") {
        const changed = new Map(facts.rows.map((row) => [row.id, row]));
        const known = new Set(held.current.rows.map((row) => row.id));
        setState((before) => ({
          ...before,
          rows: before.rows.map((row) => (changed.has(row.id) ? light(changed.get(row.id)) : row)),
        }));
        const others = [...changed.keys()].filter((id) => !known.has(id));
        if (others.length) {
          get(`/api/light-tasks${filters}${filters ? "&" : "?"}ids=${encodeURIComponent(others.join(","))}`)
            .then(({ rows }) =>
              setState((before) => {
                if (before.filters !== filters) return before;

                const there = new Set(before.rows.map((row) => row.id));
                const ids = new Set(rows.map((row) => row.id));
                if (!rows.some((row) => !there.has(row.id))) return before;
                const added = [
                  ...rows.filter((row) => !there.has(row.id)),
                  ...before.fresh.filter((row) => !ids.has(row.id)),
                ];
                return quiet.current
                  ? { ...before, hidden: 0, rows: [...added, ...before.rows], fresh: [] }
                  : { ...before, fresh: added };
              }),
            )
            .catch(() => {});
        }
      }
    });
  }, [filters]);
  const showFresh = () => setState((before) => ({ ...before, rows: [...before.fresh, ...before.rows], fresh: [] }));
  return { ...state, isLoading: state.filters !== filters && !state.error, reload: read, showFresh, quiet };
}

export function Tasks() {
  useTick();
  const { query: address } = useAddress();
  const given = Object.fromEntries(FILTERS.map((name) => [name, address.get(name) || ""]).filter(([, value]) => value));
  const filters = query(given);
  const tasks = useTasks(filters);
  const [cursor, setCursor] = useState(-1);
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const [all, setAll] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const typing = useRef(0);
  const [text, setText] = useState(given.text || "");
  useEffect(() => {
    if (document.activeElement !== field.current) setText(given.text || "");
  }, [given.text]);
  useEffect(() => {
    setSelected(new Set());
    setAll(false);
    setCursor(-1);
  }, [filters]);
  tasks.quiet.current =
    !selected.size &&
    !all &&
    cursor < 1 &&
    (main.current?.querySelector(".rows")?.scrollTop ?? 0) < 4 &&
    !main.current?.querySelector(".rows:hover");
  const count = all ? tasks.rows.length : selected.size;
  const clearSelection = () => {
    setSelected(new Set());
    setAll(false);
  };
  /** @param {string} id */
  const toggle = (id) => {
    setAll(false);
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  };
  /** @param {string} verb */
  const batch = async (verb) => {
    const label = LABELS[verb] || verb;
    if (
      !count ||
      !(await confirmed(
        `${label[0].toUpperCase()}${label.slice(1)} ${plural(count, "task")}?`,
        `Yes, ${label}`,
        all && filters ? "All that match the filters." : "",
      ))
    )
      return;
    const body = { verb, expected: count, ...(all ? { query: given } : { ids: [...selected] }) };
    const done = await attempt(() => post("/api/batch", body));
    if (done) {
      if (done.refused.length) tell(`${done.said.text} ${done.refused[0].detail}`);
      clearSelection();
    }
    tasks.reload();
  };
  /** @param {number} to */
  const move = (to) => {
    const next = Math.max(0, Math.min(tasks.rows.length - 1, to));
    setCursor(next);
    setTimeout(() =>
      /** @type {HTMLElement | null} */ (main.current?.querySelector(".row.cursor a"))?.focus({ preventScroll: true }),
    );
  };
  useKeys({
    down: () => move(cursor + 1),
    up: () => move(cursor - 1),
    first: () => move(0),
    last: () => move(tasks.rows.length - 1),
    open: () => (tasks.rows[cursor] ? go(taskPath(tasks.rows[cursor].id)) : false),
    find: () => field.current?.focus(),
    select: () => {
      if (tasks.rows[cursor]) toggle(tasks.rows[cursor].id);
      move(cursor + 1);
    },
    select_all: () => (all ? clearSelection() : tasks.isWhole && setAll(true)),
    cancel: () => (count ? void batch("cancel") : false),
    restart: () => (count ? void batch("restart") : false),
    clear: () => (count ? void batch("clear") : false),
    back: () => {
      if (count) clearSelection();
      else if (filters) go("/tasks");
      else return false;
      return true;
    },
  });
  const states = (given.state || "").split(",").filter(Boolean);
  /** @param {string} state */
  const toggleState = (state) =>
    setQuery({
      state: (states.includes(state) ? states.filter((each) => each !== state) : [...states, state]).join(","),
    });
  const type = (event) => {
    const wanted = event.target.value;
    setText(wanted);
    clearTimeout(typing.current);
    typing.current = window.setTimeout(() => setQuery({ text: wanted }), 250);
  };
  const draw = useMemo(
    () => (row) =>
      html`
      <label class="pick"><input type="checkbox" checked=${all || selected.has(row.id)} onChange=${() => toggle(row.id)} /><span class="hidden">select ${row.id}</span></label>
      <${Link} class="row-main" to=${taskPath(row.id)}>
        <${State} state=${row.state} word=${true} />
        <span class="id">${row.id}</span>
        <span class="what">${row.what}</span>
        <span class="more-words ${row.state === "failed" ? "bad" : ""}">${row.more}</span>
        <span class="time">${time(row)}</span>
      <//>`,
    [selected, all],
  );
  const others = Object.entries(given).filter(([name]) => !["state", "text"].includes(name));
  return html`<main class="tasks" ref=${main} tabindex="-1"><h1 class="hidden">Tasks</h1>
    <div class="filters">
      <input ref=${field} type="search" aria-label="search tasks" placeholder="/ id, description, command or prompt" value=${text} onInput=${type} />
      <div class="chips" role="group" aria-label="states">${STATES.map(
        (state) =>
          html`<button key=${state} type="button" class="chip" aria-pressed=${states.includes(state)} onClick=${() => toggleState(state)}><${State} state=${state} word=${true} /></button>`,
      )}
        ${["shell", "agent", ...(given.kind === "remote" ? ["remote"] : [])].map((kind) => html`<button key=${kind} type="button" class="chip" aria-pressed=${given.kind === kind} onClick=${() => setQuery({ kind: given.kind === kind ? "" : kind })}>${kind}</button>`)}
        ${others.filter(([name]) => name !== "kind").map(([name, value]) => html`<button key=${name} type="button" class="chip" aria-pressed="true" aria-label="remove the filter ${name}: ${value}" onClick=${() => setQuery({ [name]: "" })}>${name}: ${value} ✕</button>`)}
      </div>
    </div>
    <div class="list-bar">
      ${
        count
          ? html`<b>${plural(count, "task")} selected</b>
          ${!all && tasks.isWhole && html`<button type="button" class="plain" onClick=${() => setAll(true)}>all ${tasks.rows.length.toLocaleString("en")} that match</button>`}
          <button type="button" class="plain" onClick=${clearSelection}>none</button><span class="grow"></span>
          <span class="buttons">${VERBS.map((verb) => html`<button key=${verb} type="button" class=${["cancel", "clear"].includes(verb) ? "careful" : ""} onClick=${() => batch(verb)}>${LABELS[verb] || verb}</button>`)}</span>`
          : html`<span class="muted">${tasks.isCut ? `the newest ${plural(tasks.rows.length, "task")}; a filter finds older ones` : tasks.isLoading || !tasks.isWhole || !tasks.rows.length ? "" : plural(tasks.rows.length, "task")}</span>
          ${tasks.fresh.length > 0 && html`<button type="button" class="fresh" onClick=${tasks.showFresh}>${tasks.fresh.length} new</button>`}`
      }
    </div>
    <${Refused} error=${tasks.error} onRetry=${tasks.reload} />
    ${tasks.isLoading && !tasks.rows.length && html`<${Loading} rows=${10} />`}
    ${
      !tasks.isLoading &&
      !tasks.error &&
      !tasks.rows.length &&
      (filters
        ? html`<div class="nothing"><p>No task matches. ${
            tasks.hidden > 0 &&
            `${plural(tasks.hidden, "task")} ${tasks.hidden === 1 ? "is" : "are"} hidden by ${Object.entries(given)
              .map(([name, value]) => `${name}: ${value}`)
              .join(", ")}.`
          }</p>
            <p><button type="button" onClick=${() => go("/tasks")}>Clear the filters</button></p></div>`
        : html`<${Empty}>There are no tasks yet. <${Link} to="/new">Start one<//>.<//>`)
    }
    ${tasks.rows.length > 0 && html`<${VirtualRows} rows=${tasks.rows} draw=${draw} cursor=${cursor} label="tasks" />`}
  </main>`;
}
