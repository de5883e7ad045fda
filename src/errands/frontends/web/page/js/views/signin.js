// Signing in: a one-time code, from a link or typed in. It is in the fragment, which no server sees.
import { post, setKey } from "../api.js";
import { html, useEffect, useState } from "../html.js";
import { Refused } from "../parts/state.js";

/** @param {{ onDone: () => void }} props */
export function SignIn({ onDone }) {
  const [code, setCode] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  /** @param {string} text a code, or the link that it is in */
  const use = async (text) => {
    setBusy(true);
    setError(null);
    try {
      const answer = await post("/api/sign-in", { code: text.trim().replace(/^.*#code=/, "") });
      setKey(answer.key);
      onDone();
    } catch (refusal) {
      setError(refusal);
      setBusy(false);
    }
  };
  useEffect(() => {
    const read = () => {
      const [, given] = location.hash.split("#code=");
      if (!given) return;
      // It works once: it must not stay in the history.
      history.replaceState(null, "", location.pathname + location.search);
      use(given);
    };
    read();
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return html`<main class="signin" tabindex="-1">
    <h1>errands</h1>
    <p>This browser is not signed in. Type this in a terminal, and open the link that it prints:</p>
    <pre class="command">errands web</pre>
    <form onSubmit=${(event) => {
      event.preventDefault();
      use(code);
    }}>
      <label for="code">Or paste the link or its code</label>
      <input id="code" value=${code} onInput=${(event) => setCode(event.target.value)} autocomplete="off" spellcheck="false" />
      <div class="buttons"><button class="first" disabled=${busy || !code.trim()}>${busy ? "Signing in …" : "Sign in"}</button></div>
    </form>
    <${Refused} error=${error} />
  </main>`;
}
