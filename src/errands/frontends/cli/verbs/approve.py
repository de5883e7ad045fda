"""approve and reject: the answer of a person to a task that waits for it."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import door_of, is_person
from errands.frontends.cli.parser import JSON, Operand, Option, Verb
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.targets import answerable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def approve(context: Context, arguments: Arguments) -> int:
    from errands.engine.actor import actor
    from errands.frontends.cli.approval.confirm import question
    from errands.frontends.cli.approval.proposals import facts_of

    check_reply(arguments)
    person = is_person()
    before = context.engine.get(_waiting(context, arguments.id))
    view = context.engine.approve(
        before.id,
        by=actor(context.environ),
        door=door_of(person=person),
        always=arguments.always,
        question=before.question.id if before.question else None,
    )
    if person and not arguments.json and not arguments.quiet:
        context.note(*question(facts_of(context, before), context.error_look))
    if before.state != "proposed" and not arguments.wait and not arguments.json and not arguments.quiet:
        context.say(f"allowed; {context.look.paint(view.id, 'bold')} goes on")
        return 0
    return reply(context, arguments, view)


def reject(context: Context, arguments: Arguments) -> int:
    from errands.engine.actor import actor

    if arguments.always:
        return _take_back(context, arguments)
    view = context.engine.reject(
        _waiting(context, arguments.id),
        by=actor(context.environ),
        door=door_of(person=is_person()),
        note=arguments.note or "",
    )
    if arguments.json:
        context.tell_view(view)
    elif view.state != "rejected":
        context.say(f"refused; {context.look.paint(view.id, 'bold')} is told and goes on")
    else:
        context.say(f"rejected {context.look.paint(view.id, 'bold')}; it will not start")
    return 0


def _take_back(context: Context, arguments: Arguments) -> int:
    from errands.engine.actor import actor
    from errands.frontends.cli.approval.confirm import visible

    by, door = actor(context.environ), door_of(person=is_person())
    gone = context.engine.withdraw_standing_approval(arguments.id, by=by, door=door)
    context.say(f"asked about again from now on: {visible(gone.command)}")
    return 0


def _waiting(context: Context, beginning: str) -> str:
    """Complete an id among the tasks that wait for an answer; any other may be an agent's that waits."""
    ids = [view.id for view in answerable(context.engine)]
    fitting = [each for each in ids if beginning and each.startswith(beginning)]
    return fitting[0] if len(fitting) == 1 else context.engine.answer_target(beginning)


ID = Operand(
    metavar="ID", help="the task that waits; of an agent, what its run waits for", completes="proposed"
)

VERBS = (
    Verb(
        name="approve",
        summary="say yes to a task that waits for it, and start it",
        run=approve,
        starts=True,
        details="The yes is bound to what the task would run: if a script, a program or the directory has "
        "changed since it was asked about, it is asked about anew. It is refused inside of a run, and "
        "without a terminal if approval.yes is false.",
        options=(
            Option(
                flags=("--always",),
                help="and to the very same command in the same place from now on; never for shells, "
                "interpreters, wrappers and scripts",
            ),
            *REPLY,
        ),
        operands=(ID,),
        examples=(
            ("errands ls --state proposed", "what waits"),
            ("errands show rm-8c", "the whole command and the reasons"),
            ("errands approve rm-8c", ""),
            ("errands approve --wait rm-8c", "and stay until it ends"),
        ),
    ),
    Verb(
        name="reject",
        summary="say no to a task that waits for a yes; it never starts",
        run=reject,
        details="It is gone from the lists, and kept for a while: errands ls --state rejected.",
        options=(
            Option(flags=("--note",), metavar="TEXT", help="why, for whoever asked"),
            Option(
                flags=("--always",),
                help="take back a yes for all times; ID is then its name in errands audit --always",
            ),
            JSON,
        ),
        operands=(ID,),
        examples=(
            ("errands reject deploy-3f --note 'not on a Friday'", ""),
            ("errands reject --always 9c41f0", "it is asked about again from now on"),
        ),
    ),
)
