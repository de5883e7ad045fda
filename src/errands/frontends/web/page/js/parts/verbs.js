// What can be done with a task: the verbs of the server, each asking first where it cannot be taken back.
import { at, post, remove } from "../api.js";
import { html } from "../html.js";
import { go } from "../router.js";
import { confirmed, typed } from "./dialog.js";
import { attempt } from "./toast.js";

/** Label, and the question that is asked before; the order is that of the buttons. @type {Record<string, [string, string]>} */
const VERBS = {
  resume: ["Resume", ""],
  send: ["Send input", ""],
  fire: ["Run now", "Run it now?"],
  unpause: ["Unpause", ""],
  pause: ["Pause", ""],
  cancel: ["Cancel", "Cancel it?"],
  stop: ["Stop this run", "Stop this run? Its task stays."],
  restart: ["Restart", "Run it again?"],
  "ask-anew": ["Ask again", ""],
  release: ["Release", ""],
  hold: ["Hold", ""],
  clear: ["Remove", "Remove it and its files? That cannot be undone."],
};
const RARE = ["stop", "hold", "release", "clear"];

/** Do a verb to a task; return the answer, or null if it was not done. @param {string} verb @param {string} id */
export async function doVerb(verb, id) {
  const [label, question] = VERBS[verb];
  // "Cancel" and "Back" below "Cancel it?" could be taken for each other.
  const [yes, no] = verb === "cancel" ? ["Cancel the task", "Keep it running"] : [label, undefined];
  if (question && !(await confirmed(`${question.replace(/\bit\b/, id)}`, yes, "", no))) return null;
  if (verb === "clear") {
    const answer = await attempt(() => remove(at(id)));
    if (answer) go("/tasks");
    return answer;
  }
  let body = {};
  if (verb === "resume") {
    const prompt = await typed(`Resume ${id}`, "The next prompt", "Resume", { many: true });
    if (prompt === null) return null;
    body = { prompt };
  }
  if (verb === "send") {
    const text = await typed(`Send input to ${id}`, "A line of input", "Send", { may_be_empty: true });
    if (text === null) return null;
    body = { text: `${text}\n` };
  }
  return attempt(() => post(`${at(id)}/${verb}`, body));
}

/** The buttons of a task: the usual ones, and the rest below "More". */
export function Verbs({ task, onDone }) {
  const offered = Object.keys(VERBS).filter((verb) => task.can.includes(verb));
  /** @param {string} verb */
  const button = (verb) =>
    html`<button key=${verb} type="button" class=${["cancel", "clear"].includes(verb) ? "careful" : ""}
      onClick=${async () => {
        await doVerb(verb, task.row.id);
        onDone();
      }}>${VERBS[verb][0]}</button>`;
  const rare = offered.filter((verb) => RARE.includes(verb));
  const usual = offered.filter((verb) => !RARE.includes(verb));
  return html`<div class="buttons verbs">
    ${usual.map(button)}
    ${rare.length === 1 && button(rare[0])}
    ${rare.length > 1 && html`<details class="more"><summary class="button">More</summary><div class="menu">${rare.map(button)}</div></details>`}
  </div>`;
}

/** The keys of a task, for `useKeys`. @param {() => any} current the task that they are for, with what it can, or null */
export function verbKeys(current) {
  /** @param {string[]} verbs */
  const key =
    (...verbs) =>
    () => {
      const task = current();
      const verb = task && verbs.find((each) => task.can.includes(each));
      if (!verb) return false;
      doVerb(verb, task.row.id);
      return true;
    };
  return {
    cancel: key("cancel"),
    restart: key("restart"),
    resume: key("resume"),
    pause: key("pause", "unpause"),
    fire: key("fire"),
    send: key("send"),
    clear: key("clear"),
  };
}
