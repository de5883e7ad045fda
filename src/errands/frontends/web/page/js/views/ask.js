// One question, alone on the page: what a notice or a QR code leads to.
import { useAsk } from "../data.js";
import { html } from "../html.js";
import { Question } from "../parts/question.js";
import { Asked, TaskLink } from "../parts/state.js";
import { Link } from "../router.js";

/** @param {{ number: number, me: any }} props */
export function Ask({ number, me }) {
  const asked = useAsk(`/api/questions/${number}`);
  const others = useAsk("/api/questions");
  const next = others.data?.questions.find((each) => each.id !== number);
  return html`<main class="ask" tabindex="-1">
    <p class="ask-top"><${Link} to="/">errands<//> <span class="grow"></span><span class="muted">question ${number}</span></p>
    <h1 class="hidden">Question ${number}</h1>
    <${Asked} asked=${asked}>${(data) =>
      data.open
        ? html`<${Question} alone=${true} question=${data.open} me=${me} onAnswered=${asked.reload} />`
        : html`<section class="answered"><p>${data.said.state || "This question is no longer open."}</p>
          <p><${TaskLink} id=${data.task}>See what ${data.task} does now<//></p>
          ${next && html`<p><${Link} class="button" to=${`/ask/${next.id}`}>The next question<//></p>`}</section>`}
    <//>
  </main>`;
}
