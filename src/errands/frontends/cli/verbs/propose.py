"""propose: submit a command that waits for approval, even if it is harmless."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import door_of, is_person
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb
from errands.frontends.cli.task_options import command_of, draft_of, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def propose(context: Context, arguments: Arguments) -> int:
    if arguments.json and arguments.quiet:
        raise Usage("give either --json or --quiet, not both")
    command = command_of(arguments, arguments.command)
    door = door_of(person=is_person())
    draft = draft_of(context, arguments, command=command, propose=True, door=door)
    view = context.engine.submit(draft)
    if arguments.json:
        context.print_view(view)
    elif arguments.quiet:
        context.say(view.id)
    elif view.state != "proposed":
        context.say(f"{view.id} already exists, {view.state}  (errands show {view.id})")
    else:
        from errands.frontends.cli.approval.proposals import tell

        tell(context, view)
    return 0


VERBS = (
    Verb(
        name="propose",
        summary="submit a command that waits for approval, even if it is harmless",
        run=propose,
        starts=True,
        usage=("propose [options] 'SHELL LINE'", "propose [options] -- COMMAND WORD..."),
        details="For agents and scripts that want a person to look first. It starts after errands approve.",
        options=(*options_of("shell"), Option(flags=("-q", "--quiet"), help="print only the id"), JSON),
        operands=(Operand(metavar="COMMAND", help="what to run", repeat=True, completes="command"),),
        examples=(
            ("errands propose --description 'release 1.4' -- make release", ""),
            ("errands propose --json 'git push origin main'", "the proposal as JSON"),
        ),
    ),
)
