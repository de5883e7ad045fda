"""approve and reject: answer the question whether a task may start, or an agent may make a call."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import door_of, is_person
from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Usage, Verb, operand, option
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.targets import each_of, fleet_tasks
from errands.model.approval import chosen_scope
from errands.model.errors import UnknownTask
from errands.text import plural


def approve(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    if len(arguments.id) > 1 and arguments.wait:
        raise Usage("--wait is for one task; leave it out, then errands wait")
    return each_of(context, arguments.id, lambda each: _approve(context, arguments, each))


def _approve(context: Context, arguments: Arguments, task_id: str) -> int:
    from errands.engine.actor import actor
    from errands.engine.approval.approve import check_may_approve
    from errands.engine.approval.question_facts import facts_of, hides
    from errands.frontends.cli.approval.confirm import DECLINED
    from errands.frontends.cli.approval.proposals import agrees_to
    from errands.frontends.tools.reopened_question import for_approval
    from errands.text.question import question

    person = is_person()
    by, door = actor(context.environ), door_of(person=person)
    try:
        target = _waiting(context, task_id)
    except UnknownTask as error:
        fleet = fleet_tasks(context, error)
        check_may_approve(context.engine, by, door)
        return fleet.approve(task_id, arguments, by=by, door=door)
    was_rejected = context.engine.view(target).state == "rejected"
    before = for_approval(context.engine, target, by=by, door=door) if person else context.engine.get(target)
    is_shown = person and hides(before)
    if is_shown and not agrees_to(context, before):
        if was_rejected:
            context.engine.reject(before.id, by=by, door=door)
        context.note(f"not approved: {before.id} {'is rejected' if was_rejected else 'still waits'}")
        return DECLINED
    view = context.engine.approve(
        before.id,
        by=by,
        door=door,
        scope=chosen_scope(task=arguments.task, always=arguments.always),
        question=before.question.id if before.question else None,
    )
    if person and not is_shown and not arguments.json and not arguments.quiet:
        # A task that failed in its sandbox asked nothing; now it has none.
        shown = before if before.question else context.engine.get(view.id)
        facts = [*facts_of(context.engine, context.environ, shown)]
        facts += [] if before.question else [("sandbox", "none any more, so it has all your rights")]
        context.note(*question(facts, context.error_look))
    continues = before.is_live and before.state != "proposed"  # an agent whose call waited
    if continues and not arguments.wait and not arguments.json and not arguments.quiet:
        context.say(f"approved; {context.look.paint(view.id, 'bold')} continues")
        return 0
    return reply(context, arguments, view)


def reject(context: Context, arguments: Arguments) -> int:
    return each_of(context, arguments.id, lambda each: _reject(context, arguments, each))


def _reject(context: Context, arguments: Arguments, task_id: str) -> int:
    from errands.engine.actor import actor
    from errands.engine.approval.approve import check_may_approve

    if arguments.always or arguments.task:
        return _withdraw(context, arguments, task_id)
    by, door = actor(context.environ), door_of(person=is_person())
    try:
        target = _waiting(context, task_id)
    except UnknownTask as error:
        fleet = fleet_tasks(context, error)
        check_may_approve(context.engine, by, door)
        return fleet.reject(task_id, arguments, by=by, door=door)
    view = context.engine.reject(target, by=by, door=door, note=arguments.note or "")
    if arguments.json:
        context.print_view(view)
    elif view.state != "rejected":
        context.say(f"rejected; {context.look.paint(view.id, 'bold')} is told and continues")
    else:
        context.say(f"rejected {context.look.paint(view.id, 'bold')}; it will not start")
    return 0


def _withdraw(context: Context, arguments: Arguments, task_id: str) -> int:
    from errands.engine.actor import actor
    from errands.text.question import visible

    by, door = actor(context.environ), door_of(person=is_person())
    if arguments.task:
        count = context.engine.withdraw_task_approvals(task_id, by=by, door=door)
        context.say(f"withdrawn: {plural(count, 'approval')} for the whole task")
        return 0
    gone = context.engine.withdraw_standing_approval(task_id, by=by, door=door)
    context.say(f"needs approval again: {visible(gone.command)}")
    return 0


def _waiting(context: Context, beginning: str) -> str:
    """Complete an id among the waiting tasks; any other id may be that of an agent with a waiting call."""
    ids = [view.id for view in context.engine.answerable()]
    matching = [each for each in ids if beginning and each.startswith(beginning)]
    return matching[0] if len(matching) == 1 else context.engine.answer_target(beginning)


ID = operand(
    "ID...",
    "a proposed task, or an agent that waits for approval of a tool call; errands ls --state proposed "
    "lists both",
    completes="proposed",
)

VERBS = (
    Verb(
        name="approve",
        summary="approve a waiting task and start it",
        run=approve,
        starts=True,
        details="The approval covers exactly what the task would run: if a script, a program or the "
        "directory has changed since the question was asked, the task needs approval again. A task that was "
        "rejected, or whose question has expired, can be approved later by a person; the approval then "
        "covers its current content. A command that hides what it does, or has secrets that lists mask, is "
        "shown whole at a terminal, and asked about once more. A task that failed in a sandbox, in which it "
        "started without approval, runs again outside of it. A command inside a run cannot approve, nor can "
        "one without a terminal if approval.yes is false.",
        options=(
            option(
                "--always",
                "also approve the same command in the same directory from now on; not possible for "
                "shells, interpreters, wrappers and scripts",
            ),
            option("--task", "also approve the same command or call in the rest of the agent's task"),
            *REPLY,
        ),
        operands=(ID,),
        examples=(
            ("errands ls --state proposed", "what is waiting"),
            ("errands show rm-8c", "the whole command and the reasons"),
            ("errands approve rm-8c", ""),
            ("errands approve --wait rm-8c", "and stay until it ends"),
            ("errands approve --task ask-3f", "and do not ask about this again in the agent's task"),
        ),
    ),
    Verb(
        name="reject",
        summary="reject a waiting task; it will not start",
        run=reject,
        details="Rejected tasks are kept for a while: errands ls --state rejected. Until they are removed, "
        "a person can still approve them, which starts them.",
        options=(
            option("--note TEXT", "the reason, reported to the caller"),
            option(
                "--always",
                "withdraw an approval given with --always; ID is its name in errands audit --always",
            ),
            option(
                "--task",
                "withdraw what was approved for a whole task, with --task or --allow; ID is the task",
            ),
            JSON_TASKS,
        ),
        operands=(ID,),
        examples=(
            ("errands reject deploy-3f --note 'not on a Friday'", ""),
            ("errands reject --always 9c41f0", "it needs approval again from now on"),
        ),
    ),
)
