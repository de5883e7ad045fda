// The keys: the same letters as in `errands top`. A view says which actions it has; the table says which keys do them.
import { useEffect, useRef } from "./html.js";

/** Keys, action, place, what it does. @type {[string[], string, string, string][]} */
export const KEYS = [
  [["1"], "view_now", "everywhere", "show Now"],
  [["2"], "view_tasks", "everywhere", "show Tasks"],
  [["3"], "view_timeline", "everywhere", "show Timeline"],
  [["4"], "view_schedules", "everywhere", "show Schedules"],
  [["6"], "view_agents", "everywhere", "show Agents"],
  [["7"], "view_notices", "everywhere", "show Notices"],
  [["8"], "view_figures", "everywhere", "show Figures"],
  [["o", "i"], "new", "everywhere", "start a new task"],
  [["j", "ArrowDown"], "down", "everywhere", "move down"],
  [["k", "ArrowUp"], "up", "everywhere", "move up"],
  [["g", "Home"], "first", "everywhere", "go to the beginning"],
  [["G", "End"], "last", "everywhere", "go to the end"],
  [["Enter"], "open", "list", "open the task"],
  [["Escape"], "back", "everywhere", "go back; in a list, remove the selection and the filter"],
  [["/"], "find", "everywhere", "filter a list, or find a text in output"],
  [["x"], "select", "list", "select a task, or not"],
  [["X"], "select_all", "list", "select all tasks that match the filter, or none"],
  [["d"], "dismiss", "list", "in Now: mark what has failed so far as seen, which removes it from the list"],
  [["+"], "zoom_in", "list", "in Timeline: show a shorter time"],
  [["-"], "zoom_out", "list", "in Timeline: show a longer time"],
  [["<"], "earlier", "list", "in Timeline: show the time before"],
  [[">"], "later", "list", "in Timeline: show the time after"],
  [["l"], "group", "list", "in Timeline: group the rows by something else"],
  [["y"], "approve", "question", "show the whole question; once it was seen to its end: approve"],
  [["t"], "approve_task", "question", "approve the same for the rest of the agent's task, where that is offered"],
  [["a"], "approve_always", "question", "approve the same from now on, where that is offered"],
  [["n"], "reject", "question", "reject, with a note"],
  [["c"], "cancel", "task", "cancel (asks)"],
  [["r"], "restart", "task", "run again what has ended (asks)"],
  [["u"], "resume", "task", "type a follow-up prompt for an agent that has answered"],
  [["p"], "pause", "task", "pause or unpause: what runs, what waits, a schedule"],
  [["!"], "fire", "task", "run a scheduled task now (asks)"],
  [["s"], "send", "task", "send a line of input to a running task"],
  [["D"], "clear", "task", "remove what has ended (asks)"],
  [["f"], "follow", "log", "follow new output, or stop"],
  [["w"], "wrap", "log", "wrap long lines, or not"],
  [["n"], "next_match", "log", "go to the next match"],
  [["N"], "previous_match", "log", "go to the previous match"],
  [["e"], "next_error", "log", "go to the next line that looks like an error"],
  [["E"], "previous_error", "log", "go to the previous line that looks like an error"],
  [["m"], "gap", "log", "go to where output was not kept"],
  [["["], "earlier_run", "log", "show the run before"],
  [["]"], "later_run", "log", "show the run after"],
  [["?"], "keys", "everywhere", "list the keys"],
];

export const PLACES = {
  everywhere: "everywhere",
  list: "in a list",
  task: "on a task",
  log: "in output",
  question: "on a question",
};

/** The actions of what is on the screen; the newest come first. @type {{ current: Record<string, (event: KeyboardEvent) => any> }[]} */
const stack = [];

/** Have actions for as long as a view is shown; one that returns false leaves the key to the view below. @param {Record<string, (event: KeyboardEvent) => any>} actions */
export function useKeys(actions) {
  const held = useRef(actions);
  held.current = actions;
  useEffect(() => {
    stack.unshift(held);
    return () => stack.splice(stack.indexOf(held), 1);
  }, []);
}

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));

let isAsking = false;
/** While a dialog is open, or about to be, it has the keys. @param {boolean} asks */
export function setAsking(asks) {
  isAsking = asks;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isAsking) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") /** @type {HTMLElement} */ (event.target).blur();
    return;
  }
  if (
    ["Enter", " "].includes(event.key) &&
    event.target instanceof HTMLElement &&
    event.target.closest("a, button, summary")
  )
    return;
  const actions = KEYS.filter(([keys]) => keys.includes(event.key)).map(([, action]) => action);
  for (const { current } of stack) {
    for (const action of actions) {
      if (current[action] && current[action](event) !== false) {
        event.preventDefault();
        return;
      }
    }
  }
});
