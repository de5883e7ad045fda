// Signed-in browsers, the theme, the configuration with its origins, the doctor, and the keys.
import { post, remove, setKey } from "../api.js";
import { ago, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useState } from "../html.js";
import { Asked } from "../parts/state.js";
import { attempt } from "../parts/toast.js";

const LEVELS = /** @type {Record<string, [string, string]>} */ ({
  ok: ["✓", "good"],
  warn: ["!", "wait"],
  fail: ["✗", "bad"],
});

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("errands.theme") || "");
  /** @param {string} next */
  const choose = (next) => {
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    if (next) localStorage.setItem("errands.theme", next);
    else localStorage.removeItem("errands.theme");
    setTheme(next);
  };
  return html`<section><h2>Theme</h2><div class="chips" role="group" aria-label="theme">${
    /** @type {[string, string][]} */ ([
      ["", "system"],
      ["light", "light"],
      ["dark", "dark"],
    ]).map(
      ([name, title]) =>
        html`<button key=${name} type="button" class="chip" aria-pressed=${theme === name} onClick=${() => choose(name)}>${title}</button>`,
    )
  }</div></section>`;
}

function Browsers() {
  useTick();
  const asked = useAsk("/api/sessions", () => false);
  return html`<section><h2>Signed-in browsers</h2><${Asked} asked=${asked} rows=${2}>${({ sessions }) =>
    html`<ul class="cards">${sessions.map(
      (
        each,
      ) => html`<li key=${each.id} class="card"><div class="card-head"><b>${each.browser}</b>${each.current && html`<span class="good">this one</span>`}<span class="grow"></span>
      <button type="button" onClick=${async () => {
        if (each.current) {
          await attempt(() => post("/api/sign-out"));
          setKey("");
        } else {
          await attempt(() => remove(`/api/sessions/${encodeURIComponent(each.id)}`));
          asked.reload();
        }
      }}>Sign out</button></div>
      <div class="muted">from ${each.address} · signed in ${ago(each.created_at)} · used ${ago(each.seen_at)}</div></li>`,
    )}</ul>`}<//></section>`;
}

function Doctor() {
  const [wanted, setWanted] = useState(false);
  const asked = useAsk(wanted ? "/api/doctor" : null, () => false);
  return html`<section><h2>Doctor</h2>${
    wanted
      ? html`<${Asked} asked=${asked}>${(data) =>
          html`<p>${data.said.verdict}</p><ul class="findings">${data.findings.map(
            (each, index) =>
              html`<li key=${index}><span class=${LEVELS[each.level][1]}><span aria-hidden="true">${LEVELS[each.level][0]}</span><span class="hidden">${each.level}</span></span> <span><b>${each.section}</b> ${each.text}${each.advice && html`<br /><span class="muted">${each.advice}</span>`}</span></li>`,
          )}</ul>`}<//>`
      : html`<button type="button" onClick=${() => setWanted(true)}>Check the installation</button>`
  }</section>`;
}

/** @param {{ keys: any }} props */
export function Settings({ keys }) {
  const asked = useAsk("/api/settings", () => false);
  const [text, setText] = useState("");
  return html`<main class="settings-view" tabindex="-1"><h1>Settings</h1>
    <${Theme} /><${Browsers} /><${Doctor} />
    <section><h2>Configuration</h2><${Asked} asked=${asked}>${(data) => html`
      <p class="muted">Errands ${data.version} · ${data.home} · change it in ${data.file}, or with <code>errands config set</code></p>
      <input type="search" aria-label="find a setting" placeholder="find a setting" value=${text} onInput=${(event) => setText(event.target.value)} />
      <div class="table-frame" tabindex="0" role="region" aria-label="settings"><table><thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">From</th></tr></thead><tbody>
      ${data.settings.filter((each) => each.key.includes(text)).map((each) => html`<tr key=${each.key}><td class="id">${each.key}</td><td class="words"><code>${each.value}</code></td><td class="muted">${each.origin}</td></tr>`)}</tbody></table></div>`}<//></section>
    <section><h2>Keys</h2>${keys}</section>
  </main>`;
}
