// What an agent was asked, the tools it used, folded, and what it answered; and a box for the next prompt.
import { at, post } from "../api.js";
import { duration, exact, now, useTick } from "../clock.js";
import { about, useAsk } from "../data.js";
import { html, useState } from "../html.js";
import { Asked, State, TaskLink } from "../parts/state.js";
import { attempt } from "../parts/toast.js";

function Call({ call }) {
  const seconds =
    ((call.ended_at ? new Date(call.ended_at).getTime() : now()) - new Date(call.started_at).getTime()) / 1000;
  const first = call.arguments.split("\n")[0].slice(0, 120);
  return html`<details class="call"><summary>
      <span class="id">${call.name}</span> <span class="call-first">${first}</span><span class="grow"></span>
      <span class="time">${call.ended_at ? exact(seconds) : duration(seconds)}</span><${State} state=${call.failed ? "failed" : call.ended_at ? "completed" : "running"} /></summary>
    <div class="call-more">
      ${call.arguments ? html`<h4>Arguments</h4><pre tabindex="0">${call.arguments}</pre>` : html`<p class="muted">Its arguments were not kept.</p>`}
      ${call.result && html`<h4>Result</h4><pre tabindex="0">${call.result}</pre>`}
      ${call.task && html`<p>It started <${TaskLink} id=${call.task} />.</p>`}
    </div></details>`;
}

/** @param {{ task: any }} props */
export function Conversation({ task }) {
  useTick();
  const id = task.row.id;
  const asked = useAsk(`${at(id)}/conversation`, about(id));
  const [prompt, setPrompt] = useState("");
  const [busy, setBusy] = useState(false);
  const resume = async (event) => {
    event.preventDefault();
    if (!prompt.trim() || busy) return;
    setBusy(true);
    if (await attempt(() => post(`${at(id)}/resume`, { prompt }))) setPrompt("");
    setBusy(false);
    asked.reload();
  };
  return html`<${Asked} asked=${asked}>${(data) => html`<div class="conversation">
    ${data.exchanges.map(
      (each) => html`<section key=${each.run} class="exchange" aria-label="prompt ${each.run}">
        <div class="prompt"><pre>${each.prompt}</pre></div>
        ${each.calls.map((call) => html`<${Call} key=${call.id} call=${call} />`)}
        ${each.answer !== null && html`<div class="answer"><pre>${each.answer}</pre></div>`}
        ${each.error && html`<p class="refused">${each.error}</p>`}
        ${each.answer === null && !each.error && each.state && html`<p class="muted"><${State} state=${each.state} word=${true} /></p>`}
      </section>`,
    )}
    ${task.proposals.length > 0 && html`<p class="you">Waiting for you: ${task.proposals.map((row) => html`<${TaskLink} key=${row.id} id=${row.id} /> `)}</p>`}
    ${
      data.resumable
        ? html`<form class="resume" onSubmit=${resume}><label for="next-prompt">The next prompt</label>
          <textarea id="next-prompt" rows="3" value=${prompt} onInput=${(event) => setPrompt(event.target.value)}
            onKeyDown=${(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && resume(event)}></textarea>
          <div class="buttons"><button class="first" disabled=${busy || !prompt.trim()}>Resume</button><span class="muted">Ctrl+Enter</span></div></form>`
        : html`<p class="muted">${data.said.why_not}</p>`
    }
  </div>`}<//>`;
}
