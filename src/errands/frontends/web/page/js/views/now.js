// The first screen: what waits for you, what runs, what failed, and what comes next.
import { query } from "../api.js";
import { ago, took, until, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { Hosts } from "../parts/hosts.js";
import { isLong, Question, QuestionInShort } from "../parts/question.js";
import { Asked, Empty, Progress, State, TaskLink } from "../parts/state.js";
import { doVerb } from "../parts/verbs.js";
import { go, Link, taskPath } from "../router.js";

const SEEN = "errands.seen"; // the time up to which failures were marked as seen, in this browser

/** A task in a line. */
function Line({ row, time, cause = "", children = null }) {
  return html`<li class="line-row"><${Link} class="line-main" to=${taskPath(row.id)}>
      <${State} state=${row.state} said=${row.said.state} />
      <span class="id">${row.id}</span>
      <${Progress} percent=${row.percent} />
      <span class="more-words">${row.said.more && html`<span class=${row.state === "failed" ? "bad" : "said"}>${row.said.more}</span> `}${row.what}</span>
      <span class="time">${time}</span>
      ${cause && html`<code class="cause">${cause}</code>`}
    <//>${children}</li>`;
}

function Group({ title, count, empty = "", tone = "", children, action = null }) {
  return html`<section class="group ${tone}" aria-label=${title}>
    <h2>${title}${count > 0 && html` <span class="count">· ${count}</span>`}<span class="grow"></span>${action}</h2>
    ${count > 0 ? children : html`<${Empty}>${empty}<//>`}
  </section>`;
}

function First() {
  return html`<section class="first-time">
    <h2>Nothing has run yet</h2>
    <p>Errands runs slow commands and agents in the background, keeps their output, and asks you before anything that needs a person.</p>
    <p class="buttons"><${Link} class="button" to="/new">Run a command<//><${Link} class="button" to="/new?kind=agent">Ask an agent<//><${Link} class="button" to="/new?every=30m">Schedule something<//></p>
    <p>Or in a terminal:</p>
    <pre class="command">errands run -- make test
errands ask "why does the build fail?"
errands run --every 30m -- ./sync.sh</pre>
  </section>`;
}

/** @param {{ me: any }} props */
export function Now({ me }) {
  useTick();
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const [seen, setSeen] = useState(localStorage.getItem(SEEN) || "");
  const asked = useAsk(`/api/overview${query({ failed_since: seen })}`);
  const questions = useAsk("/api/questions");
  const dismiss = () => {
    const time = asked.data?.now ?? new Date().toISOString();
    localStorage.setItem(SEEN, time);
    setSeen(time);
  };
  /** @param {number} step */
  const move = (step) => {
    const links = /** @type {HTMLElement[]} */ ([
      ...(main.current?.querySelectorAll(".line-main, .question h3 a") ?? []),
    ]);
    const here = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    links[Math.max(0, Math.min(links.length - 1, here + step))]?.focus();
  };
  const focused = () => {
    const address = document.activeElement?.closest(".line-main")?.getAttribute("href");
    return address ? decodeURIComponent(address.slice("/tasks/".length)) : "";
  };
  /** @param {string} verb */
  const key = (verb) => () => (focused() ? void doVerb(verb, focused()) : false);
  useKeys({
    down: () => move(1),
    up: () => move(-1),
    dismiss,
    cancel: key("cancel"),
    restart: key("restart"),
    approve: () => (questions.data?.questions[0] ? go(`/ask/${questions.data.questions[0].id}`) : false),
  });

  return html`<main class="now" ref=${main} tabindex="-1"><h1 class="hidden">Now</h1>
    <${Asked} asked=${asked} rows=${8}>${(data) => {
      const counts = data.counts;
      const total = Object.values(counts).reduce((sum, each) => sum + each, 0);
      const open = questions.data?.questions ?? [];
      if (!total && !data.coming.length && !data.in_fleet) return html`<${First} />`;
      return html`<div class="now-main">
        <${Group} title="Waiting for you" tone="yours" count=${questions.data?.total ?? data.waiting.length} empty="Nothing is waiting for you.">
          ${open.map((each) => (isLong(each) ? html`<${QuestionInShort} key=${each.id} question=${each} />` : html`<${Question} key=${each.id} question=${each} me=${me} onAnswered=${questions.reload} />`))}
          ${!questions.data && html`<ul class="lines">${data.waiting.map((row) => html`<${Line} key=${row.id} row=${row} time=${ago(row.created_at)} />`)}</ul>`}
        <//>
        <${Group} title="Running" count=${data.running.length} empty="Nothing is running.">
          <ul class="lines">${data.running.map((row) => html`<${Line} key=${row.id} row=${row} time=${took(row.started_at, null)} />`)}</ul>
        <//>
        ${
          data.pending.length > 0 &&
          html`<${Group} title="Starts next" count=${counts.pending}>
          <ul class="lines">${data.pending.map((row) => html`<${Line} key=${row.id} row=${row} time=${row.next_at ? until(row.next_at) : ago(row.created_at)} />`)}</ul>
        <//>`
        }
        <${Group} title=${seen ? "New failures" : "Failed in the last day"} count=${data.failed.length} empty="Nothing failed."
          action=${data.failed.length > 0 && html`<button type="button" class="plain" onClick=${dismiss}>Mark as seen</button>`}>
          <ul class="lines">${data.failed.map(
            (row) => html`<${Line} key=${row.id} row=${row} time=${ago(row.completed_at)} cause=${data.causes[row.id]}>
              <button type="button" class="plain" onClick=${() => doVerb("restart", row.id)} aria-label="restart ${row.id}">↻ restart</button><//>`,
          )}</ul>
        <//>
        ${
          data.completed.length > 0 &&
          html`<${Group} title="Completed in the last hour" count=${data.completed.length}
          action=${html`<${Link} to="/tasks?state=completed">All<//>`}>
          <ul class="lines">${data.completed.map((row) => html`<${Line} key=${row.id} row=${row} time=${ago(row.completed_at)} />`)}</ul>
        <//>`
        }
      </div>
      <aside class="now-side" aria-label="what comes next">
        <section><h2>Next</h2>
          ${
            data.coming.length
              ? html`<ul class="coming">${data.coming.map(
                  (each) => html`<li key=${each.task}><span class="when">${each.at ? until(each.at) : "on"}</span>
                    <${TaskLink} id=${each.task}>${each.name || each.task}<//><span class="muted">${each.said.rule}</span></li>`,
                )}</ul>`
              : html`<${Empty}>Nothing is scheduled.<//>`
          }</section>
        <section><h2>Lanes</h2><ul class="lanes">${data.lanes.map(
          (lane) => html`<li key=${lane.name}><${Link} to=${`/tasks${query({ lane: lane.name })}`}>${lane.name}<//>
            <span>${lane.running} of ${lane.width} slots</span><span class="muted">${lane.pending ? `${lane.pending.toLocaleString("en")} pending` : ""}</span></li>`,
        )}</ul></section>
        ${data.in_fleet && html`<${Hosts} />`}
        <section><h2>All runs</h2><ul class="totals">${["completed", "failed", "cancelled", "skipped"].map(
          (state) =>
            html`<li key=${state}><${Link} to=${`/tasks${query({ state })}`}><${State} state=${state} word=${true} /> <b>${counts[state].toLocaleString("en")}</b><//></li>`,
        )}</ul></section>
      </aside>`;
    }}<//>
  </main>`;
}
