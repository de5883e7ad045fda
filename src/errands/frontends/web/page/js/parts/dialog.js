// Questions of the page itself: what cannot be taken back asks first, and what needs a text gets one.
import { html, useEffect, useRef, useState } from "../html.js";
import { setAsking } from "../keys.js";

/** @type {(asked: any) => void} */
let open = () => {};

/** Ask before something is done. @param {string} title @param {string} yes @param {any} [more] @param {string} [no] @returns {Promise<boolean>} */
export const confirmed = (title, yes, more = "", no = "Back") =>
  new Promise((resolve) => open({ title, yes, no, more, done: (answer) => resolve(answer !== null) }));

/** Ask for a text; null if it was left. @param {string} title @param {string} label @param {string} yes @param {{ many?: boolean, may_be_empty?: boolean }} [how] @returns {Promise<string | null>} */
export const typed = (title, label, yes, how = {}) =>
  new Promise((resolve) => open({ title, label, yes, ...how, done: resolve }));

/** Show something until it is closed. @param {string} title @param {any} more */
export const shown = (title, more) => open({ title, more, done: () => {} });

export function Dialog() {
  const [asked, setAsked] = useState(/** @type {any} */ (null));
  const [text, setText] = useState("");
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  open = (next) => {
    setAsking(true);
    setText("");
    setAsked(next);
  };
  useEffect(() => {
    if (asked && box.current && !box.current.open) {
      box.current.showModal();
      box.current.scrollTop = 0; // the focus went to a button, which may be at the end of a long text
    }
  }, [asked]);
  if (!asked) return null;
  const end = (answer) => {
    setAsking(false);
    box.current?.close();
    setAsked(null);
    asked.done(answer);
  };
  const isReady = !asked.label || asked.may_be_empty || text.trim() !== "";
  const submit = (event) => {
    event.preventDefault();
    // What the field says, as the last key may not be drawn yet.
    const field = /** @type {HTMLInputElement | null} */ (document.getElementById("dialog-text"));
    const said = field?.value ?? "";
    if (!asked.label || asked.may_be_empty || said.trim()) end(said);
  };
  const press = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const field = {
    id: "dialog-text",
    value: text,
    onInput: (event) => setText(event.target.value),
    autofocus: true,
  };
  return html`<dialog ref=${box} class=${asked.yes ? "" : "wide"} aria-labelledby="dialog-title" onCancel=${() => end(null)}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${asked.title}</h2>
      ${asked.more && html`<div class="dialog-more">${asked.more}</div>`}
      ${
        asked.label &&
        html`<label for="dialog-text">${asked.label}</label>
          ${asked.many ? html`<textarea rows="6" ...${field} onKeyDown=${press}></textarea>` : html`<input ...${field} autocomplete="off" />`}`
      }
      <div class="buttons">
        ${asked.yes && html`<button class="first" disabled=${!isReady}>${asked.yes}</button>`}
        <button type="button" onClick=${() => end(null)}>${asked.yes ? (asked.no ?? "Back") : "Close"}</button>
      </div>
    </form>
  </dialog>`;
}
