"""The table of task options: the one place that says what a task can be asked for.

The command line, the Python API, templates, tools, the configuration's defaults and the reference all read
it. A new option is an entry here, a field of `Draft`, a key of `TaskOptions`, and the code that applies it.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.action import INPUTS, WALLS
from errands.model.approval import CONSENTS
from errands.model.limits import ON_IDLE, ON_LOSS, SMALLEST_MEMORY, SMALLEST_OUTPUT
from errands.model.notices.notice import POLICIES
from errands.model.record import record
from errands.model.schedule.event_sources import KINDS
from errands.model.task import PRIORITIES
from errands.model.trigger import MISFIRES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Type = Literal[
        "text",  # bytes that are not UTF-8 are kept as escapes
        "label",  # UTF-8
        "path",
        "choice",
        "flag",
        "count",
        "size",
        "duration",
        "time",
        "commands",
        "tasks",
        "names",
        "addresses",
        "variables",
        "settings",
        "budget",
    ]
    # What completes a value in a shell.
    Completes = Literal["", "tasks", "batches", "lanes", "channels", "sources", "directories"]
    # Where an option belongs: to the task, to one start of it, to its recurrence, or to the caller.
    Group = Literal["task", "start", "recurring", "caller"]

TRIGGERS = ("at", "every", "cron", "on")
_SCHEDULE = ("every", "cron")
RECURRING = ("every", "cron", "on")
_EVENTS = [f"{name}:{kind.metavar}" for name, kind in KINDS.items()]
_MOMENT = timedelta(milliseconds=1)


@record
class TaskOption:
    """One option of a task; without flags it exists only in Python.

    `kind` is the kind of task it applies to, "" for both. One of the options in `needs` must be given too,
    and none of those in `excludes`.
    `unlimited` options take `none` to lift the limit that the configuration sets. `setting` is the
    configuration key of the default, `default` and `agent_default` say the default in words. A template
    keeps what is `saved`. `tool` describes the option to an agent; without it tools do not offer the option.
    `switches` are flags that stand for a value: (flag, value, help).
    """

    name: str
    type: Type
    help: str
    flags: tuple[str, ...] = ()
    metavar: str = ""
    group: Group = "task"
    kind: Literal["", "shell", "agent"] = ""
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    switches: tuple[tuple[str, str, str], ...] = ()
    least: int | timedelta | None = None
    most: int | None = None
    unlimited: bool = False
    default: str = ""
    agent_default: str = ""
    setting: str = ""
    saved: bool = True
    tool: str = ""
    longest: int = 200
    completes: Completes = ""

    @property
    def repeats(self) -> bool:
        """Whether its flag can be given several times."""
        return self.type in REPEATED

    @property
    def values(self) -> str:
        """What to write for the value, in help."""
        return self.metavar or _METAVARS.get(self.type, "TEXT")


REPEATED = ("commands", "tasks", "names", "addresses", "variables", "settings", "budget")
_METAVARS = {
    "count": "N",
    "size": "SIZE",
    "duration": "DURATION",
    "time": "TIME",
    "commands": "LINE",
    "tasks": "ID",
    "names": "NAME",
    "addresses": "NAME[:TARGET]",
    "variables": "NAME=VALUE",
    "settings": "NAME=VALUE",
    "budget": "NAME=NUMBER",
}


def _option(name: str, type: Type, flag: str, help: str, **more: Any) -> TaskOption:
    return TaskOption(name=name, type=type, flags=(flag,) if flag else (), help=help, **more)


# In the order of the help.
OPTIONS = (
    _option("name", "text", "--name", "a name; the id starts with it", metavar="NAME",
            tool="short name, becomes part of the id"),
    _option("description", "text", "--description", "what the task is for"),
    _option("cwd", "path", "--cwd", "run in this directory instead of the current one", metavar="DIR",
            tool="directory; default: where you are", longest=4096, completes="directories"),
    _option("env", "variables", "--env", "set an environment variable",
            tool='environment variables to set: {"NAME": "value"}'),
    _option("lane", "label", "--lane", "the lane to queue in", metavar="LANE", default="shell",
            agent_default="agent, or the lane of the agent's settings", completes="lanes"),
    _option("priority", "choice", "--priority", "how soon it starts, compared with others in its lane",
            choices=PRIORITIES, default="normal"),
    _option("batch", "label", "--batch", "a label to group tasks by", metavar="NAME", completes="batches",
            tool="label of tasks that belong together; default: those of one message"),
    _option("host", "label", "--host",
            "run it on a host of the fleet: its name or a label (docs/how-to/hosts.md); 'here' means this "
            "host",
            metavar="HOST",
            default="this host, or runs.host",
            tool="name or label of the host to run on; default: this one"),
    _option("then", "commands", "--then", "a command to run next, if everything before it succeeded",
            kind="shell"),
    _option("before", "commands", "--before", "a hook: a command to run first", kind="shell"),
    _option("lastly", "commands", "--finally", "a hook: a command to run last, however the run ended",
            kind="shell"),
    _option("timeout", "duration", "--timeout",
            "stop a run that takes longer than this; 'none' means no limit", least=_MOMENT, unlimited=True,
            setting="runs.timeout", agent_default="agents.timeout",
            tool="stop it after this long, such as 10m; 'none' means no limit"),
    _option("idle", "duration", "--idle-timeout",
            "stop a run that prints nothing for this long; 'none' means no limit", least=_MOMENT,
            unlimited=True, setting="runs.idle"),
    _option("on_idle", "choice", "--on-idle", "what to do at the idle timeout", choices=ON_IDLE,
            setting="runs.on_idle"),
    _option("grace", "duration", "--grace",
            "how long a run may take to end after SIGTERM; 0 kills it at once", least=timedelta(),
            setting="runs.grace"),
    _option("retries", "count", "--retries",
            "run it again up to N times if it fails, waiting schedules.backoff first, and twice as long each "
            "time",
            least=0, most=1000, default="0", excludes=RECURRING,
            tool="how many times to run it again if it fails; default 0"),
    _option("on_loss", "choice", "--on-loss",
            "what to do if the host that runs it is lost: fail it, or run it again on another host",
            choices=ON_LOSS, kind="shell", default="lost"),
    _option("memory", "size", "--memory",
            "stop a run that uses more memory than this; 'none' means no limit", least=SMALLEST_MEMORY,
            unlimited=True, setting="runs.memory"),
    _option("cpu", "duration", "--cpu",
            "stop a run that uses more CPU time than this; 'none' means no limit", least=_MOMENT,
            unlimited=True, setting="runs.cpu"),
    _option("processes", "count", "--processes",
            "stop a run that has more processes than this; 'none' means no limit", least=0,
            unlimited=True, setting="runs.processes"),
    _option("nice", "count", "--nice", "the niceness of its processes: -20 goes first, 19 last",
            least=-20, most=19, default="the daemon's"),
    _option("output", "size", "--output-cap", "how much output to keep", least=SMALLEST_OUTPUT,
            setting="runs.output_cap"),
    _option("input", "choice", "", "how the command takes input", choices=INPUTS,
            kind="shell", default="none",
            switches=(
                ("--stdin", "pipe",
                 "keep stdin open for errands send; with --wait, pass your own stdin through"),
                ("--pty", "pty", "run it in a pseudo-terminal, with input as for --stdin"),
            )),
    _option("sandbox", "choice", "", "what the command cannot reach: other files, or also the network",
            choices=WALLS, kind="shell", default="none",
            switches=(
                ("--sandbox", "files",
                 "let it write only inside its project, and hide secrets from it (needs bubblewrap)"),
                ("--no-network", "network", "like --sandbox, without network access"),
            )),
    _option("notify", "choice", "--notify", "which results to report", choices=POLICIES,
            default="always, or notices.policy; for a recurring task on_change",
            tool="which results to report; default: always, or on_change if it runs repeatedly"),
    _option("channels", "addresses", "--channel",
            "where to report besides the inbox; 'none' means nowhere else",
            default="$ERRANDS_CHANNEL or notices.channels", completes="channels"),
    _option("every", "duration", "--every", "run it repeatedly, at this interval: 30s, 30m, 2h, 1d",
            group="recurring", least=timedelta(seconds=1), tool="run it repeatedly: 30s, 30m, 2h, 1d"),
    _option("cron", "label", "--cron",
            "run it repeatedly: minute hour day month weekday, such as '30 9 * * 1-5', or @daily",
            metavar="LINE", group="recurring",
            tool="run it repeatedly: minute hour day month weekday, such as 30 9 * * 1-5"),
    _option("zone", "label", "--tz", "the time zone of the schedule or of --at, such as Europe/Vienna",
            metavar="ZONE", group="recurring", needs=(*_SCHEDULE, "at"), default="schedules.zone"),
    _option("hours", "label", "--active-hours",
            "run it only in these hours: 9-17, 22-6 or 'Mon-Fri 9:00-17:30'", metavar="HOURS",
            group="recurring", needs=_SCHEDULE),
    _option("jitter", "duration", "--jitter",
            "delay each start by up to DURATION (always the same delay for the same slot)",
            group="recurring", needs=_SCHEDULE, least=_MOMENT),
    _option("misfire", "choice", "--misfire",
            "what to do about missed runs: run the latest one, none, or all in turn", choices=MISFIRES,
            group="recurring", needs=_SCHEDULE, default="once"),
    _option("max_age", "duration", "--max-age", "skip a run that would start more than DURATION late",
            group="recurring", needs=_SCHEDULE, least=_MOMENT),
    _option("max_runs", "count", "--max-runs", "end the task after N runs", group="recurring",
            needs=RECURRING, least=1),
    _option("on", "text", "--on",
            f"run it whenever this happens: {', '.join(_EVENTS[:-1])} or {_EVENTS[-1]}",
            metavar="SOURCE:SUBJECT", group="recurring", completes="sources", longest=4096,
            tool="run it whenever this happens: file:src/**/*.py, command:git rev-parse HEAD"),
    _option("on_options", "settings", "--on-option",
            "an option of the event source, such as every=1m or events=created (docs/how-to/events.md)",
            group="recurring", needs=("on",)),
    _option("debounce", "duration", "--debounce", "run once nothing more has happened for this long",
            group="recurring", needs=("on",), least=timedelta(), default="2s"),
    _option("max_wait", "duration", "--max-wait",
            "start at most this long after the first event, even if more follow", group="recurring",
            needs=("on",), least=timedelta(), default="30s"),
    _option("rate", "count", "--rate", "run at most N times an hour; further events wait", group="recurring",
            needs=("on",), least=1, default="60"),
    _option("after", "tasks", "--after", "start when this task has completed; skipped if that task fails",
            group="start", tool="ids of tasks that must complete first", excludes=RECURRING,
            completes="tasks"),
    _option("at", "time", "--at", "start at this time: 18:30, 'tomorrow 9:00', 2026-12-24T18:00, +2h",
            group="start", saved=False),
    TaskOption(name="hold", type="flag", flags=("--hold", "--start-paused"), group="start", saved=False,
               excludes=RECURRING, help="queue it, but do not start it until you release it"),
    _option("key", "label", "--key",
            "return the task that was already started with this key, if there is one", metavar="KEY",
            group="start", saved=False),
    _option("agent", "label", "--agent", "the agent to ask", metavar="NAME", kind="agent",
            agent_default="agents.default", tool="which agent; default: the configured one"),
    _option("model", "label", "--model", "the model to use", metavar="MODEL", kind="agent"),
    _option("tools", "names", "--tool", "a tool the agent may use; it gets no others", kind="agent"),
    _option("allow", "names", "--allow",
            "a command that the agent may run without asking, such as 'gh run list *'", metavar="COMMAND",
            kind="agent",
            tool="commands that it may run without asking, such as 'gh run list *'; a person approves them"),
    _option("allow_tools", "names", "--allow-tool",
            "a tool that the agent may use without asking, such as write_file or 'mcp_github_*'",
            kind="agent",
            tool="tools that it may use without asking, such as write_file; a person approves them"),
    _option("fork", "label", "--fork",
            "begin with a copy of this conversation: a task's, or one of the agent's own", metavar="SESSION",
            kind="agent", completes="tasks"),
    _option("budget", "budget", "--budget",
            "stop a run that uses more, such as requests=20 or total_tokens=50000", kind="agent"),
    # Who asks, and how: not for a person to type.
    _option("environ", "variables", "", "the environment to start from", group="caller", saved=False,
            default="the caller's"),
    _option("owner", "label", "", "whose inbox gets the result", group="caller"),
    _option("parent", "label", "", "the task or session that starts it", group="caller"),
    _option("message", "label", "", "the message it was started from", group="caller"),
    _option("created_by", "label", "", "who starts it", group="caller"),
    _option("template", "label", "", "the template it was started from", group="caller"),
    _option("consent", "choice", "", "whether a person typed it, or the caller answers for it",
            choices=CONSENTS, group="caller", saved=False),
    _option("door", "label", "", "the frontend it came through", group="caller", saved=False),
    _option("propose", "flag", "", "wait for approval even if it is harmless", group="caller", saved=False),
    _option("within", "label", "", "a directory of the project that the caller works in", group="caller",
            saved=False),
    _option("awaits", "tasks", "", "tasks of other homes of the fleet to wait for", group="caller",
            saved=False),
    _option("is_awaited", "flag", "", "the caller blocks until its first run ends, and needs no notice of it",
            group="caller", saved=False),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}
# What can be changed before a task starts, or between two runs of a recurring task; not what it waits for,
# nor what makes it one task and no other.
_FIXED = ("after", "key", "hold", "fork")
EDITABLE = tuple(option.name for option in OPTIONS if option.group != "caller" and option.name not in _FIXED)
