"""What callers send: the draft of a task, the filters of a list, and their limits."""

from __future__ import annotations

from errands.model.options.table import OPTIONS
from errands.model.states import SIGNS
from errands.ports.schema import (
    Schema,
    choice,
    flag,
    integer,
    listed,
    mapped,
    maybe,
    text,
    thing,
    time,
)

MOST_ROWS = 500
MOST_LIGHT_ROWS = 20_000
MOST_BYTES = 256 * 1024  # of output in one answer
LONGEST_BODY = 1 << 20
LONGEST_COMMAND = 100_000
MOST_LOGS = 8  # runs whose output one stream carries
MOST_IDS = 1000  # tasks in one batch


def _option_schema(type: str, choices: tuple[str, ...], help: str) -> Schema:
    match type:
        case "flag":
            return flag(help)
        case "count":
            return maybe(integer(help))
        case "choice":
            return choice(choices, help)
        case "commands" | "tasks" | "names" | "addresses":
            return listed(text(longest=LONGEST_COMMAND), help, most=1000)
        case "variables" | "settings":
            return mapped(text(longest=LONGEST_COMMAND), help, most=1000)
        case "budget":
            return mapped(integer(least=0, most=10**15), help, most=100)
        case _:
            return maybe(text(help, longest=LONGEST_COMMAND))


FORM = tuple(option for option in OPTIONS if option.group != "caller")
_DRAFT = {
    "command": {
        "anyOf": [
            text("a line for the shell", longest=LONGEST_COMMAND),
            listed(text(longest=LONGEST_COMMAND), "a program and its arguments", most=10_000),
        ],
        "description": "what to run: a line for the shell, or a program and its arguments",
    },
    "prompt": text("what to ask an agent, instead of a command", longest=LONGEST_COMMAND),
    **{each.name: _option_schema(each.type, each.choices, each.help) for each in FORM},
}
DRAFT: Schema = thing(
    "A new task: a command or a prompt, and options as on the command line, durations as `10m`.",
    optional=tuple(_DRAFT),
    **_DRAFT,
)

# What a list of tasks is filtered by; a batch of verbs takes the same.
FILTERS: dict[str, Schema] = {
    "state": text("states, separated by commas: " + ", ".join(SIGNS), longest=200, pattern="^[a-z,]*$"),
    "kind": choice(("shell", "agent", "remote")),
    "text": text("a part of the id, description, command or prompt"),
    "batch": text("the tasks of a batch"),
    "lane": text("the tasks of a lane"),
    "parent": text("the tasks that a task or session started"),
    "since": time("the tasks that had not ended by then"),
    "ids": text("these tasks, separated by commas", longest=3000),
    "commands": flag("whether to list the commands that agents ran, too (default false)"),
}
