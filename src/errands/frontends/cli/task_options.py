"""The options of a task on the command line, made from the table of task options."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Option, Usage, option
from errands.model.options.check import checked
from errands.model.options.draft import Draft
from errands.model.options.table import BY_NAME, OPTIONS, TaskOption
from errands.text.describe import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from errands.model.action import Command

    Kind = Literal["shell", "agent"]


def flag_of(name: str) -> str:
    """Return what a task option is called on the command line."""
    option = BY_NAME[name]
    if option.switches:
        return option.switches[0][0]
    return option.flags[0] if option.flags else name


def flags_of(option: TaskOption, kind: Kind = "shell", *, start: bool = True) -> list[Option]:
    """Return the flags of a task option; without `start` they change a task, and have no defaults."""
    if option.switches:
        return [Option(flags=(flag,), help=meaning) for flag, _, meaning in option.switches]
    default = (kind == "agent" and option.agent_default) or option.default or option.setting
    return [
        Option(
            flags=option.flags,
            help=option.help,
            metavar="" if option.type == "flag" else option.values,
            dest=option.name,
            choices=option.choices,
            repeat=option.repeats,
            default_text=default if start else "",
            completes=option.completes,
        )
    ]


def options_of(kind: Kind, *, start: bool = True, task: bool = True) -> list[Option]:
    """Return the options of a kind of task: those of one `start`, those that make the `task`, or both."""
    return [
        each
        for option in OPTIONS
        if option.kind in ("", kind)
        and (option.flags or option.switches)
        and (start if option.group == "start" else task)
        for each in flags_of(option, kind)
    ]


PREVIEW = option("--preview", "print when it would run, and start nothing")
KEEP_ON = option(
    "--keep-on HOST",
    "let HOST keep the schedule, so it runs even while this machine sleeps",
)


def command_of(arguments: Arguments, words: tuple[str, ...], *, place: int = 0) -> Command:
    """Make a command of the operands from `place` on: one word is a shell line, several are words."""
    if arguments.dashed is not None or len(words) > 1:
        for flag, operands in arguments.trailing:
            if operands > place:
                raise Usage(
                    f"is {flag} for errands or for {words[0]}? Put errands' options first, "
                    f"then -- and the command: errands run {flag} ... -- {words[0]} ..."
                )
        if "=" in words[0] and words[0].partition("=")[0].isidentifier():
            from errands.model.action import quoted

            raise Usage(
                f"{words[0]!r} is not a program; set a variable with --env {quoted(words[0])}, "
                "or quote the whole line for a shell"
            )
        return words
    if "'" in words[0] or '"' in words[0]:
        from errands.frontends.cli.open_quote import refuse_open_quote

        refuse_open_quote(words[0])
    return words[0]


def note_passed_on(context: Context, arguments: Arguments) -> None:
    """Say which options went to the command, although they could have been meant for errands."""
    if arguments.passed_on:
        command = arguments.command[0]
        passed = ", ".join(arguments.passed_on)
        context.note(f"{passed} was passed on to {command}; put options for errands before the command")


def draft_of(context: Context, arguments: Arguments, **action: Any) -> Draft:
    """Make a draft of what was typed; the configuration decides the rest."""
    if getattr(arguments, "stdin", False) and arguments.pty:
        raise Usage("--pty includes --stdin; give one of them")
    values = given_options(arguments)
    draft = checked(Draft(**action, **values), now=now(), spell=flag_of)
    _note_past_start(context, arguments, draft)
    return draft


def given_options(arguments: Arguments) -> dict[str, Any]:
    """Collect the task options that were typed, by their names in a draft."""
    typed = arguments.__dict__
    values: dict[str, Any] = {}
    for each in OPTIONS:
        for flag, value, _ in each.switches:
            if typed.get(flag[2:].replace("-", "_")):
                values[each.name] = value
        if each.flags and typed.get(each.name) not in (None, (), False):
            values[each.name] = typed[each.name]
    if values.get("key") == "":
        raise Usage("--key cannot be empty; leave it out to start a new task every time")
    _place(arguments, values)
    return values


def _note_past_start(context: Context, arguments: Arguments, draft: Draft) -> None:
    if draft.at is not None and draft.at < now() and arguments.at != "now" and not arguments.quiet:
        context.note(f"--at {arguments.at}: that time has passed; it starts now")


def _place(arguments: Arguments, values: dict[str, Any]) -> None:
    """Make `--cwd` absolute; refuse one that does not exist, unless a task that comes first may make it."""
    import os

    given: str | None = values.get("cwd")
    try:
        here = os.getcwd()
    except FileNotFoundError:
        if given is None or not os.path.isabs(os.path.expanduser(given)):
            raise Usage("the current directory is gone; cd somewhere else, or give --cwd") from None
        here = "/"
    if given is None:
        return
    values["cwd"] = path = os.path.normpath(os.path.join(here, os.path.expanduser(given)))
    if values.get("host") is not None:
        return  # it must exist there
    if hasattr(arguments, "after") and not arguments.after and not os.path.isdir(path):
        raise Usage(
            f"--cwd: {path} is not a directory; create it first, or let a task named with --after create it"
        )
