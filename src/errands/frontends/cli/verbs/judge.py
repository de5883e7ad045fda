"""judge: whether a command would start or wait for approval. Nothing is started or stored."""

from __future__ import annotations

import sys

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option
from errands.frontends.cli.task_options import command_of
from errands.model.errors import BadValue
from errands.model.options.table import BY_NAME
from errands.model.options.values import value_of
from errands.model.verdict import MEANINGS, TRUSTED, Judgement
from errands.model.view import NOT_APPROVED
from errands.text.describe import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from errands.model.action import Command
    from errands.text import Colour

COLOURS: dict[str, Colour] = {"auto": "green", "contained": "cyan", "ask": "yellow", "deny": "red"}
UNDO = {
    "no": "it cannot be undone",
    "unknown": "it is not known whether it can be undone",
    "yes": "it can be undone",
}


def judge(context: Context, arguments: Arguments) -> int:
    if arguments.jsonl:
        if arguments.command or arguments.json or arguments.env or arguments.cwd:
            raise Usage("--jsonl reads commands from standard input; leave out the command and other options")
        return _answer_lines(context)
    if not "".join(arguments.command).strip():
        raise Usage("nothing to judge; give a shell line, a command after --, or --jsonl")
    command = command_of(arguments, arguments.command)
    env = value_of(BY_NAME["env"], arguments.env, "--env")
    found = _judge_for(context)(command, arguments.cwd or "", env)
    if arguments.json:
        context.print_json(_plain(found))
    else:
        _say(context, found)
    return 0 if found.verdict in ("auto", "contained") else NOT_APPROVED


def _judge_for(context: Context) -> Callable[[Command, str, Mapping[str, str]], Judgement]:
    """Return a function that judges a command in a directory; it needs no store."""
    import os

    from errands.engine.approval.ruling import Judge
    from errands.model.options.check import checked
    from errands.model.options.draft import Draft
    from errands.model.verdict import Judgement, Reason

    judging = Judge(context.config)

    def judged(command: Command, cwd: str, env: Mapping[str, str]) -> Judgement:
        place = os.path.normpath(os.path.join(context.cwd, os.path.expanduser(cwd)))
        try:
            return judging.judge(checked(Draft(command=command, cwd=place, env=env), now=now()))
        except BadValue as error:
            # A command that cannot be started is not harmless either.
            return Judgement(verdict="ask", reasons=(Reason(text=str(error), kind="shell"),))

    return judged


def _say(context: Context, found: Judgement) -> None:
    from errands.text.question import visible

    look = context.look
    is_trusted = found.verdict == "contained" and context.config.approval.mode == "trusting"
    meaning = TRUSTED if is_trusted else MEANINGS[found.verdict]
    context.say(f"{look.paint(found.verdict, COLOURS[found.verdict])}: {meaning}")
    context.say(*(f"  {look.sign('•', '-')} {visible(reason.text)}" for reason in found.reasons))
    undo = UNDO[_undo(found)]
    is_said = any(undo.removeprefix("it ") in reason.text for reason in found.reasons)
    if found.reasons and found.verdict != "contained" and not is_said:
        context.say(undo)


def _undo(found: Judgement) -> str:
    """Return whether a command can be undone, which is up to its worst part."""
    all_of_it = {reason.undo for reason in found.reasons}
    return next((each for each in ("no", "unknown") if each in all_of_it), "yes")


def _plain(found: Judgement) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "reasons": [reason.text for reason in found.reasons],
        "undo": _undo(found),
        "programs": dict(found.programs),
        "scripts": list(found.scripts),
    }


def _answer_lines(context: Context) -> int:
    """Answer every line of standard input with a line, at once; a bad line does not stop the others."""
    judged = _judge_for(context)
    while line := sys.stdin.buffer.readline():
        context.print_json(_answer(judged, line))
        sys.stdout.flush()
    return 0


def _answer(judged: Callable[[Command, str, Mapping[str, str]], Judgement], line: bytes) -> dict[str, Any]:
    import json

    try:
        asked = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"error": f"this line is not JSON: {error}"}
    command = asked.get("command") if isinstance(asked, dict) else None
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        command = tuple(command)
    if not isinstance(command, str | tuple) or not command:
        return {"error": 'write {"command": "LINE"}, or a list of words for a command without a shell'}
    cwd = asked.get("cwd", "")
    if not isinstance(cwd, str) or "\0" in cwd:
        return {"error": '"cwd" must be the path of a directory'}
    try:
        return _plain(judged(command, cwd, {}))
    except OSError as error:
        return {"error": f"cannot inspect the directory: {error}"}


VERBS = (
    Verb(
        name="judge",
        summary="show whether a command would start or wait for approval, and why",
        run=judge,
        usage=("judge [options] 'SHELL LINE'", "judge [options] -- COMMAND [ARG...]", "judge --jsonl"),
        details="Nothing is started. The exit code is 0 for auto and contained, 4 for ask and deny. With "
        '--jsonl, each line of standard input is an object, {"command": "LINE"} with an optional "cwd", and '
        'is answered with an object on one line: {"verdict", "reasons", "undo", "programs", "scripts"}, or '
        '{"error"} if the line cannot be read; the exit code is then 0.',
        options=(
            option("--cwd DIR", "as if it ran in this directory", completes="directories"),
            option("--env NAME=VALUE", "as if this environment variable were set", repeat=True),
            option("--jsonl", "judge the commands on standard input, one object per line"),
            JSON_FIELDS,
        ),
        operands=(operand("[COMMAND...]", "the command to judge", completes="command"),),
        examples=(
            ("errands judge 'git status && pytest -q'", "auto"),
            ("errands judge -- rm -rf build", "ask: it cannot be undone"),
            ("errands judge --json 'curl -s https://example.org'", "for scripts"),
        ),
    ),
)
