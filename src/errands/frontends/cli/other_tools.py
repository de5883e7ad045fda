"""What users of other tools type, and what to type here; loaded only for an error message.

A word maps to its equivalent, or else to the reason why there is none, or to a workaround.
"""

from __future__ import annotations

# The verb here, with its options.
VERBS = {
    "queue": "ls",
    "jobs": "ls",
    "tasks": "ls",
    "next": "ls",
    "pending": "ls --state pending",
    "running": "ls --state running",
    "failed": "ls --state failed",
    "schedules": "ls --state active",
    "timers": "ls --state active",
    "watch": "ls --watch",
    "info": "show",
    "inspect": "show",
    "describe": "show",
    "view": "show",
    "get": "show",
    "submit": "run",
    "exec": "run",
    "launch": "run",
    "create": "run",
    "new": "run",
    "background": "run",
    "bg": "run",
    "at": "run --at",
    "every": "run --every",
    "cron": "run --cron",
    "depend": "run --after",
    "batch": "run --batch",
    "fg": "logs --follow",
    "attach": "logs --follow",
    "output": "logs",
    "cat": "logs",
    "stdout": "logs",
    "prompt": "ask",
    "agent": "ask",
    "talk": "chat",
    "reply": "resume",
    "tell": "resume",
    "continue": "unpause",
    "cont": "unpause",
    "suspend": "pause",
    "freeze": "pause",
    "stash": "hold",
    "enqueue": "release",
    "unhold": "release",
    "switch": "move",
    "reorder": "move",
    **dict.fromkeys(("urgent", "up", "first", "front"), "move"),
    "slots": "lane",
    "change": "edit",
    "rename": "edit --name NAME",
    "update": "edit",
    "retry": "restart",
    "rerun": "restart",
    "again": "restart",
    "abort": "cancel",
    "end": "cancel",
    "terminate": "cancel",
    "stop-all": "cancel --all",
    "pause-all": "pause --all",
    "unpause-all": "unpause --all",
    "resume-all": "unpause --all",
    "killall": "cancel --all",
    "input": "send",
    "stdin": "send",
    "accept": "approve",
    "allow": "approve",
    "yes": "approve",
    "confirm": "approve",
    "deny": "reject",
    "dismiss": "reject",
    "decline": "reject",
    "no": "reject",
    "check": "judge",
    "history": "ls --all",
    "trigger": "fire",
    "inbox": "notices",
    "shutdown": "daemon stop",
    "serve": "mcp",
    "setup": "agents setup",
    "init": "agents setup",
    "settings": "config show",
    "completions": "completion",
    "events": "ls --watch",
    "monitor": "top",
    "ui": "web",
    "browser": "web",
    "stats": "metrics",
    "usage": "metrics",
    "diagnose": "doctor",
    "health": "doctor",
    "templates": "template ls",
    "save": "template save",
    "disable": "pause",
    "enable": "unpause",
    "fork": "ask --fork",
}

# Words without a verb of their own.
INSTEAD = {
    "start": "errands run starts a command in the background; errands release, unpause, restart and fire "
    "start a task that is there already",
    "parallel": "errands lane shell 3 runs three commands at once, and errands lane lists the lanes",
    **dict.fromkeys(
        ("group", "groups"),
        "a lane is a group here: errands lane gpu 2 adds one that runs two tasks at once, and errands lane "
        "lists them",
    ),
    "reset": "errands cancel --all ends what you started, and errands clear --all removes what has ended",
    "format-status": "errands ls --json=id,state prints tasks for jq and other programs",
    **dict.fromkeys(
        ("remove", "delete"), "errands cancel ID ends a task, and errands clear ID removes one that has ended"
    ),
    "env": "errands edit ID --env NAME=VALUE sets a variable of a task that has not started",
    "priority": "errands edit ID --priority high changes it, and errands move ID starts a task next",
    "notify": "errands run --notify says which results are reported, --channel where, and errands notices "
    "prints what is new",
    "man": "man errands opens the manual, and errands --help lists the verbs",
    **dict.fromkeys(
        ("daemon logs", "daemon log"), "errands daemon status names the home, where daemon.log is the log"
    ),
    "channel add": "write a section [channels.NAME] in your configuration; docs/how-to/channels.md shows how",
    "daemon restart": "errands daemon stop ends it, and the next command starts it again",
    "config set": "edit the file that errands config show names last",
    "config get": "errands config show prints every setting",
    "config edit": "edit the file that errands config show names last",
    "upgrade": "install the new version over it (uv tool install --force '.[all]' in its clone), then "
    "errands daemon stop: the next command starts the new one",
}

# The option here, of the verbs that have it.
OPTIONS = {
    "--label": "--name",
    "-l": "--name",
    "-L": "--name",
    "-n": "--name",
    "--title": "--name",
    "--delay": "--at +10m",
    "-d": "--at +10m",
    "--in": "--at +10m",
    "--start": "--at 18:30",
    "--interval": "--every 10m",
    "--repeat": "--every 10m",
    "--hourly": "--every 1h",
    "--daily": "--cron @daily",
    "--nightly": "--cron @daily",
    "--weekly": "--cron @weekly",
    "--group": "--lane",
    "-g": "--lane",
    "--queue": "--lane",
    "--stashed": "--hold",
    "--paused": "--hold",
    "--immediate": "--priority high",
    "-o": "--priority high",
    "--urgent": "--priority high",
    "--depends": "--after ID",
    "--dependency": "--after ID",
    "-D": "--after ID",
    "-a": "--after ID",
    "--working-directory": "--cwd",
    "--workdir": "--cwd",
    "--directory": "--cwd",
    "--dir": "--cwd",
    "-C": "--cwd",
    "-e": "--env NAME=VALUE",
    "--environment": "--env NAME=VALUE",
    "--print-task-id": "--quiet",
    "--follow": "--wait",
    "-f": "--wait",
    "--retry": "--retries 3",
    "--restart": "--retries 3",
    "--filter": "--state running",
    "--time-limit": "--timeout",
    "--max-time": "--timeout",
    "--lines": "--tail 20",
    "-F": "--follow",
    "--force": "--yes",
    "--limit": "--number 20",
    "--all-failed": "--failed",
    "--failed": "--state failed",
    "--running": "--state running",
    "--pending": "--state pending",
    "--completed": "--state completed",
    "--format": "--json",
    "--output": "--json",
    "--successful-only": "--state completed",
    "--status": "--state",
    "-s": "--state",
    "--reason": "--note",
    "--message": "--note",
    "-m": "--note",
    "--to": "--before ID",
    "--end": "--last",
}

# Options that no verb takes.
NOWHERE = {
    **dict.fromkeys(
        ("--color", "--colour", "--no-color"),
        "set NO_COLOR=1 or FORCE_COLOR=1, or ui.colour in the configuration",
    ),
    **dict.fromkeys(
        ("--config", "--profile"), "set XDG_CONFIG_HOME=DIR, or ERRANDS_HOME=DIR for another queue"
    ),
    **dict.fromkeys(
        ("-v", "--verbose", "--debug"),
        "errands doctor finds what is wrong, and errands --version prints the version",
    ),
}

_BY_BATCH = "tasks are grouped by batch, not by lane; give --batch NAME or several ids"
_AS_JSON = "--json prints objects, and --json=id,state these fields of them"
_WHOLE_LANE = "errands lane shell 0 starts nothing more in a lane, until errands lane shell default"
_AS_IT_RAN = "what has ended stays as it ran; errands run starts another task"

# Options that one verb does not take; "" stands for words that are not options.
REFUSED: dict[str, dict[str, str]] = {
    "run": {
        "-p": "-q prints only the id, and --priority high starts it sooner",
        "-i": "--priority high starts it sooner, and --pty gives it a terminal",
        "-t": "--pty gives it a terminal, and --timeout limits its time",
        "--escape": "several words are run as they are, and one quoted word is a shell line",
        "--template": "errands template run NAME starts a saved task",
        "--rm": "what has ended is removed after retention.keep, or by errands clear",
    },
    "ls": {
        "": "errands show ID shows one task",
        **dict.fromkeys(("-q", "--quiet"), "--json=id prints only the ids"),
        **dict.fromkeys(("-o", "--format", "--output"), _AS_JSON),
        "--sort": "running tasks come first, then what starts next, then what ended last",
    },
    "show": {
        "": "it shows one task; errands ls lists several",
        **dict.fromkeys(("-o", "--format", "--output"), _AS_JSON),
    },
    "approve": {
        "--all": "read each question, and answer it; errands ls --state proposed lists them",
    },
    "logs": {
        **dict.fromkeys(("--stderr", "--stdout", "--err"), "both streams are one log, in the order printed"),
        **dict.fromkeys(
            ("--all", "--group", "-g"), "give the ids of several tasks, or of one run as in ID.2"
        ),
        "--since": "-n 20 starts with the last 20 lines; a log has no times",
        "--full": "all of the output is printed, unless --tail is given",
        "-l": "-n 20 starts with the last 20 lines",
    },
    "wait": {
        **dict.fromkeys(("--group", "-g"), _BY_BATCH),
        **dict.fromkeys(
            ("--status", "-s"), "it waits for the end; errands logs -f ID begins when a task starts"
        ),
    },
    "cancel": {
        **dict.fromkeys(("--group", "-g", "--lane"), _BY_BATCH),
        **dict.fromkeys(
            ("--signal", "-s", "-9"),
            "it sends SIGTERM, then SIGKILL after the grace period; to send another signal, errands show "
            "prints the process id",
        ),
    },
    "stop": dict.fromkeys(("--all", "-a"), "errands cancel --all ends all of your tasks except schedules"),
    "clear": {
        **dict.fromkeys(("--group", "-g", "--lane"), _BY_BATCH),
        **dict.fromkeys(("-f", "--force"), "errands cancel ID ends a task first"),
    },
    "pause": {
        **dict.fromkeys(("--group", "-g", "--lane"), f"{_WHOLE_LANE}; --all pauses all of your tasks"),
        **dict.fromkeys(("--wait", "-w"), f"{_WHOLE_LANE}; what runs continues"),
    },
    "unpause": dict.fromkeys(
        ("--group", "-g", "--lane"), "errands lane shell default reopens a lane; --all continues your tasks"
    ),
    "resume": dict.fromkeys(
        ("--all", "-a"), "it sends an agent another prompt; errands unpause --all continues your paused tasks"
    ),
    "hold": {
        **dict.fromkeys(("--all", "-a", "--group", "-g"), _WHOLE_LANE),
        **dict.fromkeys(("--delay", "-d"), "errands edit ID --at +2h starts it later"),
    },
    "release": {
        **dict.fromkeys(("--all", "-a"), "errands unpause --all continues and releases all of your tasks"),
        **dict.fromkeys(("--delay", "-d"), "errands edit ID --at +2h starts it later"),
    },
    "restart": {
        "--in-place": "it always runs the same task again, and keeps the earlier runs",
        **dict.fromkeys(("--edit", "-e"), _AS_IT_RAN),
        **dict.fromkeys(
            ("--immediate", "-k"), "it starts as soon as its lane has room; errands move ID puts it first"
        ),
        **dict.fromkeys(("--stashed", "-s"), "errands hold ID afterwards keeps it from starting"),
        **dict.fromkeys(("--failed-in-group", "--all-failed-in-group", "-g"), _BY_BATCH),
    },
}
