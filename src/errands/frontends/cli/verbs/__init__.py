"""The verbs by name: the module of each, and the groups in the help.

A module is only imported when one of its verbs is called, which keeps every command fast.
"""

from __future__ import annotations

from errands.frontends.cli.parser import Usage, Verb
from errands.text import did_you_mean

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Start",
        (
            "run",
            "ask",
            "resume",
            "chat",
            "propose",
            "restart",
            "template save",
            "template run",
            "template ls",
            "template show",
            "template rm",
        ),
    ),
    ("Inspect", ("ls", "top", "web", "show", "schedule", "logs", "wait", "notices", "sessions", "trace")),
    ("Approve", ("approve", "reject", "judge", "audit")),
    ("Control", ("cancel", "stop", "pause", "unpause", "fire", "send", "clear")),
    ("Queue", ("hold", "release", "move", "edit", "lane")),
    ("Hosts", ("hosts", "host join", "host drain", "host leave")),
    ("Connect agents", ("agents setup", "agents ls", "mcp", "install", "uninstall")),
    (
        "Maintain",
        (
            "daemon start",
            "daemon stop",
            "daemon status",
            "daemon run",
            "channel ls",
            "channel test",
            "channel discord",
            "config show",
            "config check",
            "doctor",
            "metrics",
            "completion",
            "demo",
        ),
    ),
)

HIDDEN = ("complete", "client")

# Verbs that are not in a module of their own name.
MODULES = {
    "propose": "run",
    "restart": "run",
    "resume": "ask",
    "unpause": "pause",
    "hold": "queue",
    "release": "queue",
    "move": "queue",
    "edit": "queue",
    "lane": "queue",
    "fire": "pause",
    "stop": "cancel",
    "reject": "approve",
    "uninstall": "install",
    "hosts": "host",
    "complete": "completion",
}

# Other names of verbs, with the words that each adds; `tail` adds its own unless others are given.
ALIASES: dict[str, tuple[str, ...]] = {
    "ps": ("ls",),
    "list": ("ls",),
    "status": ("ls",),  # with an id: show
    "add": ("run",),
    "kill": ("cancel",),
    "rm": ("clear",),
    "prune": ("clear", "--all"),
    "log": ("logs",),
    "follow": ("logs", "--follow"),
    "tail": ("logs", "--tail", "10"),
}

# What people type who know other tools: the command here, by meaning.
MEANT = {
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
    "urgent": "move",
    "priority": "move",
    "groups": "lane",
    "slots": "lane",
    "env": "edit --env",
    "change": "edit",
    "update": "edit",
    "retry": "restart",
    "rerun": "restart",
    "again": "restart",
    "abort": "cancel",
    "end": "cancel",
    "terminate": "cancel",
    "stop-all": "cancel --all",
    "killall": "cancel --all",
    "delete": "clear",
    "remove": "clear",
    "clean": "clear",
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

# What no verb does, and what does it.
INSTEAD = {
    "start": "errands run starts a command in the background; errands release, unpause, restart and fire "
    "start a task that is there already",
    "parallel": "errands lane shell 3 runs three commands at once, and errands lane lists the lanes",
    "group": "a lane is a group here: errands lane gpu 2 adds one that runs two tasks at once, and errands "
    "lane lists them",
    "reset": "errands cancel --all ends what you started, and errands clear --all removes what has ended",
    "format-status": "errands ls --json=id,state prints tasks for jq and other programs",
    "notify": "errands run --notify says which results are reported, --channel where, and errands notices "
    "prints what is new",
    "version": "errands --version prints it",
    "daemon restart": "errands daemon stop ends it, and the next command starts it again",
    "config set": "edit the file that errands config show names last",
    "config get": "errands config show prints every setting",
    "config edit": "edit the file that errands config show names last",
    "upgrade": "install the new version over it (uv tool install --force '.[all]' in its clone), then "
    "errands daemon stop: the next command starts the new one",
}

NAMES = (*(name for _, names in GROUPS for name in names), *HIDDEN)
FAMILIES = {
    first: tuple(name for name in NAMES if name.startswith(f"{first} "))
    for first in ("template", "agents", "daemon", "channel", "config", "host")
}


def load(name: str) -> Verb:
    """Import the module of a verb; return the verb."""
    module = MODULES.get(name, name.partition(" ")[0])
    table = __import__(f"{__name__}.{module}", fromlist=["VERBS"]).VERBS
    verb: Verb = next(verb for verb in table if verb.name == name)
    return verb


def find(words: list[str]) -> tuple[str, list[str]]:
    """Split the name of a verb off a command line; a family may come without a member."""
    name = words[0]
    if name in FAMILIES:
        both = f"{name} {words[1]}" if len(words) > 1 else name
        if both in NAMES:
            return both, words[2:]
        if both in INSTEAD:
            raise Usage(f"unknown verb {both!r}; {INSTEAD[both]}")
        if len(words) > 1 and not words[1].startswith("-"):
            members = [member.partition(" ")[2] for member in FAMILIES[name]]
            raise Usage(
                f"unknown verb {both!r}{did_you_mean(words[1], members)}; choose one of: {', '.join(members)}"
            )
        return name, words[1:]
    if name in NAMES:
        return name, words[1:]
    if name in ALIASES:
        return _aliased(name, words[1:])
    if name.startswith("-"):
        raise Usage(f"unknown option {name}; options follow a verb; see errands --help")
    if name in INSTEAD:
        raise Usage(f"unknown verb {name!r}; {INSTEAD[name]}")
    raise Usage(f"unknown verb {name!r}{_meaning(name)}; see errands --help")


def _aliased(name: str, rest: list[str]) -> tuple[str, list[str]]:
    verb, *added = ALIASES[name]
    if name == "status" and any(not word.startswith("-") for word in rest):
        return "show", rest
    if name == "tail" and any(word.startswith(("-n", "--tail", "--offset")) for word in rest):
        added = []
    return verb, [*added, *rest]


def _meaning(name: str) -> str:
    """Say which verb does what a word means; otherwise which one is spelled like it."""
    if name not in MEANT:
        return did_you_mean(name, (*NAMES, *ALIASES))
    known = MEANT[name]
    summary = f": {load(known).summary}" if known in NAMES else ""  # an option says enough by its name
    return f"; use errands {known}{summary}"
