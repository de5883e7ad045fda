"""The reference: docs/reference/cli.md, tables of other pages, and what is installed for man and the shells.

`python -m errands.frontends.cli.reference` writes them, `--check` fails when they are not up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from errands import config
from errands.frontends.cli.display.json_fields import ALONE, ALWAYS, OF_AGENTS, OF_RECURRING
from errands.frontends.cli.help import explained, spelled, usage_lines
from errands.frontends.cli.manual import manual
from errands.frontends.cli.parser import HELP, Verb
from errands.frontends.cli.verbs import GROUPS, load
from errands.frontends.cli.verbs.completion import SCRIPTS
from errands.frontends.tools.keys import KEYS, PLACES
from errands.model.options.table import OPTIONS
from errands.model.states import FAILURES, RUN_MOVES, SKIPS, TASK_MOVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLACE = Path("docs/reference/cli.md")
SETTINGS = Path("docs/reference/configuration.md")
DESIGN = Path("docs/explanation/design.md")
PYTHON = Path("docs/reference/python.md")
TOP = Path("docs/how-to/top.md")
# Installed as it is beside the program, where shells and man look.
SHARE = Path("share")
MANUAL = SHARE / "man/man1/errands.1"
COMPLETIONS = {
    "bash": SHARE / "bash-completion/completions/errands",
    "zsh": SHARE / "zsh/site-functions/_errands",
    "fish": SHARE / "fish/vendor_completions.d/errands.fish",
}

HEAD = """\
# The command line

<!-- Written by `make docs` from the option tables; changes made here are lost. -->

A task has an id such as `pytest-7k2m4x`; a unique prefix is enough everywhere. Options can stand before and
after the other words; what follows `--` is not an option. Durations are written `500ms`, `30s`, `5m`,
`1h30m`, `7d`, sizes `512K`, `10MiB`, `2G`; a bare number means seconds or bytes, but `clear --older` requires
a unit. `--json` prints one object, or one object per line; where it takes FIELDS, `--json=id,state` prints
only these.
"""

EXIT_CODES = {
    "0": "it worked; the task completed",
    "1": "it failed",
    "2": "the command line or the configuration is wrong",
    "3": "no such task or template",
    "4": "it was not approved: the task waits for approval, was rejected, or a rule forbids it",
    "124": "the task had not ended when the wait timed out",
    "125": "the run was lost, interrupted or skipped",
    "128+n": "it was killed by signal n; 130 after Ctrl-C",
}

ENDINGS = """\
`wait` and `run --wait` end with the task's own exit code.

What `wait`, `run --wait` or `ask --wait` has shown counts as delivered to your session and your terminal:
`notices` does not report it again. The other channels of the task still do. `wait --quiet` shows nothing,
and `show` and `logs` do not wait, so they do not count.
"""


def reference() -> str:
    """Write the whole reference."""
    parts = [HEAD, "\n".join(_exit_codes()) + "\n", ENDINGS, "\n".join(_fields()) + "\n"]
    for title, names in GROUPS:
        parts.append(f"## {title}\n")
        parts += ["\n".join(_section(load(name))) + "\n" for name in names]
    return "\n".join(parts)


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())


def _fields() -> Iterator[str]:
    yield "## A task in JSON"
    yield ""
    yield "Every verb that prints tasks prints these fields with `--json`:"
    yield from _field_table(ALWAYS)
    yield ""
    yield "`show --json` adds:"
    yield from _field_table(ALONE)
    yield ""
    yield "For an agent, instead of `commands`, `before`, `finally`, `input` and `sandbox`:"
    yield from _field_table(OF_AGENTS)
    yield ""
    yield "For a recurring task also:"
    yield from _field_table(OF_RECURRING)


def _field_table(fields: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield "| field | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {_cell(meaning)} |" for name, meaning in fields.items())


def _section(verb: Verb) -> Iterator[str]:
    yield f"### errands {verb.name}"
    yield ""
    yield "```"
    yield from (f"errands {usage}" for usage in usage_lines(verb))
    yield "```"
    yield ""
    yield f"{verb.summary[0].upper()}{verb.summary[1:]}."
    if verb.details:
        yield ""
        yield verb.details
    yield ""
    yield "| option | meaning |"
    yield "|---|---|"
    for operand in verb.operands:
        yield f"| `{operand}` | {_cell(operand.help)} |"
    for option in (*verb.options, HELP):
        yield f"| `{_cell(spelled(option))}` | {_cell(explained(option))} |"
    if verb.examples:
        yield ""
        yield "```sh"
        left = max(len(command) for command, _ in verb.examples)
        yield from (
            f"{command:<{left}}  # {meaning}" if meaning else command for command, meaning in verb.examples
        )
        yield "```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def settings(text: str) -> str:
    """Put the tables of keys and variables into the page about configuration."""
    return _between(_between(text, "keys", _keys()), "variables", _variables())


def _keys() -> Iterator[str]:
    yield "| key | default | meaning | variable |"
    yield "|---|---|---|---|"
    for name, wide in config.LANES.items():
        yield f"| `lanes.{name}` *daemon* | `{wide}` | {config.LANE} | `ERRANDS_LANES_{name.upper()}` |"
    for key in config.KEYS:
        value = getattr(config.SECTIONS[key.section](), key.name)
        default = key.default_text or f"`{config.written(key, value)}`"
        mark = "" if key.project else " *daemon*"
        meaning = (
            f"{key.help}; one of {', '.join(f'`{each}`' for each in key.choices)}"
            if key.choices
            else key.help
        )
        yield f"| `{key.path}`{mark} | {default} | {meaning} | `{key.variable}` |"


def _variables() -> Iterator[str]:
    yield "| variable | meaning |"
    yield "|---|---|"
    for name, meaning in config.VARIABLES.items():
        yield f"| `{name}` | {meaning} |"


def options(text: str) -> str:
    """Put the table of task options into the page about Python."""
    return _between(text, "options", _keywords())


# How the values of each type are written in Python.
_VALUES = {
    "text": "str",
    "label": "str",
    "path": "str or Path",
    "flag": "bool",
    "count": "int",
    "size": 'bytes, or `"512M"`',
    "duration": 'timedelta, seconds, or `"10m"`',
    "time": 'datetime, or `"18:30"`',
    "commands": "list of commands",
    "tasks": "list of ids",
    "names": "name, or list of names",
    "addresses": "channel, or list of channels",
    "variables": "dict",
    "settings": "dict",
    "budget": "dict",
}


def _keywords() -> Iterator[str]:
    yield "| option | value | meaning |"
    yield "|---|---|---|"
    for option in OPTIONS:
        value = " ".join(f"`{each}`" for each in option.choices) or _VALUES[option.type]
        scope = {"shell": " (commands)", "agent": " (prompts)"}.get(option.kind, "")
        default = option.default or option.setting or option.agent_default
        notes = f" (default {default})" if default else ""
        yield f"| `{option.name}`{scope} | {value} | {_cell(option.help + notes)} |"


def viewer_keys(text: str) -> str:
    """Put the table of keys into the page about the viewer."""
    return _between(text, "viewer keys", _viewer_keys())


def _viewer_keys() -> Iterator[str]:
    for number, (place, title) in enumerate(PLACES.items()):
        yield from ("",) if number else ()
        yield f"| key | {title} |"
        yield "|---|---|"
        for key in KEYS:
            if key.place == place:
                yield f"| {' '.join(f'`{each}`' for each in key.keys)} | {_cell(key.help)} |"


def states(text: str) -> str:
    """Put the tables of states into the page about the design."""
    return _between(text, "states", _states())


def _states() -> Iterator[str]:
    for name, moves in (("Task", TASK_MOVES), ("Run", RUN_MOVES)):
        yield from (f"| {name} | Moves |", "|---|---|")
        for state, ways in moves.items():
            yield f"| {state} | {', '.join(f'{move} → {after}' for move, after in ways.items()) or 'final'} |"
        yield ""
    yield f"A failed run has a kind: {', '.join(FAILURES)}. A skipped run has a reason: {', '.join(SKIPS)}."


def _between(text: str, name: str, lines: Iterator[str]) -> str:
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = text.partition(start)
    return before + start + "\n".join(lines) + "\n" + end + rest.partition(end)[2]


def main() -> int:
    pages = {
        PLACE: reference(),
        SETTINGS: settings(SETTINGS.read_text(encoding="utf-8")),
        PYTHON: options(PYTHON.read_text(encoding="utf-8")),
        TOP: viewer_keys(TOP.read_text(encoding="utf-8")),
        DESIGN: states(DESIGN.read_text(encoding="utf-8")),
        MANUAL: manual(EXIT_CODES),
        **{place: f"{SCRIPTS[shell].strip()}\n" for shell, place in COMPLETIONS.items()},
    }
    stale = [
        page
        for page, wanted in pages.items()
        if not page.is_file() or page.read_text(encoding="utf-8") != wanted
    ]
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page} is not up to date: run 'make docs'", file=sys.stderr)
        return 1 if stale else 0
    for page in stale:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(pages[page], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
