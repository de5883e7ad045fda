// The page: which view an address shows, the bar above it, and what is the same everywhere.
import { key, onKey, post } from "./api.js";
import { clock, useTick } from "./clock.js";
import { useAsk } from "./data.js";
import { html, render, useEffect, useErrorBoundary, useState } from "./html.js";
import { KEYS, PLACES, useKeys } from "./keys.js";
import { Dialog, shown } from "./parts/dialog.js";
import { attempt, Toast } from "./parts/toast.js";
import { decoded, go, Link, useAddress } from "./router.js";
import { retry, start, stream, watchStream } from "./stream.js";
import { Agents } from "./views/agents.js";
import { Ask } from "./views/ask.js";
import { Figures } from "./views/figures.js";
import { New } from "./views/new.js";
import { Notices } from "./views/notices.js";
import { Now } from "./views/now.js";
import { Schedules } from "./views/schedules.js";
import { Settings } from "./views/settings.js";
import { SignIn } from "./views/signin.js";
import { Task } from "./views/task.js";
import { Tasks } from "./views/tasks.js";
import { Timeline } from "./views/timeline.js";

/** @type {[string, string, any][]} */
const VIEWS = [
  ["/", "Now", Now],
  ["/tasks", "Tasks", Tasks],
  ["/timeline", "Timeline", Timeline],
  ["/schedules", "Schedules", Schedules],
  ["/agents", "Agents", Agents],
  ["/notices", "Notices", Notices],
  ["/figures", "Figures", Figures],
];

const REST = VIEWS.slice(4); // on a phone below "More", with the settings
/** @type {[string, string, any]} */
const SETTINGS = ["/settings", "Settings", null];

function useStream() {
  const [, draw] = useState(0);
  useEffect(() => watchStream(() => draw((before) => before + 1)), []);
  return stream;
}

/** The keys of every view, as a table. */
export const KeyTable = () => html`<div class="key-table">
  ${Object.entries(PLACES).map(
    ([place, title]) => html`<section key=${place}><h3>${title}</h3><dl class="keys">
      ${KEYS.filter(([, , where]) => where === place).map(
        ([keys, action, , does]) =>
          html`<div key=${action}><dt>${keys.map((each) => html`<kbd key=${each}>${each.replace("Arrow", "")}</kbd>`)}</dt><dd>${does}</dd></div>`,
      )}</dl></section>`,
  )}
</div>`;

function LiveSign() {
  const { live, begun } = useStream();
  return html`<span class="live ${live ? "good" : "wait"}" role="status"><span aria-hidden="true">●</span> ${live ? "live" : begun ? "not live" : "connecting"}</span>`;
}

/** Says that what is shown is old, or that nothing happens without a daemon. */
function Bar() {
  const { live, begun, since, retryAt, daemon } = useStream();
  useTick();
  if (begun && !live) {
    const wait = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
    return html`<div class="bar wait" role="alert"><span>Not live since ${clock(since)}<span aria-hidden="true">, ${wait ? `trying again in ${wait} s` : "trying again"}</span>.</span>
      <button type="button" class="plain" onClick=${retry}>Try now</button></div>`;
  }
  if (daemon?.said.why) {
    return html`<div class="bar wait" role="alert"><span>${daemon.said.why}</span>
      <button type="button" onClick=${() => attempt(() => post("/api/daemon"))}>Start it</button></div>`;
  }
  return null;
}

function Header({ path }) {
  const { counts } = useStream();
  const [text, setText] = useState("");
  const waiting = counts?.waiting ?? 0;
  const rest = [...REST, SETTINGS].find(([where]) => where === path);
  /** @param {[string, string, any]} view */
  const link = ([where, title]) =>
    html`<${Link} key=${where} to=${where} aria-current=${path === where || (where === "/tasks" && path.startsWith("/tasks/")) ? "page" : null}>
      ${title}${where === "/" && waiting > 0 && html` <b class="badge" aria-label="${waiting} waiting for you">${waiting}</b>`}<//>`;
  const search = (event) => {
    event.preventDefault();
    go(`/tasks?text=${encodeURIComponent(text)}`);
    setText("");
  };
  return html`<header class="top">
    <div class="top-line">
      <${Link} class="brand" to="/">errands<//>
      <nav aria-label="views">${VIEWS.map(link)}
        <details key=${path} class="rest"><summary class=${rest ? "current" : ""}>${rest ? rest[1] : "More"}</summary><div>${[...REST, SETTINGS].map(link)}</div></details></nav>
      <span class="grow"></span>
      ${
        path !== "/tasks" && // which has its own
        html`<form role="search" onSubmit=${search} class="top-search"><input id="search" type="search" aria-label="search tasks" placeholder="/ search" value=${text}
        onInput=${(event) => setText(event.target.value)} /></form>`
      }
      <${Link} class="button new" to="/new"><span aria-hidden="true">+ </span>New<//>
      <${Link} class="settings" to="/settings" aria-current=${path === "/settings" ? "page" : null}>Settings<//>
      <${LiveSign} />
    </div>
  </header>`;
}

function View({ path, me }) {
  const [error] = useErrorBoundary();
  if (error) {
    return html`<main><h1>This view broke</h1><p class="refused" role="alert">${String(error.message || error)}</p>
      <p><button type="button" onClick=${() => location.reload()}>Reload the page</button></p></main>`;
  }
  const found = VIEWS.find(([where]) => where === path);
  if (found) return html`<${found[2]} me=${me} />`;
  const [, place, name] = path.split("/");
  if (place === "tasks" && name) return html`<${Task} key=${name} id=${decoded(name)} me=${me} />`;
  if (place === "ask" && /^\d+$/.test(name || "")) return html`<${Ask} number=${Number(name)} me=${me} />`;
  if (path === "/new") return html`<${New} />`;
  if (path === "/settings") return html`<${Settings} keys=${html`<${KeyTable} />`} />`;
  return html`<main><h1>There is nothing here</h1><p><${Link} to="/">What happens now<//></p></main>`;
}

function Page() {
  const { path } = useAddress();
  const [signedIn, setSignedIn] = useState(Boolean(key()));
  const { counts } = useStream();
  useEffect(() => onKey(() => setSignedIn(Boolean(key()))), []);
  const me = useAsk(signedIn ? "/api/me" : null, () => false);
  useKeys({
    ...Object.fromEntries(VIEWS.map(([where, title]) => [`view_${title.toLowerCase()}`, () => go(where)])),
    new: () => go("/new"),
    keys: () => shown("Keys", html`<${KeyTable} />`),
    find: () => {
      const field = /** @type {HTMLElement | null} */ (document.getElementById("search"));
      if (field?.offsetParent) field.focus();
      else go("/tasks");
    },
    back: () => path !== "/" && history.back(),
  });
  useEffect(() => {
    const waiting = signedIn ? (counts?.waiting ?? 0) : 0;
    const [, place, name] = path.split("/");
    const title = place === "tasks" && name ? decoded(name) : VIEWS.find(([where]) => where === path)?.[1];
    document.title = `${waiting ? `(${waiting}) ` : ""}${title && title !== "Now" ? `${title} · ` : ""}Errands`;
  });
  if (!signedIn) return html`<${SignIn} onDone=${() => setSignedIn(true)} />`;
  const isAlone = path.startsWith("/ask/");
  return html`<div class="page ${isAlone ? "alone" : ""}">
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.querySelector("main")?.focus();
    }}>Skip to the content</a>
    ${!isAlone && html`<${Header} path=${path} />`}
    <${Bar} />
    <${View} key=${path} path=${path} me=${me.data} />
    <${Toast} /><${Dialog} />
  </div>`;
}

const theme = localStorage.getItem("errands.theme");
if (theme) document.documentElement.dataset.theme = theme;
render(html`<${Page} />`, /** @type {Element} */ (document.getElementById("page")));
start();
