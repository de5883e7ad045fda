"""Grants: what a person approved for a whole task, so that its agent need not stop in the middle.

An agent is started with rules for commands that it may run (`--allow`), or the person who answers about one
of its commands or calls approves the same for the rest of the task (`--task`). Both are approvals with the
scope `task`, and can be withdrawn; deny and ask rules of the configuration still win.
"""

from __future__ import annotations

from errands.engine.actor import LAUNCHED, actor
from errands.engine.approval.ruling import Judge
from errands.engine.approval.tool_approvals import call_text
from errands.model.action import Prompt
from errands.model.approval import call_of
from errands.model.errors import BadValue, NotFound
from errands.model.run import task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.approval.ruling import Ruling
    from errands.engine.core import EngineCore
    from errands.model.approval import Approval
    from errands.model.options.draft import Draft
    from errands.ports.agent import ToolCall


def command_grant(core: EngineCore, draft: Draft, ruling: Ruling) -> str | None:
    """Return who approved, for the whole task of the agent that starts it, what would need approval."""
    by = draft.created_by or actor()
    if ruling.judgement.verdict not in ("ask", "contained") or not by.startswith(LAUNCHED):
        return None
    task_id = task_of(by.removeprefix(LAUNCHED))[0]
    for each in core.store.task_approvals(task_id):
        if each.task_id != task_id:
            is_covered = each.digest == ruling.digest
        else:
            is_covered = is_grant(each) and _is_allowed(core, draft, task_id)
        if is_covered:
            return f"{each.by} (for {task_id})"
    return None


def call_grant(core: EngineCore, task_id: str, call: ToolCall) -> str | None:
    """Return who approved a call like this one for the whole task of the agent that makes it."""
    for each in core.store.task_approvals(task_id):
        if each.task_id == task_id and call_of(each) == call_text(call):
            return each.by
    return None


def is_grant(approval: Approval) -> bool:
    """Return whether an approval is about the rules that an agent was started with."""
    return any(each.kind == "grant" for each in approval.reasons)


def check_for_task(approval: Approval) -> None:
    """Refuse to approve for a whole task what may be something else each time."""
    if call_of(approval) is not None and any(each.kind == "script" for each in approval.reasons):
        raise BadValue("this runs a script, whose content may change: approve it each time, without --task")


def _is_allowed(core: EngineCore, draft: Draft, task_id: str) -> bool:
    """Return whether the rules that an agent was started with let a command start at once."""
    try:
        action = core.store.task(task_id).action
    except NotFound:
        return False
    if not isinstance(action, Prompt):
        return False
    return Judge(core.config, allow=action.allow).judge(draft).verdict == "auto"
