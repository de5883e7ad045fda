// Conversations with agents.
import { ago, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html } from "../html.js";
import { Asked, Empty, plural, State } from "../parts/state.js";
import { Link, taskPath } from "../router.js";

function used(usage) {
  const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  const parts = [];
  if (tokens) parts.push(`${tokens.toLocaleString("en")} tokens`);
  if (usage.tool_calls) parts.push(plural(usage.tool_calls, "call"));
  if (usage.cost_microdollars) parts.push(`$${(usage.cost_microdollars / 1e6).toFixed(2)}`);
  return parts.join(" · ");
}

export function Agents() {
  useTick();
  const asked = useAsk("/api/agents");
  return html`<main tabindex="-1"><h1>Agents</h1>
    <${Asked} asked=${asked}>${({ agents }) =>
      agents.length
        ? html`<ul class="cards">${agents.map(
            (
              each,
            ) => html`<li key=${each.session}><${Link} class="card" to=${`${taskPath(each.row.id)}?tab=conversation`}>
              <span class="card-head"><${State} state=${each.row.state} said=${each.row.said.state} word=${true} /><span class="id">${each.row.id}</span><span class="grow"></span>
                <span class="time">${ago(each.row.completed_at || each.row.started_at || each.created_at)}</span></span>
              <span class="card-text">${each.row.what}</span>
              <span class="muted">${[each.row.agent, each.model, plural(each.prompts, "prompt"), used(each.usage), each.gone ? "the agent no longer has it" : "", each.row.said.more].filter(Boolean).join(" · ")}</span>
            <//></li>`,
          )}</ul>`
        : html`<${Empty}>No agent was asked yet. <${Link} to="/new?kind=agent">Ask one<//>, or type <code>errands ask "…"</code>.<//>`}<//>
  </main>`;
}
