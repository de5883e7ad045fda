// How runs went over time: duration, success, tokens and cost, each with its table.
import { query } from "../api.js";
import { exact as duration, short } from "../clock.js";
import { useAsk } from "../data.js";
import { html } from "../html.js";
import { Asked, colour, Empty, plural, State, TaskLink } from "../parts/state.js";
import { setQuery, useAddress } from "../router.js";

const WIDE = innerWidth < 720 ? 340 : 640; // as wide as it is drawn, so that its texts can be read
const HIGH = 140;
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const DAYS = /** @type {Record<string, number>} */ ({ "1d": 1, "7d": 7, "30d": 30 });

/** Dots over time. */
function Dots({ title, points, value, said, line = null }) {
  const shown = points.filter((each) => value(each) !== null);
  if (!shown.some((each) => value(each) > 0)) return null;
  const from = new Date(shown[0].at).getTime();
  const to = Math.max(from + 1, new Date(shown.at(-1).at).getTime());
  const most = Math.max(...shown.map(value));
  const x = (each) => 8 + ((new Date(each.at).getTime() - from) / (to - from)) * (WIDE - 16);
  /** @param {number} amount */
  const y = (amount) => HIGH - 22 - (amount / most) * (HIGH - 34);
  return html`<section class="plot"><h2>${title}<span class="grow"></span><span class="muted">${line === null ? "" : `median ${said(line)}, `}at most ${said(most)}</span></h2>
    <svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="${title} over time; the table below has the values">
      <line class="grid" x1="0" x2=${WIDE} y1=${HIGH - 20} y2=${HIGH - 20} />
      <text class="mark" x="8" y=${HIGH - 6}>${short(shown[0].at)}</text><text class="mark" x=${WIDE - 8} y=${HIGH - 6} text-anchor="end">${short(shown.at(-1).at)}</text>
      ${line !== null && html`<line class="median" x1="0" x2=${WIDE} y1=${y(line)} y2=${y(line)} />`}
      ${shown.map((each, index) => html`<circle key=${index} class=${colour(each.state)} cx=${x(each)} cy=${y(value(each))} r="3"><title>${each.task}: ${said(value(each))}</title></circle>`)}
    </svg></section>`;
}

/** Bars by day. */
function Days({ days }) {
  if (!days.length) return null;
  const most = Math.max(1, ...days.map((day) => day.completed + day.failed + day.other));
  const wide = Math.min(40, (WIDE - 16) / days.length);
  return html`<section class="plot"><h2>Success by day<span class="grow"></span><span class="muted">at most ${plural(most, "run")}</span></h2><svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="runs by day; the table below has the values">
    ${days.map((day, index) => {
      let top = HIGH - 18;
      return html`<g key=${day.day}><title>${day.day}: ${day.completed} completed, ${day.failed} failed, ${day.other} other</title>
        ${
          /** @type {[string, string][]} */ ([
            ["completed", "good"],
            ["other", "muted"],
            ["failed", "bad"],
          ]).map(([name, tone]) => {
            const high = (day[name] / most) * (HIGH - 30);
            top -= high;
            return html`<rect key=${name} class=${tone} x=${8 + index * wide} y=${top} width=${Math.max(2, wide - 3)} height=${high} />`;
          })
        }
        ${(wide > 36 || index % Math.ceil(36 / wide) === 0) && html`<text class="mark" x=${8 + index * wide} y=${HIGH - 4}>${DAY.format(new Date(`${day.day}T12:00`))}</text>`}</g>`;
    })}</svg>
    <details><summary>Days as a table</summary><table><thead><tr><th scope="col">Day</th><th scope="col">Completed</th><th scope="col">Failed</th><th scope="col">Other</th></tr></thead>
      <tbody>${days.map((day) => html`<tr key=${day.day}><td>${day.day}</td><td>${day.completed}</td><td>${day.failed}</td><td>${day.other}</td></tr>`)}</tbody></table></details></section>`;
}

export function Figures() {
  const { query: address } = useAddress();
  const wanted = DAYS[address.get("window") || ""] ? /** @type {string} */ (address.get("window")) : "30d";
  const name = address.get("name") || "";
  const since = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - DAYS[wanted] * 86_400_000).toISOString();
  const asked = useAsk(`/api/figures${query({ name, since })}`);
  return html`<main tabindex="-1"><h1>Figures</h1>
    <div class="list-bar wrap"><span class="chips" role="group" aria-label="window">${Object.keys(DAYS).map((each) => html`<button key=${each} type="button" class="chip" aria-pressed=${wanted === each} onClick=${() => setQuery({ window: each })}>${each}</button>`)}</span>
      <label>of <select onChange=${(event) => setQuery({ name: event.target.value })}><option value="">all tasks</option>
        ${(asked.data?.names ?? (name ? [{ name, runs: 0 }] : [])).map((each) => html`<option key=${each.name} value=${each.name} selected=${each.name === name}>${each.name}${each.runs ? ` (${each.runs})` : ""}</option>`)}</select></label>
      <span class="muted">${asked.data?.said.summary ?? ""}</span></div>
    <${Asked} asked=${asked}>${(data) =>
      data.points.length
        ? html`<div class="plots">
          <${Dots} title="Duration" points=${data.points} value=${(each) => each.seconds} said=${duration} line=${data.median} />
          <${Days} days=${data.days} />
          <${Dots} title="Tokens" points=${data.points} value=${(each) => each.tokens || null} said=${(each) => each.toLocaleString("en")} />
          <${Dots} title="Cost" points=${data.points} value=${(each) => each.cost || null} said=${(each) => `$${each.toFixed(2)}`} /></div>
          <details><summary>Runs as a table</summary><div class="table-frame" tabindex="0" role="region" aria-label="values"><table><thead><tr><th scope="col">Ended</th><th scope="col">Task</th><th scope="col">State</th><th scope="col">Took</th><th scope="col">Tokens</th><th scope="col">Cost</th></tr></thead>
          <tbody>${[...data.points]
            .reverse()
            .slice(0, 200)
            .map(
              (each, index) =>
                html`<tr key=${index}><td>${short(each.at)}</td><td><${TaskLink} id=${each.task} /></td><td><${State} state=${each.state} word=${true} /></td><td>${each.seconds === null ? "" : duration(each.seconds)}</td><td>${each.tokens || ""}</td><td>${each.cost ? `$${each.cost.toFixed(2)}` : ""}</td></tr>`,
            )}</tbody></table></div></details>`
        : html`<${Empty}>No run ended in this time${name ? ` under the name ${name}` : ""}.<//>`}<//>
  </main>`;
}
