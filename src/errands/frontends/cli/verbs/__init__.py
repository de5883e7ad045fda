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
    "clean": ("clear", "--all"),
    "prune": ("clear", "--all"),
    "log": ("logs",),
    "follow": ("logs", "--follow"),
    "tail": ("logs", "--tail", "10"),
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
        _refuse(both)
        if len(words) > 1 and not words[1].startswith("-"):
            members = [member.partition(" ")[2] for member in FAMILIES[name]]
            raise Usage(
                f"{name} has no verb {words[1]!r}{did_you_mean(words[1], members)}; "
                f"choose one of: {', '.join(members)}"
            )
        return name, words[1:]
    if name in NAMES:
        return name, words[1:]
    if name in ALIASES:
        return _aliased(name, words[1:])
    if name.startswith("-"):
        from errands.frontends.cli.other_tools import NOWHERE

        instead = NOWHERE.get(name.partition("=")[0], "options follow a verb")
        raise Usage(f"unknown option {name}; {instead}; see errands --help")
    _refuse(name)
    raise Usage(f"unknown verb {name!r}{_meaning(name)}; see errands --help")


def _refuse(name: str) -> None:
    from errands.frontends.cli.other_tools import INSTEAD

    if name in INSTEAD:
        raise Usage(f"unknown verb {name!r}; {INSTEAD[name]}")


def _aliased(name: str, rest: list[str]) -> tuple[str, list[str]]:
    verb, *added = ALIASES[name]
    if name == "status" and any(not word.startswith("-") for word in rest):
        return "show", rest
    if name == "tail" and any(
        word.startswith(("-n", "--tail", "--offset")) or _is_count(word) for word in rest
    ):
        added = []
    return verb, [*added, *rest]


def _is_count(word: str) -> bool:
    return word.startswith("-") and word[1:].isdecimal()


def _meaning(name: str) -> str:
    """Say which verb does what a word means; otherwise which one is spelled like it."""
    from errands.frontends.cli.other_tools import VERBS

    if name not in VERBS:
        return did_you_mean(name, (*NAMES, *ALIASES))
    known = VERBS[name]
    summary = f": {load(known).summary}" if known in NAMES else ""  # an option says enough by its name
    return f"; use errands {known}{summary}"
