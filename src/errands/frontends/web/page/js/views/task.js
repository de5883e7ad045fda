// One task: its output, runs, question, conversation, trace, files and facts, and what can be done with it.
import { at, download, post, query } from "../api.js";
import { ago, took, until, useTick } from "../clock.js";
import { about, useAsk } from "../data.js";
import { html, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { Log } from "../parts/log.js";
import { Question } from "../parts/question.js";
import { Asked, Empty, Progress, Refused, State, size, TaskLink } from "../parts/state.js";
import { attempt } from "../parts/toast.js";
import { Trace } from "../parts/trace.js";
import { Verbs, verbKeys } from "../parts/verbs.js";
import { Link, setQuery, useAddress } from "../router.js";
import { Conversation } from "./conversation.js";
import { ScheduleFacts } from "./schedules.js";

/** The tabs that a task has, each with its count. @param {any} task @returns {[string, string][]} */
function tabsOf(task) {
  /** @type {[string, string][]} */
  const found = [];
  if (task.row.question || task.proposals.length) found.push(["question", "Question"]);
  if (task.row.kind === "agent") found.push(["conversation", "Conversation"]);
  /** @type {[string, string][]} */
  const schedule = task.schedule ? [["schedule", "Schedule"]] : [];
  // What has not run yet has nothing to show but when it will.
  found.push(...(task.runs.length ? [] : schedule), ["output", "Output"], ...(task.runs.length ? schedule : []));
  found.push(["runs", `Runs ${task.runs.length}`]);
  found.push(["trace", "Trace"]);
  const files = task.runs.reduce((sum, run) => sum + run.files.length, 0);
  if (files) found.push(["files", `Files ${files}`]);
  found.push(["facts", "Facts"]);
  return found;
}

function Questions({ task, me, onAnswered }) {
  const asked = useAsk("/api/questions");
  const ids = new Set([task.row.id, ...task.proposals.map((row) => row.id)]);
  return html`<${Asked} asked=${asked}>${(data) => {
    const mine = data.questions.filter((each) => ids.has(each.task));
    if (!mine.length) return html`<${Empty}>Nothing is waiting for an answer.<//>`;
    return mine.map(
      (each) =>
        html`<${Question} key=${each.id} alone=${mine.length === 1} question=${each} me=${me} title=${each.task !== task.row.id} onAnswered=${() => {
          asked.reload();
          onAnswered();
        }} />`,
    );
  }}<//>`;
}

function Runs({ task }) {
  if (!task.runs.length) return html`<${Empty}>It has not run yet.<//>`;
  return html`<div class="table-frame" tabindex="0" role="region" aria-label="runs"><table>
    <thead><tr><th scope="col">Run</th><th scope="col">State</th><th scope="col">Cause</th><th scope="col">Started</th><th scope="col">Took</th><th scope="col">Output</th><th scope="col">Result</th></tr></thead>
    <tbody>${[...task.runs].reverse().map(
      (run) => html`<tr key=${run.id}><td><a href="?tab=output&run=${run.number}" onClick=${(event) => {
        event.preventDefault();
        setQuery({ tab: "output", run: run.number }, false);
      }}>${run.number}</a></td>
        <td><${State} state=${run.state} word=${true} /></td><td>${run.cause}</td><td>${ago(run.started_at)}</td>
        <td>${took(run.started_at, run.completed_at)}</td><td>${size(run.bytes)}${run.truncated ? ", not all kept" : ""}</td><td class="words">${run.said.more}</td></tr>`,
    )}</tbody></table></div>`;
}

function Files({ task }) {
  return html`<ul class="files">${[...task.runs].reverse().flatMap((run) =>
    run.files.map(
      (
        name,
      ) => html`<li key=${`${run.id}/${name}`}><span class="muted">run ${run.number}</span> <span class="id">${name}</span><span class="grow"></span>
        <button type="button" class="plain" onClick=${() => attempt(() => download(`${at(task.row.id)}/file${query({ run: run.number, name })}`, name.split("/").pop() || "file"))}>save</button></li>`,
    ),
  )}</ul>`;
}

function Facts({ task }) {
  return html`<dl class="facts">${task.facts.map(
    (fact, index) =>
      html`<div key=${index}><dt>${fact.name || html`<span class="hidden">continued</span>`}</dt><dd><pre>${fact.value}</pre></dd></div>`,
  )}</dl>
  ${
    task.children.length > 0 &&
    html`<h2>Started by it</h2><ul class="lines">${task.children.map(
      (row) =>
        html`<li key=${row.id} class="line-row"><span class="line-main"><${State} state=${row.state} said=${row.said.state} /><${TaskLink} id=${row.id} /><span class="more-words">${row.said.more || row.what}</span></span></li>`,
    )}</ul>`
  }`;
}

/** A line for a program that reads its input. */
function Send({ id }) {
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (await attempt(() => post(`${at(id)}/send`, { text: `${text}\n` }))) setText("");
  };
  return html`<form class="send" onSubmit=${send}><input aria-label="a line of input" placeholder="a line of input, then Enter" autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} /><button>Send</button></form>`;
}

/** What is left of a task that was removed: what was asked about it, and answered. */
function Gone({ id, error }) {
  const audit = useAsk(`/api/audit${query({ limit: 200 })}`);
  const entries = (audit.data?.entries ?? []).filter((each) => each.task === id);
  return html`<main tabindex="-1"><h1>${id}</h1><${Refused} error=${error} />
    ${entries.length > 0 && html`<p>It was removed. What was asked about it:</p><ul>${entries.map((each) => html`<li key=${each.id}><pre>${each.command}</pre> ${each.state} ${each.by ? `by ${each.by}` : ""} ${ago(each.answered_at)} ${each.said.outcome}</li>`)}</ul>`}
    <p><${Link} to="/tasks">All tasks<//></p></main>`;
}

/** @param {{ id: string, me: any }} props */
export function Task({ id, me }) {
  useTick();
  const asked = useAsk(at(id), about(id));
  const { query: address } = useAddress();
  const task = asked.data;
  const tabs = task ? tabsOf(task) : [];
  const wanted = address.get("tab") || "";
  const tab = tabs.some(([name]) => name === wanted) ? wanted : (tabs[0]?.[0] ?? "");
  const number = Number(address.get("run")) || task?.row.run;
  const run = task?.runs.find((each) => each.number === number);
  /** @param {number} step */
  const stepRun = (step) => {
    const next = task?.runs.find((each) => each.number === number + step);
    if (next) setQuery({ run: next.number });
  };
  useKeys({
    ...verbKeys(() => task),
    earlier_run: () => stepRun(-1),
    later_run: () => stepRun(1),
    approve: () => (task?.row.question && tab !== "question" ? setQuery({ tab: "question" }) : false),
  });
  if (asked.error && !task && asked.error.status === 404) return html`<${Gone} id=${id} error=${asked.error} />`;
  return html`<main class="task" tabindex="-1">
    <${Asked} asked=${asked} rows=${6}>${({ row, parent, schedule }) => html`
      <div class="task-head">
        <div class="task-name"><h1>${row.id}</h1><${State} state=${row.state} said=${row.said.state} word=${true} />
          <span class="time">${row.live ? took(row.started_at, null) : took(row.started_at, row.completed_at)}</span><${Progress} percent=${row.percent} /></div>
        <${Verbs} task=${task} onDone=${asked.reload} />
        <p class="task-what" title=${row.what}>${row.what}</p>
        ${tab === "output" && run?.said.cause && html`<p class="task-cause bad"><code>${run.said.cause}</code></p>`}
        <p class="muted task-more">${row.said.more && html`<span class=${row.state === "failed" ? "bad" : ""}>${row.said.more}</span>`}
          ${row.next_at && html`<span>${row.recurring ? "next" : "starts"} ${until(row.next_at)}</span>`}
          <span>lane <${Link} to=${`/tasks${query({ lane: row.lane })}`}>${row.lane}<//></span>
          ${row.batch && html`<span>batch <${Link} to=${`/tasks${query({ batch: row.batch })}`}>${row.batch}<//></span>`}
          ${parent && html`<span>started by <${TaskLink} id=${parent.id} /></span>`}
          ${tab === "output" && task.runs.length > 1 && html`<label>run <select onChange=${(event) => setQuery({ run: event.target.value })}>${[...task.runs].reverse().map((each) => html`<option key=${each.number} value=${each.number} selected=${each.number === number}>${each.number} · ${each.state}</option>`)}</select></label>`}
        </p>
      </div>
      <div class="tabs" role="tablist" aria-label="parts of the task">${tabs.map(
        ([name, title]) =>
          html`<button key=${name} id="tab-${name}" type="button" role="tab" aria-selected=${tab === name} aria-controls="tab-panel" onClick=${() => setQuery({ tab: name }, false)}>${title}</button>`,
      )}</div>
      <div class="tab-panel" id="tab-panel" role="tabpanel" aria-labelledby="tab-${tab}">
        ${tab === "question" && html`<${Questions} task=${task} me=${me} onAnswered=${asked.reload} />`}
        ${tab === "conversation" && html`<${Conversation} task=${task} />`}
        ${tab === "output" && html`<${Log} key=${number} task=${row.id} run=${run} />${task.can.includes("send") && html`<${Send} id=${row.id} />`}`}
        ${tab === "schedule" && html`<${ScheduleFacts} schedule=${schedule} />`}
        ${tab === "runs" && html`<${Runs} task=${task} />`}
        ${tab === "trace" && html`<${Trace} id=${row.id} />`}
        ${tab === "files" && html`<${Files} task=${task} />`}
        ${tab === "facts" && html`<${Facts} task=${task} />`}
      </div>`}<//>
  </main>`;
}
