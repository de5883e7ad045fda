"""The option parser, and the tables of what each verb takes.

A verb's table feeds the parser, the help, the shell completion and the reference. What it does not list is an
error; nothing is accepted and ignored.
"""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.model.record import record
from errands.text import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from errands.frontends.cli.context import Context

    # What completes a value in a shell.
    Completes = Literal[
        "",
        "tasks",
        "live",
        "open",
        "ended",
        "proposed",
        "standing",
        "batches",
        "lanes",
        "templates",
        "channels",
        "sources",
        "given up",
        "files",
        "directories",
        "command",
    ]


class Usage(BadValue):
    """A command line that cannot be understood."""


@record
class Option:
    """A flag, or with a metavar an option that takes a value.

    Its value is found as `dest`; without that `--no-such-thing` becomes `no_such_thing`. `default_text` says
    the default in words, where the parser does not know it. An option whose value is optional is True without
    one; only for a verb without operands can the value be the next word, others want `--json=FIELDS`.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    dest: str = ""
    convert: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    repeat: bool = False
    default: Any = None
    default_text: str = ""
    completes: Completes = ""
    value_is_optional: bool = False

    @property
    def name(self) -> str:
        return self.dest or self.flags[-1].lstrip("-").replace("-", "_")

    @property
    def values(self) -> str:
        """What to write for the value, in help and reference."""
        values = "|".join(self.choices) if self.choices else self.metavar
        return f"[{values}]" if self.value_is_optional else values


@record
class Operand:
    """A word that is not an option."""

    metavar: str
    help: str
    optional: bool = False
    repeat: bool = False
    choices: tuple[str, ...] = ()
    completes: Completes = ""

    @property
    def name(self) -> str:
        return self.metavar.lower().replace("-", "_")

    def __str__(self) -> str:
        shown = f"{self.metavar}..." if self.repeat else self.metavar
        return f"[{shown}]" if self.optional else shown


def option(spelled: str, help: str, **more: Any) -> Option:
    """Return an option, spelled as in its help: `-n, --tail N`."""
    *flags, last = spelled.split(", ")
    flag, _, metavar = last.partition(" ")
    return Option(flags=(*flags, flag), metavar=metavar, help=help, **more)


def operand(spelled: str, help: str, **more: Any) -> Operand:
    """Return an operand, spelled as in its help: `ID`, `[ID]`, `ID...` or `[ID...]`."""
    name = spelled.strip("[]")
    return Operand(
        metavar=name.removesuffix("..."),
        optional=name != spelled,
        repeat=name.endswith("..."),
        help=help,
        **more,
    )


@record
class Verb:
    """A command of the command line; `usage` replaces the generated usage line.

    A verb that `starts` tasks refuses a wrong configuration; the others only warn. `refused` are flags
    that people look for here, each with the reason why it does not exist. `fields` are those of its JSON;
    with them a wrong name in `--json=FIELDS` is refused before anything happens.
    """

    name: str
    summary: str
    run: Callable[[Context, Arguments], int]
    options: tuple[Option, ...] = ()
    operands: tuple[Operand, ...] = ()
    usage: tuple[str, ...] = ()
    details: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    hidden: bool = False
    starts: bool = False
    refused: Mapping[str, str] = {}
    fields: tuple[str, ...] = ()


class Arguments:
    """The values of a command line, by the names of options and operands.

    `dashed` is the number of operands before `--`, None without one; `trailing` are the options that
    followed operands, each with the number of operands before it. Options end at the first word of a command,
    unless that is a shell line; `passed_on` are those of the command that the verb knows, too.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


HELP = option("-h, --help", "show this help")
JSON = option("--json", "print JSON: one object, or one object per line")
# For lists and tasks, from which people pick fields: with names, the objects have only those.
JSON_FIELDS = option(
    "--json FIELDS",
    "print JSON, one object per line: all fields, or only these, separated by commas",
    value_is_optional=True,
)
# The objects are tasks: the names are checked before anything happens.
JSON_TASKS = option(
    "--json FIELDS",
    "print JSON, one object per task: all fields, or only these, as in --json=id,state",
    value_is_optional=True,
)


TEXTS = ("PROMPT", "TEXT")  # operands that are often several words


def parse(verb: Verb, words: Sequence[str]) -> Arguments:
    """Read the words that follow a verb; `--help` ends the reading."""
    values: dict[str, Any] = {
        o.name: () if o.repeat else o.default if o.metavar and not o.value_is_optional else False
        for o in verb.options
    }
    values.update(help=False, dashed=None, trailing=(), passed_on=())
    flags = {flag: option for option in (*verb.options, HELP) for flag in option.flags}
    operands: list[str] = []
    given: set[str] = set()
    rest = list(words)
    place = command_place(verb)
    while rest:
        word = rest.pop(0)
        if word == "--":
            values["dashed"] = len(operands)
            operands.extend(rest)
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            if len(operands) == place and not is_shell_line(word):
                operands.extend(rest)  # the command's own words, options among them
                values["passed_on"] = tuple(each for each in rest if each in flags and each.startswith("--"))
                break
            continue
        flag, option, value = _split(verb, flags, word, rest)
        if operands:
            values["trailing"] += ((flag, len(operands)),)
        if option is HELP:
            values["help"] = True
            return Arguments(values)
        if not option.metavar or (option.value_is_optional and not value):
            values[option.name] = True
        elif option.repeat:
            values[option.name] += (_converted(option, flag, value),)
        elif option.name in given:
            raise Usage(f"{flag} was given twice; give it once")
        else:
            values[option.name] = _converted(option, flag, value)
        given.add(option.name)
    values.update(_placed(verb, operands))
    return Arguments(values)


def command_place(verb: Verb) -> int:
    """Return which operand of a verb is the first word of a command, counted from 1; 0 if it takes none."""
    places = [i for i, operand in enumerate(verb.operands, 1) if operand.completes == "command"]
    return places[0] if places else 0


def is_shell_line(word: str) -> bool:
    """Return whether a word is a whole shell line, not the name of a program: options after it are ours."""
    return any(each in word for each in " \t\n|&;<>()$`")


def _split(verb: Verb, flags: dict[str, Option], word: str, rest: list[str]) -> tuple[str, Option, str]:
    """Take an option, and its value, off the front of the words."""
    flag, equals, value = word.partition("=")
    if not word.startswith("--"):
        # `-n5` and `-fq`: what follows a letter is its value, or more letters.
        if word[1:].isdecimal() and "-n" in flags:
            word = f"-n{word[1:]}"  # as in `tail -20`
        flag, equals, value = word[:2], word[2:3], word[2:].removeprefix("=")
    option = flags.get(flag)
    if option is None:
        from errands.frontends.cli.other_tools import NOWHERE, OPTIONS, REFUSED

        refused = {**NOWHERE, **REFUSED.get(verb.name, {}), **verb.refused}
        if flag in refused:
            raise Usage(f"{verb.name} does not take {flag}: {refused[flag]}")
        meant = OPTIONS.get(flag, "")
        if meant.partition(" ")[0] in flags:
            # The letter may just as well belong to the command.
            more = "" if flag.startswith("--") else _advice(verb, flag, rest)
            raise Usage(f"{verb.name} has no option {flag}; use {meant}{more}")
        raise Usage(f"{verb.name} has no option {flag}{_similar(flag, flags)}{_advice(verb, flag, rest)}")
    if not option.metavar:
        if equals and word.startswith("--"):
            raise Usage(f"{flag} takes no value; write {flag} alone")
        if equals:
            rest.insert(0, "-" + word[2:])
        return flag, option, ""
    if equals:
        return flag, option, value
    if option.value_is_optional and (verb.operands or not rest or rest[0].startswith("-")):
        return flag, option, ""
    if not rest or rest[0] == "--" or rest[0].partition("=")[0] in flags:
        raise Usage(f"{flag} needs a value; write {flag} {option.values}")
    return flag, option, rest.pop(0)


def _similar(flag: str, flags: dict[str, Option]) -> str:
    """Return the flag that was probably meant; the dashes that all flags share do not make two similar."""
    near = nearest(flag.lstrip("-"), [each.lstrip("-") for each in flags if each.startswith("--")])
    return f" (did you mean --{near}?)" if near and flag.startswith("--") else ""


def _advice(verb: Verb, flag: str, rest: list[str]) -> str:
    takes_command = any(operand.completes == "command" for operand in verb.operands)
    if takes_command and "--" not in rest:
        return f"; if {flag} belongs to the command, put -- before the command"
    return f"; see errands {verb.name} --help"


def _converted(option: Option, flag: str, text: str) -> Any:
    _check_choice(flag, text, option.choices)
    try:
        return option.convert(text)
    except (ValueError, BadValue) as error:
        raise Usage(f"{flag}: {error}") from None


def _check_choice(what: str, text: str, choices: tuple[str, ...]) -> None:
    if choices and text not in choices:
        raise Usage(
            f"{what} cannot be {text!r}; choose one of: {', '.join(choices)}{did_you_mean(text, choices)}"
        )


def _placed(verb: Verb, words: list[str]) -> dict[str, Any]:
    """Assign the words that are not options to the operands, in order."""
    values: dict[str, Any] = {}
    left = list(words)
    for operand in verb.operands:
        if not left and not operand.optional:
            what = f": {', '.join(operand.choices)}" if operand.choices else f": {operand.help}"
            raise Usage(f"{verb.name} needs {operand.metavar}{what}; see errands {verb.name} --help")
        if operand.repeat:
            values[operand.name], left = tuple(left), []
            continue
        values[operand.name] = word = left.pop(0) if left else None
        if word is not None:
            _check_choice(operand.metavar, word, operand.choices)
    if left:
        raise Usage(f"{verb.name} does not take {left[0]!r}; {_instead_of_word(verb, left[0])}")
    return values


def _instead_of_word(verb: Verb, word: str) -> str:
    """Say where an extra word belongs."""
    from errands.frontends.cli.other_tools import REFUSED

    if verb.operands and verb.operands[-1].metavar in TEXTS:
        return f"write {verb.operands[-1].metavar} in quotes"
    for option in verb.options:
        if word in option.choices:
            return f"use {option.flags[-1]} {word}"
    return REFUSED.get(verb.name, {}).get("") or f"see errands {verb.name} --help"


def whole(text: str) -> int:
    """Read a whole number that is not negative."""
    return _at_least(0, text)


def whole_from_one(text: str) -> int:
    """Read a whole number that is at least 1."""
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isdecimal() or not digits.isascii():
        raise ValueError(f"{text!r} is not a whole number")
    if int(text) < least:
        raise ValueError(f"must be at least {least} (got {text})")
    return int(text)
