// Notices that were not read, those that could not be sent, and the channels.
import { post } from "../api.js";
import { ago, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html } from "../html.js";
import { Asked, Empty, plural, TaskLink } from "../parts/state.js";
import { attempt } from "../parts/toast.js";

const Notice = ({ notice, children = null }) => html`<li class="card">
  <div class="card-head"><${TaskLink} id=${notice.task} /><span class="muted">${notice.event}${notice.channel && notice.channel !== "inbox" ? ` · ${notice.channel}${notice.target ? `:${notice.target}` : ""}` : ""}</span><span class="grow"></span><span class="time">${ago(notice.created_at)}</span></div>
  <pre class="notice-text">${notice.said.text}</pre>
  ${notice.said.why && html`<p class="bad">${notice.said.why}</p>`}${children}</li>`;

export function Notices() {
  useTick();
  const notices = useAsk("/api/notices");
  const channels = useAsk("/api/channels");
  /** @param {number[] | null} ids */
  const retry = async (ids) => {
    await attempt(() => post("/api/notices/retry", { ids }));
    notices.reload();
  };
  return html`<main class="two" tabindex="-1"><h1>Notices</h1>
    <div><${Asked} asked=${notices}>${({ inbox, undelivered }) => html`
      <section><h2>Inbox${inbox.length > 0 && html` <span class="count">· ${inbox.length}</span>`}</h2>
        ${inbox.length ? html`<ul class="cards">${inbox.map((each) => html`<${Notice} key=${each.id} notice=${each} />`)}</ul>` : html`<${Empty}>Nothing is unread.<//>`}</section>
      <section><h2>Undelivered${undelivered.length > 0 && html` <span class="count">· ${undelivered.length}</span>`}<span class="grow"></span>
        ${undelivered.length > 1 && html`<button type="button" class="plain" onClick=${() => retry(null)}>send all again</button>`}</h2>
        ${
          undelivered.length
            ? html`<ul class="cards">${undelivered.map(
                (
                  each,
                ) => html`<${Notice} key=${each.id} notice=${each}><div class="buttons"><span class="muted">${each.state}, ${plural(each.attempts, "attempt")}</span><span class="grow"></span>
              <button type="button" onClick=${() => retry([each.id])}>Send again</button></div><//>`,
              )}</ul>`
            : html`<${Empty}>Everything was delivered.<//>`
        }</section>`}<//></div>
    <aside aria-label="channels"><h2>Channels</h2><${Asked} asked=${channels}>${(data) =>
      data.channels.length
        ? html`<ul class="cards">${data.channels.map(
            (
              each,
            ) => html`<li key=${each.name} class="card"><div class="card-head"><b>${each.name}</b>${each.kind !== each.name && html`<span class="muted">${each.kind}</span>`}<span class="grow"></span>
            <span class=${each.ready ? "good" : "wait"}>${each.ready ? "✓ ready" : "○ not ready"}</span></div>
          <div class="muted">${[each.said.health === "ready" ? "" : each.said.health, each.waiting ? `${each.waiting} wait` : "", each.dead ? `${each.dead} given up` : ""].filter(Boolean).join(" · ")}</div>
          ${each.ready && html`<div class="buttons"><button type="button" onClick=${() => attempt(() => post(`/api/channels/${encodeURIComponent(each.name)}/trial`))}>Send a test</button></div>`}</li>`,
          )}</ul>`
        : html`<${Empty}>No channel is configured.<//>`}<//></aside>
  </main>`;
}
