"""The verbs by name: the module of each, and the groups in the help.

A module is only imported when one of its verbs is called, which keeps every command fast.
"""

from __future__ import annotations

from errands.frontends.cli.parser import Usage
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.parser import Verb

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
    ("Inspect", ("ls", "show", "schedule", "logs", "wait", "notices", "sessions", "trace")),
    ("Approve", ("approve", "reject", "judge", "audit")),
    ("Control", ("cancel", "stop", "pause", "unpause", "fire", "send", "clear")),
    ("Queue", ("hold", "release", "move", "edit", "lane")),
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
    "complete": "completion",
}

# What people type who know other tools.
MEANT = {
    "ps": "ls",
    "status": "ls",
    "list": "ls",
    "jobs": "ls",
    "start": "run",
    "exec": "run",
    "kill": "cancel",
    "stop-all": "cancel",
    "rm": "clear",
    "log": "logs",
    "tail": "logs",
    "accept": "approve",
    "allow": "approve",
    "deny": "reject",
    "dismiss": "reject",
    "history": "audit",
    "trigger": "fire",
    "cron": "schedule",
    "talk": "chat",
}

NAMES = (*(name for _, names in GROUPS for name in names), *HIDDEN)
FAMILIES = {
    first: tuple(name for name in NAMES if name.startswith(f"{first} "))
    for first in ("template", "agents", "daemon", "channel", "config")
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
        if len(words) > 1 and not words[1].startswith("-"):
            members = [member.partition(" ")[2] for member in FAMILIES[name]]
            raise Usage(
                f"there is no {both!r}{did_you_mean(words[1], members)}; choose one of: {', '.join(members)}"
            )
        return name, words[1:]
    if name in NAMES:
        return name, words[1:]
    near = f" (did you mean {MEANT[name]}?)" if name in MEANT else did_you_mean(name, NAMES)
    raise Usage(f"there is no verb {name!r}{near}; see errands --help")
