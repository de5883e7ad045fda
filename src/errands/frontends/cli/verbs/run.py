"""run: start a command in the background."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of
from errands.frontends.cli.parser import Operand, Verb
from errands.frontends.cli.schedule_options import PREVIEW, show_preview
from errands.frontends.cli.task_options import (
    REPLY,
    START,
    TRAITS,
    check_reply,
    command_of,
    draft_of,
    reply,
    start_of,
)
from errands.model.record import evolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def run(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    command = command_of(arguments, arguments.command)
    draft = evolve(draft_of(arguments, command), **start_of(context, arguments), **consent_of(arguments))
    if arguments.preview:
        return show_preview(context, arguments, draft)
    before = context.engine.clock.now()
    view = context.engine.submit(draft)
    return reply(context, arguments, view, is_new=view.created_at >= before)


VERBS = (
    Verb(
        name="run",
        summary="start a command in the background",
        run=run,
        starts=True,
        usage=("run [options] 'SHELL LINE'", "run [options] -- COMMAND WORD..."),
        details="One word is a line that a shell reads; several words are run as they are. The task has the "
        "environment and the directory of whoever starts it. What is not harmless needs a yes: whoever types "
        "it at a terminal has given it, and is asked again only about what cannot be undone; without a "
        "terminal it waits as a proposal, and the exit code is 4, unless --yes is given. With --wait, Ctrl-Z "
        "leaves it to the background and Ctrl-C twice cancels it.",
        options=(*TRAITS, *START, PREVIEW, YES, *REPLY),
        operands=(Operand(metavar="COMMAND", help="what to run", repeat=True, completes="command"),),
        examples=(
            ("errands run 'make test 2>&1 | tail'", "a shell line"),
            ("errands run --name nightly -- pytest -x tests", "a command with options of its own"),
            ("errands run --wait --timeout 10m 'make'", "stay, but not for ever"),
            ("errands run --after build-4k2 ./deploy", "when another task has completed"),
            ("errands run --cron '30 9 * * 1-5' --tz Europe/Vienna ./report", "on every working day"),
            ("errands run --on 'file:src/**/*.py' -- pytest -x", "whenever a file changes"),
            ("id=$(errands run -q --yes make)", "for scripts"),
        ),
    ),
)
