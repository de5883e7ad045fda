"""Help: the option tables as text for a terminal."""

from __future__ import annotations

from errands.frontends.cli.context import ENDLESS
from errands.frontends.cli.parser import HELP, Option, Verb
from errands.frontends.cli.verbs import FAMILIES, GROUPS, load
from errands.model.record import evolve
from errands.text import Look, pad, width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


WIDEST = 100  # columns; longer lines are hard to read
IN_A_PAGER = 80  # columns; a pager does not report its width, but runs in a terminal
NARROW = 60  # below that, explanations go under what they explain


MANY = 30  # options
TIMES = ("at", "after", "hold", "keep_on", "preview")
LIMITS = (
    "timeout", "idle", "on_idle", "grace", "retries", "on_loss", "memory", "cpu", "processes", "nice",
    "output", "budget",
)  # fmt: skip

EVERY_DAY = (
    ("run make test", "start a command in the background"),
    ("run --every 1h make", "start it every hour; --at 18:30, --cron, --after ID"),
    ("ls", "what runs, what starts next, what ended; -w watches"),
    ("logs -f ID", "follow the output; the beginning of an id is enough"),
    ("show ID", "everything about a task"),
    ("wait ID", "wait for its end; the exit code is the task's own"),
    ("cancel ID", "end it and all its processes"),
    ("restart ID", "run it again; --failed: all that failed"),
    ("pause ID", "suspend it until you unpause it"),
    ("hold, move, edit", "keep it from starting, start it next, change it"),
    ("lane shell 8", "run eight commands at once"),
    ("clear --all", "remove what has ended"),
    ("ask 'why ...?'", "send an agent a prompt, in the background"),
    ("approve ID", "start a task that waits for your approval"),
)


def _page(look: Look) -> Look:
    """Return the look of a text to read: of lines that are not too long, also behind a pipe."""
    return evolve(look, columns=IN_A_PAGER if look.columns == ENDLESS else min(look.columns, WIDEST))


def first_page(look: Look) -> str:
    """Return what people do every day, short enough for a small terminal."""
    look = _page(look)
    return "\n".join(
        [
            f"{look.paint('Usage:', 'bold')} errands VERB [options]",
            "",
            *_rows(EVERY_DAY, look),
            "",
            *wrap("errands --help lists all verbs, and errands VERB --help explains one.", look.columns),
        ]
    )


def overview(look: Look) -> str:
    """Return the list of all verbs, by purpose."""
    look = _page(look)
    lines = [
        *wrap("Errands runs slow commands in the background and loses none of them.", look.columns),
        "",
        f"{look.paint('Usage:', 'bold')} errands VERB [options]",
        *_labelled("Start here:", ["errands run 'make test', then errands ls"], look),
    ]
    left = max(width(name) for _, names in GROUPS for name in names)
    for title, names in GROUPS:
        rows = [(name, load(name).summary) for name in names]
        lines += ["", look.paint(f"{title}:", "bold"), *_rows(rows, look, left)]
    lines += [
        "",
        *wrap("errands VERB --help explains a verb; errands --version prints the version.", look.columns),
        *wrap(
            "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not approved, 124 wait timed out, "
            "125 lost, interrupted or skipped, 128+n killed by signal n; wait and run --wait exit with the "
            "task's own code.",
            look.columns,
        ),
    ]
    return "\n".join(lines)


def family(name: str, look: Look) -> str:
    """Return the verbs that share a first word."""
    look = _page(look)
    verbs = [load(member) for member in FAMILIES[name]]
    rows = [(" ".join([verb.name, *map(str, verb.operands)]), verb.summary) for verb in verbs]
    more = f"errands {name} VERB --help shows the options and examples of one."
    return "\n".join(
        [
            f"{look.paint('Usage:', 'bold')} errands {name} VERB [options]",
            "",
            *_rows(rows, look),
            "",
            *wrap(more, look.columns),
        ]
    )


def verb_help(verb: Verb, look: Look) -> str:
    """Return the help of one verb: usage, operands, options, examples."""
    look = _page(look)
    lines = _labelled("Usage:", [look.command(usage) for usage in usage_lines(verb)], look)
    lines += ["", *wrap(f"{verb.summary[0].upper()}{verb.summary[1:]}.", look.columns)]
    if verb.details:
        lines += ["", *wrap(verb.details, look.columns)]
    if verb.operands:
        rows = [(str(operand), operand.help) for operand in verb.operands]
        lines += ["", look.paint("Operands:", "bold"), *_rows(rows, look)]
    for title, options in _sections((*verb.options, HELP)):
        rows = [(spelled(option), explained(option)) for option in options]
        lines += ["", look.paint(f"{title}:", "bold"), *_rows(rows, look)]
    if verb.examples:
        lines += ["", look.paint("Examples:", "bold"), *_examples(verb, look)]
    return "\n".join(lines)


def _sections(options: Sequence[Option]) -> Iterator[tuple[str, list[Option]]]:
    """Split the options of a verb that has many; few are one section."""
    from errands.model.options.table import BY_NAME

    def section(option: Option) -> str:
        known = BY_NAME.get(option.name)
        if option.name in TIMES or (known is not None and known.group == "recurring"):
            return "Later, repeatedly or on an event"
        return "Limits and retries" if option.name in LIMITS else "Options"

    names = {option: section(option) if len(options) > MANY else "Options" for option in options}
    for title in ("Options", "Later, repeatedly or on an event", "Limits and retries"):
        if found := [option for option in options if names[option] == title]:
            yield title, found


def _labelled(label: str, texts: Sequence[str], look: Look) -> list[str]:
    """Return texts beside a label, each wrapped under its own beginning."""
    left = " " * (width(label) + 1)
    lines = [line for text in texts for line in wrap(f"{left}{text}", look.columns, hang=2)]
    return [look.paint(label, "bold") + lines[0][len(label) :], *lines[1:]]


def _examples(verb: Verb, look: Look) -> Iterator[str]:
    examples = [(_example(command, look), meaning) for command, meaning in verb.examples]
    left = max(width(command) for command, _ in examples)
    is_stacked = any(left + width(meaning) + 4 > look.columns for _, meaning in examples)
    for command, meaning in examples:
        if is_stacked or not meaning:
            yield from (look.paint(line, "cyan") for line in wrap(f"  {command}", look.columns, hang=4))
            yield from (look.paint(line, "dim") for line in wrap(f"      {meaning}", look.columns) if meaning)
        else:
            yield f"  {look.paint(pad(command, left), 'cyan')}  {look.paint(meaning, 'dim')}"


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
        notes.append("repeatable")
    if not notes:
        return option.help
    if option.help.endswith(")"):
        return f"{option.help[:-1]}; {'; '.join(notes)})"
    return f"{option.help} ({'; '.join(notes)})"


def _rows(rows: Iterable[tuple[str, str]], look: Look, left: int = 0) -> list[str]:
    rows = list(rows)
    columns = look.columns
    # One very long option must not push every explanation to the right edge.
    left = left or min(max(width(name) for name, _ in rows), 30 if columns >= NARROW else 12)
    is_stacked = columns < NARROW and any(width(name) > left for name, _ in rows)
    blank = " " * (6 if is_stacked else left + 4)
    lines = []
    for name, meaning in rows:
        explained = wrap(meaning, columns - len(blank))
        if is_stacked or width(name) > left:
            lines += [look.paint(line, "cyan") for line in wrap(f"  {name}", columns, hang=4)]
        else:
            lines.append(f"  {look.paint(pad(name, left), 'cyan')}  {explained.pop(0)}")
        lines += [blank + line for line in explained]
    return lines
