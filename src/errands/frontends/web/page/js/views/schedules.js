// Recurring tasks: when they run next, how it went, and a calendar of their slots.
import { at, query } from "../api.js";
import { ago, clock, full, now, until, useTick } from "../clock.js";
import { useAsk } from "../data.js";
import { html, useState } from "../html.js";
import { Asked, colour, Empty, plural, State, sign } from "../parts/state.js";
import { doVerb } from "../parts/verbs.js";
import { Link, taskPath } from "../router.js";

/** The sign, colour and word of what became of a slot; the later in `WORST`, the worse. @param {any} slot @returns {[string, string, string]} */
function outcome(slot) {
  if (slot.outcome === "missed") return ["!", "bad", "missed"];
  if (slot.outcome === "skipped" || slot.outcome === "coalesced") return ["»", "muted", slot.outcome];
  if (slot.outcome === "waiting") return ["○", "wait", "waiting"];
  const word = slot.outcome === "late" ? "ran late" : "ran";
  return slot.state ? [sign(slot.state), colour(slot.state), `${word}, ${slot.state}`] : ["✓", "good", word];
}
const WORST = ["muted", "good", "wait", "run", "bad"];

const Streak = ({
  slots,
}) => html`<span class="streak" role="img" aria-label=${slots.length ? `latest slots: ${slots.map((each) => outcome(each)[2]).join(", ")}` : "no slots yet"}>
  ${[...slots].reverse().map((slot, index) => html`<i key=${index} class=${outcome(slot)[1]} title="${full(slot.slot)}: ${outcome(slot)[2]}">${outcome(slot)[0]}</i>`)}</span>`;

/** @param {Date} day */
const dayKey = (day) =>
  `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;

/** One month: a cell for each day with its worst outcome, and the slots of the chosen day. */
function Calendar({ id }) {
  const today = new Date(now());
  const [month, setMonth] = useState(dayKey(today).slice(0, 7));
  const [chosen, choose] = useState(dayKey(today));
  const asked = useAsk(`${at(id)}/slots${query({ month })}`);
  const [year, number] = month.split("-").map(Number);
  /** @param {number} step */
  const step = (step) => setMonth(dayKey(new Date(year, number - 1 + step, 1)).slice(0, 7));
  const days = new Date(year, number, 0).getDate();
  const before = (new Date(year, number - 1, 1).getDay() + 6) % 7;
  /** @type {Map<string, any[]>} */
  const byDay = new Map();
  for (const slot of asked.data?.slots ?? []) {
    const day = dayKey(new Date(slot.slot));
    byDay.set(day, [...(byDay.get(day) ?? []), slot]);
  }
  const list = byDay.get(chosen) ?? [];
  return html`<section class="calendar"><h3><button type="button" class="plain" aria-label="month before" onClick=${() => step(-1)}>‹</button>
      <span>${new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" }).format(new Date(year, number - 1, 1))}</span>
      <button type="button" class="plain" aria-label="month after" onClick=${() => step(1)}>›</button></h3>
    <div class="days">${["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map((each) => html`<span key=${each} class="muted" aria-hidden="true">${each}</span>`)}
      ${Array.from({ length: before }, (_, index) => html`<span key=${`b${index}`}></span>`)}
      ${Array.from({ length: days }, (_, index) => {
        const day = `${month}-${String(index + 1).padStart(2, "0")}`;
        const slots = byDay.get(day) ?? [];
        const count = slots.reduce((sum, each) => sum + each.count, 0);
        const tone = slots.map((each) => outcome(each)[1]).sort((a, b) => WORST.indexOf(b) - WORST.indexOf(a))[0] ?? "";
        return html`<button key=${day} type="button" class="day ${tone}" aria-pressed=${day === chosen} onClick=${() => choose(day)}>${index + 1}<small>${count ? html`${count}<span class="hidden"> slot${count === 1 ? "" : "s"}</span>` : ""}</small></button>`;
      })}</div>
    ${
      list.length
        ? html`<ul class="slots">${list.slice(0, 200).map(
            (
              slot,
              index,
            ) => html`<li key=${index}><span class=${outcome(slot)[1]} aria-hidden="true">${outcome(slot)[0]}</span> <span>${clock(slot.slot)}${slot.count > 1 ? ` and ${slot.count - 1} more` : ""}</span>
            <span>${outcome(slot)[2]}</span>${slot.run && html`<${Link} to=${`${taskPath(id)}?tab=output&run=${slot.run}`}>run ${slot.run}<//>`}<span class="muted">${slot.reason}</span></li>`,
          )}</ul>`
        : html`<${Empty}>${asked.isLoading ? "" : `No run yet on ${chosen}.`}<//>`
    }
  </section>`;
}

/** The schedule of one task. @param {{ schedule: any }} props */
export function ScheduleFacts({ schedule }) {
  useTick();
  return html`<div class="schedule-facts">
    <section><h2>Next</h2>${
      schedule.next_runs.length
        ? html`<ol class="next">${schedule.next_runs.map((time) => html`<li key=${time}>${full(time)} <span class="muted">${until(time)}</span></li>`)}</ol>`
        : html`<${Empty}>${schedule.row.state === "paused" ? "It is paused." : schedule.watch ? "It runs when an event comes." : "No run is scheduled."}<//>`
    }
      <p class="muted">${plural(schedule.runs, "run")} so far${schedule.max_runs ? ` of ${schedule.max_runs}` : ""}${schedule.failures ? `, ${plural(schedule.failures, "failure")} in a row` : ""}</p>
      ${schedule.watch && html`<p>Watch: ${schedule.watch.health}${schedule.watch.checked_at ? `, checked ${ago(schedule.watch.checked_at)}` : ""}${schedule.watch.last_event_at ? `, last event ${ago(schedule.watch.last_event_at)}` : ""}</p>`}
    </section>
    <${Calendar} id=${schedule.row.id} /></div>`;
}

export function Schedules() {
  useTick();
  const asked = useAsk("/api/schedules");
  return html`<main tabindex="-1"><h1>Schedules</h1>
    <${Asked} asked=${asked}>${({ schedules }) =>
      schedules.length
        ? html`<ul class="cards">${schedules.map((each) => {
            const { row } = each;
            const next = row.state === "paused" ? "" : row.next_at ? `next ${until(row.next_at)}` : "runs at an event";
            return html`<li key=${row.id} class="card schedule">
              <div class="card-head"><${State} state=${row.state} said=${row.said.state} word=${true} /><${Link} class="id" to=${`${taskPath(row.id)}?tab=schedule`}>${row.id}<//>
                <span class="next-in">${next}</span><span class="grow"></span><${Streak} slots=${each.streak} /></div>
              <div class="card-text"><span>${row.what}</span>
                <span class="muted">${each.rule}${each.last_at ? ` · last ${ago(each.last_at)}` : ""} · ${plural(each.runs, "run")}${each.failures > 1 ? html` · <span class="bad">${each.failures} failures in a row</span>` : ""}${each.watch ? ` · ${each.watch.health}${each.watch.checked_at ? `, checked ${ago(each.watch.checked_at)}` : ""}` : ""}</span></div>
              <div class="buttons"><button type="button" onClick=${async () => {
                await doVerb(row.state === "paused" ? "unpause" : "pause", row.id);
                asked.reload();
              }}>${row.state === "paused" ? "Unpause" : "Pause"}</button>
                <button type="button" onClick=${() => doVerb("fire", row.id)}>Run now</button></div></li>`;
          })}</ul><p><${Link} class="button" to="/new?every=30m">Schedule something<//></p>`
        : html`<${Empty}>Nothing is scheduled. <${Link} to="/new?every=30m">Schedule something<//>, or type <code>errands run --every 30m -- COMMAND</code>.<//>`}<//>
  </main>`;
}
