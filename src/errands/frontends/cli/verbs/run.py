"""run, propose and restart: start a command, submit one for approval, or run an ended task again."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of, door_of, is_person
from errands.frontends.cli.display.recurring import show_preview
from errands.frontends.cli.parser import JSON, Operand, Option, Usage, Verb
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.task_options import PREVIEW, command_of, draft_of, options_of
from errands.model.options.table import OPTIONS

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
        from errands.frontends.cli.approval.proposals import print_proposal

        print_proposal(context, view)
    return 0


def restart(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    return reply(context, arguments, context.engine.restart(arguments.id, **consent_of(arguments)))


COMMAND = Operand(metavar="COMMAND", help="what to run", repeat=True, completes="command")

VERBS = (
    Verb(
        name="run",
        summary="start a command in the background",
        run=run,
        starts=True,
        usage=("run [options] 'SHELL LINE'", "run [options] -- COMMAND WORD..."),
        details="A single word is run by a shell; several words are run without one. The task gets your "
        "environment and directory. A command that is not harmless needs approval: typing it at a terminal "
        "counts as approval, except for what cannot be undone; without a terminal the task waits as a "
        "proposal and the exit code is 4, unless --yes is given. With --wait, Ctrl-Z leaves the task in the "
        "background and Ctrl-C twice cancels it.",
        options=(*options_of("shell"), PREVIEW, YES, *REPLY),
        refused={
            flag: f"it is for agents; see errands ask {flag}"
            for option in OPTIONS
            if option.kind == "agent"
            for flag in option.flags
        },
        operands=(COMMAND,),
        examples=(
            ("errands run 'make test 2>&1 | tail'", "a shell line"),
            ("errands run --name nightly -- pytest -x tests", "a command with its own options"),
            ("errands run --wait --timeout 10m 'make'", "wait for it, for ten minutes at most"),
            ("errands run --after build-4k2 ./deploy", "when another task has completed"),
            ("errands run --cron '30 9 * * 1-5' --tz Europe/Vienna ./report", "every working day"),
            ("errands run --on 'file:src/**/*.py' -- pytest -x", "whenever a file changes"),
            ("id=$(errands run -q --yes make)", "for scripts"),
        ),
    ),
    Verb(
        name="propose",
        summary="submit a command that waits for approval, even if it is harmless",
        run=propose,
        starts=True,
        usage=("propose [options] 'SHELL LINE'", "propose [options] -- COMMAND WORD..."),
        details="For agents and scripts that want a person to look first. It starts after errands approve.",
        options=(*options_of("shell"), Option(flags=("-q", "--quiet"), help="print only the id"), JSON),
        operands=(COMMAND,),
        examples=(
            ("errands propose --description 'release 1.4' -- make release", ""),
            ("errands propose --json 'git push origin main'", "the proposal as JSON"),
        ),
    ),
    Verb(
        name="restart",
        summary="run an ended task again, with the same command, directory and environment",
        run=restart,
        starts=True,
        options=(YES, *REPLY),
        operands=(Operand(metavar="ID", help="the task", completes="ended"),),
    ),
)
