"""Help: the option tables as text for a terminal."""

from __future__ import annotations

from errands.frontends.cli.parser import HELP
from errands.frontends.cli.verbs import FAMILIES, GROUPS, load
from errands.text import pad, width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from errands.frontends.cli.parser import Option, Verb
    from errands.text import Look


def overview(look: Look) -> str:
    """Return the list of all verbs, by purpose."""
    lines = [
        "Errands runs slow commands in the background and loses none of them.",
        "",
        f"{look.paint('Usage:', 'bold')} errands VERB [options]",
        f"{look.paint('Start here:', 'bold')} errands run 'make test'   then   errands ls",
    ]
    left = max(width(name) for _, names in GROUPS for name in names)
    for title, names in GROUPS:
        rows = [(name, load(name).summary) for name in names]
        lines += ["", look.paint(f"{title}:", "bold"), *_rows(rows, look, left)]
    lines += [
        "",
        "errands VERB --help explains a verb; errands --version prints the version.",
        "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not approved, 124 wait timed out,",
        "125 lost or skipped, 128+n died by signal n; wait and run --wait exit with the task's own code.",
    ]
    return "\n".join(lines)


def family(name: str, look: Look) -> str:
    """Return the list of the verbs that share a first word."""
    rows = [(member, load(member).summary) for member in FAMILIES[name]]
    return "\n".join(
        [f"{look.paint('Usage:', 'bold')} errands {name} VERB [options]", "", *_rows(rows, look)]
    )


def verb_help(verb: Verb, look: Look) -> str:
    """Return the help of one verb: usage, operands, options, examples."""
    usages = [look.command(usage) for usage in usage_lines(verb)]
    lines = [f"{look.paint('Usage:', 'bold')} {usages[0]}", *(" " * 7 + usage for usage in usages[1:])]
    lines += ["", *wrap(f"{verb.summary[0].upper()}{verb.summary[1:]}.", min(look.columns, 96))]
    if verb.details:
        lines += ["", *wrap(verb.details, min(look.columns, 96))]
    if verb.operands:
        rows = [(str(operand), operand.help) for operand in verb.operands]
        lines += ["", look.paint("Operands:", "bold"), *_rows(rows, look)]
    rows = [(spelled(option), explained(option)) for option in (*verb.options, HELP)]
    lines += ["", look.paint("Options:", "bold"), *_rows(rows, look)]
    if verb.examples:
        lines += ["", look.paint("Examples:", "bold")]
        examples = [(_example(command, look), meaning) for command, meaning in verb.examples]
        left = max(width(command) for command, _ in examples)
        lines += [
            f"  {look.paint(pad(command, left), 'cyan')}  {look.paint(meaning, 'dim')}"
            if meaning
            else f"  {look.paint(command, 'cyan')}"
            for command, meaning in examples
        ]
    return "\n".join(lines)


def _example(command: str, look: Look) -> str:
    words = command.removeprefix("errands ")
    return command if words == command else look.command(words)


def usage_lines(verb: Verb) -> tuple[str, ...]:
    """Return the usage of a verb, without the program's name."""
    return verb.usage or (" ".join([verb.name, "[options]", *map(str, verb.operands)]),)


def spelled(option: Option) -> str:
    """Return an option as it is typed: `-n, --tail N`."""
    return ", ".join(option.flags) + (f" {option.values}" if option.metavar else "")


def explained(option: Option) -> str:
    """Return what an option does, its default, and whether it can be repeated."""
    notes = []
    if option.default is not None or option.default_text:
        notes.append(f"default {option.default_text or option.default}")
    if option.repeat:
        notes.append("can be given several times")
    return option.help + (f" ({'; '.join(notes)})" if notes else "")


def _rows(rows: Iterable[tuple[str, str]], look: Look, left: int = 0) -> list[str]:
    rows = list(rows)
    # One very long option must not push every explanation to the right edge.
    left = left or min(max(width(name) for name, _ in rows), 30)
    room = max(min(look.columns, 110) - left - 4, 30)
    lines = []
    for name, meaning in rows:
        first, *more = wrap(meaning, room)
        if width(name) > left:
            lines.append(f"  {look.paint(name, 'cyan')}")
            lines.append(f"  {' ' * left}  {first}")
        else:
            lines.append(f"  {look.paint(pad(name, left), 'cyan')}  {first}")
        lines += [f"  {' ' * left}  {line}" for line in more]
    return lines
