"""Proposals: show a task that waits for approval, ask about it, and record the answer."""

from __future__ import annotations

import os

from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.approval.confirm import question, typed, visible
from errands.frontends.cli.display.format import ago, now, reported
from errands.model.action import written
from errands.model.text.answers import NO, ONCE, answer_to, prompt
from errands.text import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.text.answers import Answer
    from errands.model.view import View

# The question shows scripts of up to this many bytes and lines.
LONGEST, MOST_LINES = 2000, 30


def ask_or_report(context: Context, arguments: Arguments, view: View, *, is_new: bool) -> View | None:
    """Ask the person who has just submitted a task that needs approval, or report that it waits.

    Return the task if it starts, and None if it does not.
    """
    if view.state == "proposed" and is_new and is_person():
        started = ask(context, view)
        if started is not None:
            return started
        view = context.engine.summaries([view.id])[0]
    if view.state == "proposed" and getattr(arguments, "yes", False):
        context.note("--yes has no effect here: approval.yes is false")
    if arguments.json:
        context.print_view(view)
    elif view.state == "rejected":
        context.note(f"not started: {view.id} is rejected")
    elif arguments.quiet:
        context.say(view.id)
    else:
        print_proposal(context, view)
    return None


def print_proposal(context: Context, view: View) -> None:
    """Print that a task waits for approval, why, and how to answer."""
    look = context.look
    context.say(f"proposed {look.paint(view.id, 'bold')}: waiting for approval")
    asked = view.question
    pairs = [("because", masked(reason.text)) for reason in asked.reasons] if asked else []
    pairs.append(("approve", f"errands approve {view.id}"))
    pairs.append(("reject", f"errands reject {view.id}"))
    pairs.append(("result", reported(view)))
    if asked:
        pairs.append(("expires", ago(asked.expires_at, at=now())))
    context.say(*facts(pairs, look))


def ask(context: Context, view: View) -> View | None:
    """Ask the person at the terminal about a new task; return it if it starts, otherwise None.

    The task is already stored, so what they see is what would run.
    """
    from errands.engine.actor import actor
    from errands.engine.approval.answers import answers_to

    by, asked = actor(context.environ), view.question
    number = None if asked is None else asked.id
    answers = (ONCE, NO) if asked is None else answers_to(context.engine, asked)
    answer: Answer | None = None
    try:
        answer = answer_to(typed(_prompt(context, context.engine.get(view.id), answers)), answers)
    except KeyboardInterrupt:
        pass  # a no, before the question was there
    if answer is not None and answer.scope is not None:
        return context.engine.approve(view.id, by=by, door="terminal", scope=answer.scope, question=number)
    context.engine.reject(view.id, by=by, door="terminal", question=number)
    return None


def _prompt(context: Context, view: View, answers: Sequence[Answer]) -> str:
    look = context.error_look
    lines = ["", look.paint(_headline(view), "bold"), "", *question(facts_of(context, view), look), ""]
    try:
        seen = os.get_terminal_size(2).lines
    except OSError:
        seen = 24
    whole = "" if len(lines) < seen else f" Scroll up: these are {len(lines)} lines."
    return "\n".join([*lines, prompt(answers, more=whole)])


def _headline(view: View) -> str:
    lasting = view.question and any(reason.undo == "no" for reason in view.question.reasons)
    return "This cannot be undone. It needs your approval:" if lasting else "This needs your approval:"


def facts_of(context: Context, view: View) -> Iterator[tuple[str, str]]:
    """Yield everything that would run, where, and why it needs approval; secrets are not masked.

    Each command and variable is a fact of its own, so that none of them can pass for two.
    """
    details = view.details or {}
    if view.agent is not None:
        yield "prompt", visible(view.command)
    for command in details.get("before", ()):
        yield "before", _written(command)
    steps = details.get("commands", ())
    for number, command in enumerate(steps, 1):
        yield f"step {number} of {len(steps)}" if len(steps) > 1 else "command", _written(command)
    for command in details.get("finally", ()):
        yield "finally", _written(command)
    if details.get("watched"):
        yield "checked by", visible(details["watched"])
    yield "directory", visible(view.cwd)
    if details.get("sandbox"):
        yield "sandbox", visible(sandbox_text(details["sandbox"]))
    for name, value in details["env"].items():
        yield "variable", f"{visible(name)}={value}"
    for name, value in _inherited(context, view):
        yield "inherited", f"{visible(name)}={value}"
    for path, mark in (details["evidence"] or {}).get("files", {}).items():
        if mark and mark != "directory":
            yield "content of", visible(path)
            yield "", _content(path, mark)
    for reason in view.question.reasons if view.question else ():
        yield "because", visible(reason.text)


def _inherited(context: Context, view: View) -> Iterator[tuple[str, str]]:
    """Yield variables that change what programs load or start, unless the person's own are the same."""
    from errands.judge.shell.variables import removed

    variables = context.engine.environment(view.id)
    for name in removed(variables):
        if context.environ.get(name) != variables[name]:
            yield name, variables[name]


def sandbox_text(sandbox: dict[str, Any]) -> str:
    """Return what a sandbox allows."""
    network = "with" if sandbox["network"] else "no"
    return f"writes to {', '.join(sandbox['writable'])} only; {network} network"


def _content(path: str, mark: str) -> str:
    """Return a short script as it was when the question was asked."""
    from errands.judge.evidence.evidence import fingerprint

    try:
        # Do not block on a pipe that was put in its place.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            content = file.read(LONGEST + 1) or b""
        if fingerprint(path) != mark:
            return "(it is being changed)"
        if len(content) > LONGEST or content.count(b"\n") > MOST_LINES:
            return "(too long to show here)"
        return content.decode().rstrip("\n")
    except (OSError, UnicodeError):
        return "(not text)"


def _written(command: Any) -> str:
    return written(command if isinstance(command, str) else tuple(command))


def masked(text: str) -> str:
    """Return a text that repeats words of a command, with secrets masked and nothing for the terminal."""
    from errands.model.text.mask import Mask

    return visible(Mask({}).text(text))
