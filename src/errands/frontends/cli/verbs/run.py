"""run: start a command in the background."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of
from errands.frontends.cli.display.recurring import show_preview
from errands.frontends.cli.parser import Operand, Verb
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.task_options import PREVIEW, command_of, draft_of, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def run(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    command = command_of(arguments, arguments.command)
    draft = draft_of(context, arguments, command=command, **consent_of(arguments))
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
        details="A single word is read by a shell; several words are run as they are. The task gets your "
        "environment and directory. A command that is not harmless needs approval: typing it at a terminal "
        "counts as approval, except for what cannot be undone; without a terminal the task waits as a "
        "proposal and the exit code is 4, unless --yes is given. With --wait, Ctrl-Z leaves the task in the "
        "background and Ctrl-C twice cancels it.",
        options=(*options_of("shell"), PREVIEW, YES, *REPLY),
        operands=(Operand(metavar="COMMAND", help="what to run", repeat=True, completes="command"),),
        examples=(
            ("errands run 'make test 2>&1 | tail'", "a shell line"),
            ("errands run --name nightly -- pytest -x tests", "a command with options of its own"),
            ("errands run --wait --timeout 10m 'make'", "wait for it, but not for ever"),
            ("errands run --after build-4k2 ./deploy", "when another task has completed"),
            ("errands run --cron '30 9 * * 1-5' --tz Europe/Vienna ./report", "every working day"),
            ("errands run --on 'file:src/**/*.py' -- pytest -x", "whenever a file changes"),
            ("id=$(errands run -q --yes make)", "for scripts"),
        ),
    ),
)
