"""Approve and reject: the answer to a question about a task, which only a person can give, and only once.

Task output, notices, schedules, agents and processes inside a run can never approve.
"""

from __future__ import annotations

from errands.engine.actor import enclosing_run
from errands.engine.approval.answers import check_always, check_task
from errands.engine.approval.questions import ask_again, drift, expire, turn_down
from errands.engine.approval.ruling import denied
from errands.model.action import Prompt
from errands.model.approval import (
    BY_JUDGE,
    BY_MODE,
    PERSONAL,
    is_contained,
    is_unattended,
    scope_of,
)
from errands.model.errors import (
    AlreadyResolved,
    Ambiguous,
    BadValue,
    Drifted,
    IllegalMove,
    NotAPerson,
    NotFound,
)
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.text.sanitise import line
from errands.model.trigger import recurring
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.approval.ruling import Judge, Ruling
    from errands.engine.core import EngineCore
    from errands.engine.submit.submission import Submitter
    from errands.model.approval import Approval, ApprovalState, Scope, StandingApproval
    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.store import Store

_ANSWERS = {"granted": "approved", "refused": "rejected", "expired": "rejected", "void": "withdrawn"}
_enclosing: list[str] = []


def approve(
    core: EngineCore, judging: Judge, task_id: str, *, by: str, door: str, scope: Scope, shown: int | None
) -> None:
    check_may_approve(core, by, door)
    task_id, now, store = core.resolve(task_id), core.clock.now(), core.store
    question = _question(core, task_id, shown)
    task = store.task(task_id)
    if is_held_call(task):
        if scope == "always":
            check_always(task, question.reasons)
        if scope == "task":
            check_task(question.reasons)
        return _answer_call(core, question, "granted", by=by, door=door, scope=scope)
    ruling_on(store, judging, task)
    if scope == "always":
        check_always(task, question.reasons)
    scope = scope_of(task, scope)
    starts_schedule = _starts_schedule(core, task)
    fresh, said = drift(task)
    with store:
        if said:
            if store.question(task_id) != question:
                raise _resolved(core, task_id)
            run = _asked_run(core, task, question)
            within = core.config.approval.expires
            ask_again(store, task, run, fresh, said, now=now, within=within)
        elif not store.answer(question.id, "granted", by=by, door=door, now=now, scope=scope):
            raise _resolved(core, task_id)
        else:
            store.grant(task_id, by=by, door=door, now=now)
            if starts_schedule:
                from errands.engine.triggers.schedules import begin

                begin(store, task, now=now)
            if scope == "always":
                store.add_standing_approval(task, by=by, now=now)
    core.bell.ring_about([task_id])
    if said:
        raise Drifted(
            f"not approved: since task {task_id} was asked about, {'; '.join(said)}; "
            f"there is a new question: look at it with `errands show {task_id}`, then answer again"
        )


def ask_anew(
    core: EngineCore, judging: Judge, submitter: Submitter, task_id: str, *, by: str, door: str
) -> None:
    """Ask a new question about a rejected task, as it is now; refuse any other task."""
    _check_person(core, by, door)
    task, now = core.store.task(task_id), core.clock.now()
    if recurring(task.trigger) is not None:
        raise IllegalMove(f"task {task_id} is a recurring task, whose schedule never began; submit a new one")
    ruling = ruling_on(core.store, judging, task)
    with core.store:
        if core.store.move_task(task_id, "ask again", now=now) is None:
            raise IllegalMove(f"task {task_id} is {core.store.view(task_id).state}, not rejected")
        submitter.restart(core.store.task(task_id), ruling, "none", door, now=now, must_ask=True)
    core.bell.ring_about([task_id])


def may_leave_walls(store: Store, task_id: str) -> bool:
    """Return whether a task failed in its sandbox, so that an approval means: run it without one."""
    task = store.task(task_id)
    if not is_contained(task) or store.question(task_id) is not None:
        return False
    return store.view(task_id).latest.state == "failed"


def leave_walls(
    core: EngineCore,
    judging: Judge,
    submitter: Submitter,
    task_id: str,
    *,
    by: str,
    door: str,
    scope: Scope = "once",
) -> None:
    """Approve a task that failed in its sandbox: it runs again without one; a recurring task from now on."""
    check_may_approve(core, by, door)
    if scope != "once":
        raise BadValue(f"{task_id} failed in its sandbox; approve it once, for this task alone")
    task, now = core.store.task(task_id), core.clock.now()
    ruling = ruling_on(core.store, judging, task)
    with core.store:
        if recurring(task.trigger) is not None:
            submitter.trust(task, ruling, by, door, now=now)
        elif core.store.move_task(task_id, "reopen", now=now) is None:
            raise _resolved(core, task_id)
        else:
            task = core.store.task(task_id)
            submitter.restart(task, ruling, "none", door, now=now, approved_by=by)
    core.bell.ring_about([task_id])


def _starts_schedule(core: EngineCore, task: Task) -> bool:
    """Return whether the approval starts a schedule; if so, refuse one more than is allowed."""
    if recurring(task.trigger) is None:
        return False
    from errands.engine.triggers.schedules import check_room

    cursor = core.store.cursor(task.id)
    starts_schedule = cursor is not None and cursor.next_at is None
    if starts_schedule:
        check_room(core.store, core.config)
    return starts_schedule


def _asked_run(core: EngineCore, task: Task, question: Approval) -> Run:
    """Return the run that a question is about; a recurring task may not have it yet."""
    if recurring(task.trigger) is not None and core.store.view(task.id).latest.number < question.run:
        return Run(
            task_id=task.id,
            number=question.run,
            cause="schedule",
            state="pending",
            attempt=0,
            created_at=task.created_at,
        )
    return core.store.run(f"{task.id}.{question.run}")


def reject(core: EngineCore, task_id: str, *, by: str, door: str, note: str, shown: int | None) -> None:
    _check_person(core, by, door)
    task_id, now, store = core.resolve(task_id), core.clock.now(), core.store
    question = _question(core, task_id, shown)
    if is_held_call(store.task(task_id)):
        return _answer_call(core, question, "refused", by=by, door=door, note=note)
    with store:
        if not store.answer(question.id, "refused", by=by, door=door, now=now, note=note):
            raise _resolved(core, task_id)
        why = f"rejected by {by}" + (f": {note}" if note else "")
        ended = turn_down(store, question, why, now=now)
    core.bell.ring(ended, changed=() if task_id in ended else (task_id,))


def answer_target(core: EngineCore, task_id: str) -> str:
    """Return the task that an answer is for; refuse if an agent waits for the answers to several."""
    task_id = core.resolve(task_id)
    view = core.summaries([task_id])[0]
    if view.agent is None or view.latest.state != "running" or core.store.question(task_id) is not None:
        return task_id
    found = proposals(core, view)
    if len(found) > 1:
        named = "; ".join(f"{each.id} ({line(each.command)})" for each in found)
        raise Ambiguous(f"{task_id} waits for the answers to {len(found)} tasks, answer each: {named}")
    return found[0].id if found else task_id


def proposals(core: EngineCore, agent: View) -> list[View]:
    by = f"run {agent.latest.id}"
    return [each for each in core.list(Query(states=("proposed",)))[::-1] if each.created_by == by]


def is_held_call(task: Task) -> bool:
    """Return whether a question about a task is about a call of its agent, which runs already."""
    return isinstance(task.action, Prompt) and task.state != "proposed"


def _answer_call(
    core: EngineCore,
    question: Approval,
    state: ApprovalState,
    *,
    by: str,
    door: str,
    note: str = "",
    scope: Scope = "once",
) -> None:
    now = core.clock.now()
    with core.store:
        if not core.store.answer(question.id, state, by=by, door=door, now=now, note=note, scope=scope):
            raise _resolved(core, question.task_id)
    core.bell.ring_about([question.task_id])


def withdraw_standing_approval(core: EngineCore, name: str, *, by: str, door: str) -> StandingApproval:
    _check_person(core, by, door)
    found = [each for each in core.store.standing_approvals() if name and each.digest.startswith(name)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found) or 'no'} standing approvals begin with {name[:80]!r}; "
            "`errands audit --always` lists them"
        )
    with core.store:
        core.store.remove_standing_approval(found[0].digest)
    return found[0]


def withdraw_task_approvals(core: EngineCore, task_id: str, *, by: str, door: str) -> int:
    """Let a person withdraw what was approved for a whole task; return how many approvals that were.

    The next run of a schedule of commands needs approval again.
    """
    _check_person(core, by, door)
    task_id, store = core.resolve(task_id), core.store
    with store:
        is_own = any(each.task_id == task_id for each in store.task_approvals(task_id))
        count = store.withdraw_task_approvals(task_id)
        task = store.task(task_id)
        if is_own and recurring(task.trigger) is not None and not isinstance(task.action, Prompt):
            store.rejudge(evolve(task, approved_by=None, approved_at=None), now=core.clock.now())
    core.bell.announce([task_id])
    return count


def ruling_on(store: Store, judging: Judge, task: Task) -> Ruling:
    """Judge a task as it is now; refuse what a rule forbids, even if it was approved."""
    ruling = judging.rule_again(task.action, store.environment(task.action.environment))
    if ruling.judgement.verdict == "deny":
        raise denied(ruling.judgement)
    return ruling


def refuse_inside_a_run(
    core: EngineCore, advice: str = "leave out --yes, and a person will be asked"
) -> None:
    """Refuse consent from inside a run: a background process is not a person.

    A run can hide its ancestors in a new namespace of process numbers, but there it does not see the daemon.
    """
    if not _enclosing:
        _enclosing.append(enclosing_run())
    if core.bell.is_out_of_sight():
        raise NotAPerson(f"a process that cannot see the daemon's process cannot consent; {advice}")
    if _enclosing[0]:
        raise NotAPerson(f"inside run {_enclosing[0]} a process cannot consent; {advice}")


def check_may_approve(core: EngineCore, by: str, door: str) -> None:
    """Refuse an approval from anything but a person or a program that may pass --yes."""
    _check_person(core, by, door)
    if is_unattended(by, door) and not core.config.approval.yes:
        # A process that may not pass --yes may not propose and approve either.
        raise NotAPerson("this is not a terminal, and approval.yes is false; approve it at a terminal")


def _check_person(core: EngineCore, by: str, door: str) -> None:
    refuse_inside_a_run(core, "a person answers, at a terminal outside of it")
    if door not in PERSONAL or not by.strip() or by in (BY_JUDGE, BY_MODE) or by.startswith("run "):
        raise NotAPerson(
            f"only a person can answer, not {by!r} through {door!r}; use `errands approve` in a terminal"
        )


def _question(core: EngineCore, task_id: str, shown: int | None) -> Approval:
    question, now = core.store.question(task_id), core.clock.now()
    if question is not None and question.expires_at <= now:
        # No daemon ran when its time was up.
        with core.store:
            ended = expire(core.store, now=now)
        core.bell.ring(ended)
        question = None
    if question is None:
        raise _resolved(core, task_id)
    if shown is not None and question.id != shown:
        raise _outdated(task_id)
    return question


def _outdated(task_id: str) -> Drifted:
    return Drifted(
        f"the question about task {task_id} that you saw is void: it has changed since; "
        f"look at it with `errands show {task_id}`, then answer again"
    )


def _resolved(core: EngineCore, task_id: str) -> AlreadyResolved | Drifted | IllegalMove:
    """Say who answered, and when; or that the question has changed since."""
    asked = core.store.approvals(task_id)
    if not asked:
        return IllegalMove(f"task {task_id} is {core.store.view(task_id).state}; it has no open question")
    last = asked[-1]
    if last.state == "waiting":
        return _outdated(task_id)
    who = {"expired": "because it was not answered", "void": f"({last.note})"}.get(
        last.state, f"by {last.by}"
    )
    return AlreadyResolved(
        f"task {task_id} was already {_ANSWERS[last.state]} {who}, {str(last.at)[:19]} UTC"
    )
