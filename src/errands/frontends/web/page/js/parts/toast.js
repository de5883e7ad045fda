// What a verb did, said once at the foot of the page, and to a screen reader.
import { html, useEffect, useState } from "../html.js";

/** @type {(said: { text: string, bad: boolean } | null) => void} */
let show = () => {};

/** @param {string} text */
export const tell = (text) => show({ text, bad: false });
export const refuse = (error) => show({ text: error.message, bad: true });

/** Do something and say what came of it. @param {() => Promise<any>} act @returns {Promise<any>} */
export async function attempt(act) {
  try {
    const answer = await act();
    if (answer?.said?.text) tell(answer.said.text);
    return answer;
  } catch (error) {
    refuse(error);
    return null;
  }
}

export function Toast() {
  const [said, setSaid] = useState(/** @type {any} */ (null));
  show = setSaid;
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(null), said.bad ? 15_000 : 5000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${
      said &&
      html`<div class="toast ${said.bad ? "bad" : ""}">
        <span>${said.text}</span>
        <button type="button" class="plain" aria-label="close" onClick=${() => setSaid(null)}>✕</button>
      </div>`
    }
  </div>`;
}
