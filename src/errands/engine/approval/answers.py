"""The answers that a question offers: how far a yes can reach, the same for every frontend."""

from __future__ import annotations

from errands.engine.actor import LAUNCHED
from errands.model.action import Prompt
from errands.model.approval import evidence_of, scope_of
from errands.model.errors import BadValue
from errands.model.text.answers import ALWAYS, NO, ONCE, TASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.engine.core import EngineCore
    from errands.model.approval import Approval
    from errands.model.task import Task
    from errands.model.text.answers import Answer
    from errands.model.verdict import Reason


def answers_to(core: EngineCore, question: Approval) -> tuple[Answer, ...]:
    """Return the answers that a question offers: the narrowest yes first, the no last."""
    return offered(core.store.task(question.task_id), question.reasons)


def offered(task: Task, reasons: Sequence[Reason]) -> tuple[Answer, ...]:
    if _is_call(reasons):
        return (ONCE, *(() if _task_doubt(reasons) else (TASK,)), NO)
    first = TASK if scope_of(task, "once") == "task" else ONCE
    is_of_a_run = first is ONCE and task.created_by.startswith(LAUNCHED)
    more = (TASK,) if is_of_a_run else ()
    return (first, *more, *(() if _always_doubt(task, reasons) else (ALWAYS,)), NO)


def check_task(reasons: Sequence[Reason]) -> None:
    """Refuse to approve a call for the rest of a task if it can do something else each time."""
    if said := _task_doubt(reasons):
        raise BadValue(said)


def check_always(task: Task, reasons: Sequence[Reason]) -> None:
    """Refuse to approve a command for good if it can do something else each time."""
    if said := _always_doubt(task, reasons):
        raise BadValue(said)


def coverage(task: Task) -> tuple[Reason, ...]:
    """Say what an approval of a test or a build covers, because the command does not show it."""
    if not (files := _deciding_files(task)):
        return ()
    from errands.model.verdict import Reason

    text = f"an approval covers the content of {', '.join(files)}, but not the code that they run"
    return (Reason(text=text, kind="coverage", undo="yes"),)


def _deciding_files(task: Task) -> tuple[str, ...]:
    """Return the files that decide what a task runs, if an approval covers them all."""
    action, evidence = task.action, evidence_of(task)
    if isinstance(action, Prompt) or evidence is None or action.watch or action.before or action.lastly:
        return ()
    from errands.judge.recipes import covered_files

    return covered_files(action.commands, action.cwd, evidence.files)


def _is_call(reasons: Sequence[Reason]) -> bool:
    return any(each.kind == "call" for each in reasons)


def _task_doubt(reasons: Sequence[Reason]) -> str:
    if any(each.kind == "script" for each in reasons):
        return "this runs a script, whose content may change: approve it each time, without --task"
    return ""


def _always_doubt(task: Task, reasons: Sequence[Reason]) -> str:
    """Return why something cannot be approved for good; empty if it can."""
    from errands.judge.shell.scripts import is_interpreter
    from errands.judge.shell.wrappers import is_wrapper

    if _is_call(reasons):
        return "a call of an agent is not approved for good; use --task instead of --always"
    action = task.action
    if isinstance(action, Prompt):
        return "a prompt may lead anywhere: approve it each time, without --always"
    if _deciding_files(task):
        return ""
    if any(each.kind == "script" for each in reasons):
        return "this runs a script, whose content may change: approve it each time, without --always"
    evidence = evidence_of(task)
    names = [] if evidence is None else [*evidence.programs]
    commands = (*action.commands, *action.before, *action.lastly)
    names += [each[0].rpartition("/")[2] for each in commands if not isinstance(each, str)]
    carriers = [name for name in names if is_interpreter(name) or is_wrapper(name)]
    if carriers:
        return f"`{carriers[0]}` runs whatever it is given: approve it each time, without --always"
    if any(each.kind == "shell" for each in reasons):
        return "this line is not understood well enough for a standing approval; leave out --always"
    return ""
