// One question, shown whole: its answers work once its end was in view, and not while it moves.
import { at, post } from "../api.js";
import { ago, until, useTick } from "../clock.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { Link } from "../router.js";
import { TaskLink } from "./state.js";
import { attempt } from "./toast.js";

const WHOLE = 16; // lines of a question that is shown whole among others
const BEGINNING = 4; // lines of one that is not
const STILL = 500; // milliseconds without a move before an answer counts

/** Whether the reader can see the end of a question: the answers may stick to the bottom of the screen, over it. @param {Element} end */
function isInView(end) {
  const { top, bottom } = end.getBoundingClientRect();
  const answers = end.nextElementSibling?.getBoundingClientRect().top ?? innerHeight;
  const header = document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
  // A pixel is cut in parts on some screens.
  return top >= header && bottom <= Math.min(answers + 0.5, innerHeight);
}

/** Whether the end of a question was in view, and when it last moved. @param {string} shown what is shown */
function useSeen(shown) {
  const card = useRef(/** @type {HTMLElement | null} */ (null));
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const [seen, setSeen] = useState(false);
  const [still, setStill] = useState(false);
  useEffect(() => {
    setSeen(false);
    setStill(false);
    let wasSeen = false;
    let place = "";
    let since = performance.now();
    let frame = 0;
    const look = () => {
      if (card.current && end.current) {
        const here = card.current.getBoundingClientRect();
        // Scrolling is the reader's own doing; what moves by itself changes the place on the page.
        const next = `${Math.round(here.top + scrollY)} ${Math.round(here.height)} ${innerHeight}`;
        const moved = next !== place;
        if (moved) {
          place = next;
          since = performance.now();
          setStill(false);
        } else if (performance.now() - since > STILL) setStill(true);
        if (!wasSeen && !moved && isInView(end.current) && !document.hidden) {
          wasSeen = true;
          setSeen(true);
          // The hint to read on goes, which moves the buttons: they must not work for a moment before that.
          since = performance.now();
          setStill(false);
        }
      }
      frame = window.setTimeout(look, 80);
    };
    look();
    return () => clearTimeout(frame);
  }, [shown]);
  return { card, end, seen, ready: seen && still };
}

/** Whether a question is too long to be shown whole among others. @param {any} question */
export function isLong(question) {
  const columns = innerWidth < 720 ? 40 : 100;
  const lines = question.facts.flatMap((fact) => fact.value.split("\n"));
  return lines.reduce((sum, each) => sum + Math.ceil((each.length || 1) / columns), 0) > WHOLE;
}

// Beside who asked, the bare word would pass for the reason that they gave.
const LABELS = { because: "why Errands asks" };

const Asking = ({ question }) =>
  html`<p class="muted">asked ${ago(question.asked_at)} by ${question.said.asked_by} · expires ${until(question.expires_at)}</p>`;

/** The beginning of a long question: it is answered where all of it is shown. @param {{ question: any }} props */
export function QuestionInShort({ question }) {
  useTick();
  const [first, ...rest] = question.facts;
  const lines = first.value.split("\n");
  const because = rest.find((fact) => fact.name === "because");
  return html`<article class="question" aria-label="question ${question.id}">
    <header><h3><${TaskLink} id=${question.task} /></h3></header>
    <p class="question-title">${question.said.title}</p><${Asking} question=${question} />
    <pre class="beginning">${lines.slice(0, BEGINNING).join("\n").slice(0, 400)}</pre>
    ${because && html`<p class=${question.lasting ? "bad" : ""}>${LABELS.because}: ${because.value.slice(0, 400)}</p>`}
    <p><${Link} class="button" to=${`/ask/${question.id}`}>Read all of it and answer<//></p>
  </article>`;
}

/** @param {{ question: any, onAnswered: () => void, title?: boolean, me: any, alone?: boolean }} props */
export function Question({ question, onAnswered, title = true, me, alone = false }) {
  useTick();
  const { card, end, seen, ready } = useSeen(`${question.id} ${question.digest}`);
  const [yes, setYes] = useState("");
  const [note, setNote] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const mayApprove = ready && !busy && (!question.lasting || yes.trim().toLowerCase() === "yes");
  const shown = { question: question.id, digest: question.digest };

  /** @param {string} verb @param {any} body */
  const answer = async (verb, body) => {
    setBusy(true);
    const done = await attempt(() => post(`${at(question.task)}/${verb}`, { ...shown, ...body }));
    setBusy(false);
    onAnswered();
    return done;
  };
  /** @param {string} name */
  const approve = (name) => {
    if (!question.answers.some((each) => each.name === name)) return false;
    // The whole card: its answers may stick to the bottom of the screen, over the end of what is to be read.
    if (!seen) card.current?.scrollIntoView({ block: "end" });
    else if (mayApprove) answer("approve", { answer: name });
    return true;
  };
  const reject = () => {
    setNote(note ?? "");
    // At once: what is typed next belongs to the note, and must not be taken for keys.
    if (form.current) {
      form.current.hidden = false;
      form.current.querySelector("input")?.focus();
    }
    return true;
  };
  // The yes that reaches the least is the button; for a recurring task that is the task.
  const [first, ...wide] = question.answers.filter((each) => each.name !== "no");
  // With several on the screen, a key is for the one that has the focus.
  const isMine = () => alone || Boolean(card.current?.contains(document.activeElement));
  useKeys({
    approve: () => isMine() && approve(first?.name),
    approve_task: () => isMine() && approve("task"),
    approve_always: () => isMine() && approve("always"),
    reject: () => isMine() && reject(),
  });
  if (me && !me.can_approve) {
    return html`<article class="question" ref=${card}><p>${me.said.why_not}</p><div ref=${end} class="question-end"></div></article>`;
  }
  return html`<article class="question" ref=${card} aria-label="question ${question.id}">
    ${title && html`<header><h3><${TaskLink} id=${question.task} /></h3></header>`}
    <p class="question-title">${question.said.title}</p>
    <${Asking} question=${question} />
    ${question.said.changed && html`<p class="changed">It has changed since it was asked before: ${question.said.changed}</p>`}
    ${
      !question.facts.some((fact) => fact.name === "because") &&
      html`<ul class="reasons">${question.reasons.map((reason, index) => html`<li key=${index} class=${reason.undo === "no" ? "bad" : ""}><span aria-hidden="true">${reason.undo === "no" ? "✗" : "·"}</span> ${reason.text}</li>`)}</ul>`
    }
    <dl class="whole">
      ${question.facts.map(
        (fact, index) =>
          html`<div key=${index} class=${fact.name === "because" && question.lasting ? "bad" : ""}><dt>${LABELS[fact.name] ?? (fact.name || html`<span class="hidden">continued</span>`)}</dt><dd><pre>${fact.value}</pre></dd></div>`,
      )}
    </dl>
    <div ref=${end} class="question-end" aria-hidden="true"></div>
    <div class="answers">
      ${!seen && html`<p class="muted" role="status">Read on to its end; then it can be approved.</p>`}
      ${
        note === null &&
        html`${
          question.lasting &&
          html`<label class="yes">It cannot be undone. Type <b>yes</b> to approve:
            <input value=${yes} onInput=${(event) => setYes(event.target.value)} autocomplete="off" autocapitalize="none" size="5" /></label>`
        }
        <div class="buttons">
          ${first && html`<button type="button" class="approve" title=${first.said.covers} disabled=${!mayApprove} onClick=${() => approve(first.name)}>Approve</button>`}
          <button type="button" class="reject" disabled=${busy} onClick=${reject}>Reject</button>
        </div>
        ${first?.name === "task" && html`<p class="muted">${first.said.covers}</p>`}
        ${
          wide.length > 0 &&
          html`<details><summary>Approve for longer</summary>
            <dl class="wide">${wide.map((each) => html`<div key=${each.name}><dt><button type="button" disabled=${!mayApprove} onClick=${() => approve(each.name)}>${each.label}</button></dt><dd>${each.said.covers}</dd></div>`)}</dl>
          </details>`
        }`
      }
      <form ref=${form} hidden=${note === null} onSubmit=${(event) => {
        event.preventDefault();
        answer("reject", { note: event.currentTarget.elements.note.value });
      }}>
        <label>Why not? A note for whoever asked (optional)
          <input name="note" value=${note ?? ""} onInput=${(event) => setNote(event.target.value)} autocomplete="off" maxlength="2000" /></label>
        <div class="buttons"><button class="reject" disabled=${busy}>Reject</button>
          <button type="button" onClick=${() => setNote(null)}>Back</button></div>
      </form>
    </div>
  </article>`;
}
