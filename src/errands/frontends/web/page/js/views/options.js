// The options of a new task in words for people, and in sections: what is used often stands first.

/** Labels and, where the help of the command line says it less well, hints. @type {Record<string, [string, string?]>} */
const WORDS = {
  cwd: ["Directory", "Where it runs."],
  every: ["Repeat every", "30m, 2h or 1d; empty: it runs once."],
  at: ["Start later", "18:30, tomorrow 9:00 or +2h; empty: now."],
  name: ["Name", "Its id begins with it."],
  agent: ["Agent", "Which agent answers it."],
  model: ["Model", "Empty: the agent's default."],
  cron: ["Repeat at", "30 9 * * 1-5 is 9:30 on weekdays; @daily works, too."],
  zone: ["Time zone", "Such as Europe/Vienna."],
  hours: ["Only between", "9-17, 22-6 or Mon-Fri 9:00-17:30."],
  jitter: ["Spread starts over", "Each start is up to this much later."],
  misfire: ["Missed runs"],
  max_age: ["Skip if later than"],
  max_runs: ["Number of runs", "It ends after that many."],
  on: ["Run when", "file:PATTERN, command:LINE, github:OWNER/REPO, webhook:NAME or task:ID."],
  on_options: ["Details of the event"],
  debounce: ["Wait for quiet", "It runs once nothing more has happened for this long."],
  max_wait: ["But at most"],
  rate: ["Runs per hour, at most"],
  timeout: ["Stop after"],
  idle: ["Stop when silent for"],
  on_idle: ["When it is silent"],
  grace: ["Time to end by itself", "After it was asked to stop; 0 kills it at once."],
  retries: ["Try again", "How often, if it fails; each time it waits longer."],
  memory: ["Memory, at most"],
  cpu: ["CPU time, at most"],
  processes: ["Processes, at most"],
  nice: ["Niceness", "From -20 (goes first) to 19 (gives way)."],
  output: ["Output to keep"],
  budget: ["Budget"],
  before: ["Run first"],
  // biome-ignore lint/suspicious/noThenProperty: the name of an option; nothing awaits this table
  then: ["Run next", "If everything before succeeded."],
  lastly: ["Run last", "However it ended."],
  after: ["Wait for tasks", "It starts when they have completed."],
  hold: ["Do not start yet", "It waits until you release it."],
  lane: ["Lane", "Tasks of a lane share its slots."],
  priority: ["Priority"],
  host: ["Host", "Another machine of the fleet: its name or a label."],
  on_loss: ["If its host is lost"],
  env: ["Variables"],
  input: ["Input"],
  sandbox: ["Sandbox"],
  tools: ["Tools", "Only these."],
  allow: ["Commands without asking"],
  allow_tools: ["Tools without asking"],
  fork: ["Continue a copy of"],
  notify: ["Report"],
  channels: ["Report to"],
  description: ["What it is for"],
  batch: ["Batch", "A word to group tasks by."],
  key: ["Only once per key", "A task that was started with the same key is shown instead."],
};

/** @type {[string, string][]} */
const SECTIONS = [
  ["", "cwd every at agent model name"],
  ["More about the schedule", "cron zone hours jitter misfire max_age max_runs"],
  ["When something happens", "on on_options debounce max_wait rate"],
  ["What the agent may do", "tools allow allow_tools fork budget"],
  ["Limits and retries", "timeout idle on_idle grace retries memory cpu processes nice output"],
  ["Before and after", "after hold before then lastly"],
  ["Where and how it runs", "lane priority host on_loss env input sandbox"],
  ["Reports and labels", "notify channels description batch key"],
];

/** @param {any} option @returns {[string, string]} */
export function words(option) {
  const [label, hint] = WORDS[option.name] ?? [option.name.replaceAll("_", " ")];
  return [label, hint ?? `${option.help[0].toUpperCase()}${option.help.slice(1)}.`];
}

/** The options of a kind of task in sections; those that no section names come last. @param {any[]} options @returns {[string, any[]][]} */
export function sections(options) {
  const left = new Map(options.map((each) => [each.name, each]));
  /** @param {string} name */
  const take = (name) => {
    const found = left.get(name);
    left.delete(name);
    return found;
  };
  const found = SECTIONS.map(
    ([title, names]) => /** @type {[string, any[]]} */ ([title, names.split(" ").map(take).filter(Boolean)]),
  );
  return [...found, /** @type {[string, any[]]} */ (["Other", [...left.values()]])].filter(([, each]) => each.length);
}
