"""restart: run an ended task again, as a new run of the same task."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of
from errands.frontends.cli.parser import Operand, Verb
from errands.frontends.cli.reply import REPLY, check_reply, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def restart(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    return reply(context, arguments, context.engine.restart(arguments.id, **consent_of(arguments)))


VERBS = (
    Verb(
        name="restart",
        summary="run an ended task again, with the same command, directory and environment",
        run=restart,
        starts=True,
        options=(YES, *REPLY),
        operands=(Operand(metavar="ID", help="the task", completes="ended"),),
    ),
)
