// A new task: a command, a prompt or a template. What would happen is shown before it starts.
import { post } from "../api.js";
import { short } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { Asked, Refused, TaskLink } from "../parts/state.js";
import { attempt } from "../parts/toast.js";
import { go, taskPath, useAddress } from "../router.js";
import { sections, words } from "./options.js";

const LISTS = ["commands", "tasks", "names", "addresses"];
const MAPS = ["variables", "settings", "budget"];

/** What a field says, as the server wants it; undefined if it says nothing. @param {any} option @param {any} value */
function meant(option, value) {
  if (value === "" || value === undefined || value === false) return undefined;
  if (option.type === "flag") return true;
  if (option.type === "count") return /^-?\d+$/.test(value.trim()) ? Number(value) : value;
  const lines = String(value)
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean);
  if (LISTS.includes(option.type)) return lines;
  if (MAPS.includes(option.type)) {
    return Object.fromEntries(
      lines.map((each) => {
        const [name, ...rest] = each.split("=");
        const text = rest.join("=");
        return [name, option.type === "budget" && /^\d+$/.test(text) ? Number(text) : text];
      }),
    );
  }
  return String(value);
}

/** Whether a duration is a bare number: for the server that many seconds, for a person anything. @param {any} option @param {any} value */
const lacksUnit = (option, value) => option.type === "duration" && /^\s*[1-9]\d*\s*$/.test(value ?? "");

/** @param {string} text */
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

function Field({ option, value, onInput, choices = null }) {
  const id = `option-${option.name}`;
  const [label, hint] = words(option);
  const bare = lacksUnit(option, value) && value.trim();
  const offered = choices ?? option.choices;
  const shared = {
    id,
    "aria-describedby": `${id}-help`,
    onInput: (event) => onInput(option.type === "flag" ? event.target.checked : event.target.value),
  };
  const isLong = LISTS.includes(option.type) || MAPS.includes(option.type);
  return html`<div class="field ${option.type === "flag" ? "check" : ""}"><label for=${id}>${label}</label>
    ${
      option.type === "flag"
        ? html`<input type="checkbox" ...${shared} checked=${Boolean(value)} />`
        : offered.length
          ? html`<select ...${shared} value=${value || ""}><option value="">${option.default ? `as configured (${option.default})` : "–"}</option>${offered.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`
          : isLong
            ? html`<textarea rows="2" ...${shared} value=${value || ""} placeholder=${MAPS.includes(option.type) ? "NAME=VALUE, one on a line" : "one on a line"}></textarea>`
            : html`<input ...${shared} value=${value || ""} autocomplete="off" aria-invalid=${bare ? "true" : null} />`
    }
    <small id="${id}-help" class=${bare ? "bad" : "muted"}>${bare ? `${bare} what? Write ${bare}s, ${bare}m, ${bare}h or ${bare}d.` : hint}</small></div>`;
}

function Form({ options, first }) {
  const { query: address } = useAddress();
  const kind = address.get("kind") === "agent" ? "agent" : "shell";
  const [text, setText] = useState("");
  const [values, setValues] = useState(/** @type {Record<string, any>} */ (first));
  const [judged, setJudged] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const what = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => what.current?.focus(), [kind]); // `autofocus` works only when the page itself is loaded
  const fields = options.options.filter((each) => !each.kind || each.kind === kind);
  const body = () => ({
    [kind === "agent" ? "prompt" : "command"]: text,
    ...Object.fromEntries(
      fields.map((each) => [each.name, meant(each, values[each.name])]).filter(([, value]) => value !== undefined),
    ),
  });
  const isUnclear = fields.some((each) => lacksUnit(each, values[each.name]));
  const written = text.trim() && !isUnclear ? JSON.stringify(body()) : "";
  useEffect(() => {
    setError(null);
    if (!written) {
      setJudged(null);
      return undefined;
    }
    let gone = false;
    const timer = setTimeout(() => {
      post("/api/judge", JSON.parse(written)).then(
        (answer) => !gone && setJudged(answer),
        (refusal) => {
          if (gone) return;
          setJudged(null);
          setError(refusal);
        },
      );
    }, 400);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [written]);
  const start = async (event) => {
    event.preventDefault();
    if (busy || !text.trim() || isUnclear) return;
    setBusy(true);
    setError(null);
    try {
      const answer = await post("/api/tasks", body());
      go(taskPath(answer.row.id));
    } catch (refusal) {
      setError(refusal);
      setBusy(false);
    }
  };
  const field = (option) => html`<${Field} key=${option.name} option=${option} value=${values[option.name]}
    choices=${option.name === "agent" ? options.agents : null}
    onInput=${(value) => setValues((before) => ({ ...before, [option.name]: value }))} />`;
  const [[, usual], ...rare] = sections(fields);
  return html`<form class="new-form" onSubmit=${start}>
    <div class="chips" role="group" aria-label="what to start">${
      /** @type {[string, string][]} */ ([
        ["shell", "A command"],
        ["agent", "A prompt to an agent"],
      ]).map(
        ([name, title]) =>
          html`<button key=${name} type="button" class="chip" aria-pressed=${kind === name} onClick=${() => go(`/new?kind=${name}`, true)}>${title}</button>`,
      )
    }</div>
    <label for="what">${kind === "agent" ? "Prompt" : "Command, as in a shell"}</label>
    <textarea id="what" ref=${what} class=${kind === "agent" ? "" : "mono"} rows=${kind === "agent" ? 5 : 2} value=${text} spellcheck=${kind === "agent"}
      onInput=${(event) => setText(event.target.value)}
      onKeyDown=${(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && start(event)}></textarea>
    <div class="judged" role="status">${
      judged
        ? html`<p class=${judged.verdict === "deny" ? "bad" : judged.starts ? "good" : "you"}>${sentence(judged.said.text)} ${judged.reasons.map((each) => each.text).join("; ")}</p>
        ${
          judged.next_runs.length > 0 &&
          html`<p>First runs: ${judged.next_runs
            .slice(0, 3)
            .map((each) => short(each))
            .join(" · ")}</p>`
        }`
        : html`<span class="muted">${error || text ? "" : `It runs in ${options.cwd}.`}</span>`
    }</div>
    <${Refused} error=${error} />
    <div class="fields">${usual.map(field)}</div>
    ${rare.map(([title, options]) => html`<details key=${title}><summary>${title}</summary><div class="fields">${options.map(field)}</div></details>`)}
    <div class="buttons stick"><button class="first" disabled=${busy || !text.trim() || isUnclear}>${judged?.starts === false ? "Ask for approval" : values.every || values.cron || values.on ? "Schedule" : "Start"}</button><span class="muted">Ctrl+Enter</span></div>
  </form>`;
}

function Template({ template }) {
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [done, setDone] = useState("");
  const start = async (event) => {
    event.preventDefault();
    const answer = await attempt(() => post(`/api/templates/${encodeURIComponent(template.name)}`, { values }));
    if (answer) setDone(answer.row.id);
  };
  return html`<form class="card" onSubmit=${start}><div class="card-head"><b>${template.name}</b></div><pre>${template.said.what}</pre>
    ${template.parameters.map((name) => html`<div key=${name} class="field"><label for="t-${template.name}-${name}">${name}</label><input id="t-${template.name}-${name}" value=${values[name] || ""} onInput=${(event) => setValues({ ...values, [name]: event.target.value })} /></div>`)}
    <div class="buttons"><button>Start</button>${done && html`<${TaskLink} id=${done} />`}</div></form>`;
}

export function New() {
  const asked = useAsk("/api/options", () => false);
  const templates = useAsk("/api/templates", () => false);
  const { query: address } = useAddress();
  return html`<main class="new-view" tabindex="-1"><h1>New task</h1>
    <${Asked} asked=${asked}>${(options) => html`<${Form} options=${options} first=${address.get("every") ? { every: address.get("every") } : {}} />`}<//>
    ${templates.data?.templates.length > 0 && html`<section><h2>Templates</h2><div class="cards">${templates.data.templates.map((each) => html`<${Template} key=${each.name} template=${each} />`)}</div></section>`}
  </main>`;
}
