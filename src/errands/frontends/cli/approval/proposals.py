"""Proposals: show a task that waits for approval, ask about it, and record the answer."""

from __future__ import annotations

import os

from errands.engine.approval.question_facts import facts_of, headline, masked
from errands.frontends.cli.approval.caller import is_person
from errands.frontends.cli.approval.confirm import agrees, typed
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments
from errands.model.text.answers import NO, ONCE, Answer, answer_to, prompt
from errands.model.view import View
from errands.text import facts
from errands.text.describe import ago, now, reported
from errands.text.question import question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


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


def agrees_to(context: Context, view: View) -> bool:
    """Show a person all that would run, and return whether they still want it; an interrupt is a no."""
    return agrees(_prompt(context, view, (ONCE, NO)))


def _prompt(context: Context, view: View, answers: Sequence[Answer]) -> str:
    look = context.error_look
    shown = question(facts_of(context.engine, context.environ, view), look)
    lines = ["", look.paint(headline(view), "bold"), "", *shown, ""]
    try:
        seen = os.get_terminal_size(2).lines
    except OSError:
        seen = 24
    whole = "" if len(lines) < seen else f" Scroll up: these are {len(lines)} lines."
    return "\n".join([*lines, prompt(answers, more=whole)])
