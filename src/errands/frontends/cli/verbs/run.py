"""run, propose and restart: start a command, submit one for approval, or run an ended task again."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of, door_of, is_person
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Usage, Verb, operand, option
from errands.frontends.cli.reply import REPLY, check_reply, reply, start
from errands.frontends.cli.task_options import (
    KEEP_ON,
    PREVIEW,
    command_of,
    draft_of,
    note_passed_on,
    options_of,
)
from errands.model.errors import NotFound
from errands.model.options.table import OPTIONS
from errands.ports.store import Query


def run(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    command = command_of(arguments, arguments.command)
    note_passed_on(context, arguments)
    draft = draft_of(context, arguments, command=command, **consent_of(arguments))
    return start(context, arguments, draft, context.engine.submit, reply)


def propose(context: Context, arguments: Arguments) -> int:
    if arguments.json and arguments.quiet:
        raise Usage("give either --json or --quiet, not both")
    command = command_of(arguments, arguments.command)
    note_passed_on(context, arguments)
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
    ids = _restarted(context, arguments)
    if len(ids) > 1 and arguments.wait:
        raise Usage("--wait is for one task; leave it out, then errands wait")
    wish = consent_of(arguments)
    return max([reply(context, arguments, context.engine.restart(each, **wish)) for each in ids], default=0)


def _restarted(context: Context, arguments: Arguments) -> list[str]:
    """Return the tasks to run again: the given ones, or all that failed."""
    if bool(arguments.id) == arguments.failed:
        raise Usage("give the ids of tasks to restart, or --failed for all that failed")
    if arguments.batch is not None and not arguments.failed:
        raise Usage("--batch chooses among failed tasks; add --failed, or give ids")
    if not arguments.failed:
        return [context.engine.resolve(each) for each in arguments.id]
    from errands.frontends.tools.turn import LANE

    views = context.engine.list(Query(states=("failed",), batch=arguments.batch, with_commands=False))
    # A message of a chat is sent again by its writer.
    ids = [view.id for view in reversed(views) if view.standing is None and view.lane != LANE]
    if not ids:
        where = "" if arguments.batch is None else f" in batch {arguments.batch!r}"
        raise NotFound(f"no task has failed{where}; errands ls --all lists every task")
    return ids


COMMAND = operand("COMMAND...", "what to run", completes="command")

VERBS = (
    Verb(
        name="run",
        summary="start a command in the background",
        run=run,
        starts=True,
        usage=("run [options] COMMAND [ARG...]", "run [options] 'SHELL LINE'"),
        details="A quoted line runs in a shell; separate words run directly, without one. Options of errands "
        "come before the command; they may also follow a quoted line. The task gets your "
        "environment and directory. A command that is not harmless needs approval. Typing it at a terminal "
        "counts as approval, except for what cannot be undone or reaches beyond the project, such as a push. "
        "Without a terminal the task waits as a proposal and the exit code is 4, unless --yes is given. With "
        "--wait, Ctrl-Z leaves the task in the background and Ctrl-C twice cancels it.",
        options=(*options_of("shell"), KEEP_ON, PREVIEW, YES, *REPLY),
        refused={
            **{
                flag: f"it is for agents; see errands ask {flag}"
                for option in OPTIONS
                if option.kind == "agent"
                for flag in option.flags
            },
            # To some it means "in the background", to others "later".
            **dict.fromkeys(("-d", "--detach"), "every task is in the background; --at +10m starts it later"),
        },
        operands=(COMMAND,),
        examples=(
            ("errands run 'make test 2>&1 | tail'", "a shell line"),
            ("errands run --name nightly pytest -x tests", "a command with its own options"),
            ("errands run --wait --timeout 10m 'make'", "wait for it, for ten minutes at most"),
            ("errands run --after build-4k2 ./deploy", "when another task has completed"),
            ("errands run --cron '30 9 * * 1-5' --tz Europe/Vienna ./report", "every working day"),
            ("errands run --on 'file:src/**/*.py' -- pytest -x", "whenever a file changes"),
            ("id=$(errands run -q --yes make)", "for scripts"),
        ),
    ),
    Verb(
        name="propose",
        summary="submit a command for approval, even a harmless one",
        run=propose,
        starts=True,
        usage=("propose [options] 'SHELL LINE'", "propose [options] -- COMMAND [ARG...]"),
        details="For agents and scripts that want a person to look first. It starts after errands approve.",
        options=(*options_of("shell"), option("-q, --quiet", "print only the id"), JSON_TASKS),
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
        options=(
            option("--failed", "every task that failed, oldest first"),
            option("--batch NAME", "with --failed: of this batch", completes="batches"),
            YES,
            *REPLY,
        ),
        operands=(operand("[ID...]", "the tasks", completes="ended"),),
        examples=(
            ("errands restart pytest-7k", ""),
            ("errands restart --failed --batch nightly", "what failed of a batch"),
        ),
    ),
)
