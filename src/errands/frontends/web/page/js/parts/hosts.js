// The hosts of the fleet: how much room each has, and when it was last seen.
import { ago, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useEffect } from "../html.js";
import { Link } from "../router.js";
import { Asked, Empty } from "./state.js";

const EVERY = 5000; // milliseconds; a hidden page does not ask

/** @type {Record<string, [string, string]>} */
const STATES = { up: ["●", "good"], draining: ["◐", "wait"], gone: ["✗", "bad"] };

export function Hosts() {
  useTick();
  const asked = useAsk("/api/hosts", () => false);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && asked.reload(), EVERY);
    return () => clearInterval(timer);
  }, []);
  return html`<section aria-label="Hosts"><h2>Hosts<span class="grow"></span><${Link} to="/tasks?kind=remote">Their tasks<//></h2>
    <${Asked} asked=${asked} rows=${2}>${({ hosts }) =>
      hosts.length
        ? html`<ul class="lanes hosts">${hosts.map(
            (host, at) => html`<li key=${at}><b>${host.name}</b><span>${host.running} of ${host.slots}</span>
              <span class=${STATES[host.state][1]}><span aria-hidden="true">${STATES[host.state][0]} </span>${host.state}</span>
              <span class="muted">${[host.own ? "this home" : "", ...host.labels, `seen ${ago(host.seen_at)}`, host.version].filter(Boolean).join(" · ")}</span></li>`,
          )}</ul>`
        : html`<${Empty}>No host has joined yet.<//>`}<//>
  </section>`;
}
