"""Grants: what a person approved for a whole task, so that its agent need not stop in the middle.

An agent is started with rules for commands that it may run (`--allow`) and with tools that it may use
(`--allow-tool`), or a person who approves one of its commands or calls does so for the rest of the task
(`--task`). All are approvals with the scope `task`, and can be withdrawn; deny and ask rules of the
configuration still win. An agent can pass on what it has to another one, and no more.
"""

from __future__ import annotations

import os

from errands.engine.actor import LAUNCHED, actor
from errands.engine.approval.ruling import Judge
from errands.engine.approval.tool_approvals import call_text
from errands.engine.approval.tool_grants import is_granted
from errands.judge.workspace import is_within
from errands.model.action import Prompt
from errands.model.approval import call_of
from errands.model.errors import NotFound
from errands.model.run import task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.approval.ruling import Ruling
    from errands.engine.core import EngineCore
    from errands.model.approval import Approval
    from errands.model.options.draft import Draft
    from errands.ports.agent import ToolCall


def command_grant(core: EngineCore, draft: Draft, ruling: Ruling) -> str | None:
    """Return who approved this for the whole task of the agent that starts it; None if it needs approval."""
    by = draft.created_by or actor()
    if ruling.judgement.verdict not in ("ask", "contained") or not by.startswith(LAUNCHED):
        return None
    task_id = task_of(by.removeprefix(LAUNCHED))[0]
    if _repeats(draft) or not _is_running(core, task_id):
        return None
    for each in core.store.task_approvals(task_id):
        if each.task_id != task_id:
            is_covered = each.digest == ruling.digest
        else:
            is_covered = is_grant(each) and _is_allowed(core, draft, task_id)
        if is_covered:
            return f"{each.by} (for {task_id})"
    return None


def _repeats(draft: Draft) -> bool:
    """Return whether it would run again after the approved agent may have ended."""
    return any(each is not None for each in (draft.every, draft.cron, draft.at, draft.on))


def _is_running(core: EngineCore, task_id: str) -> bool:
    """Return whether a task has a run; its grants end with it."""
    try:
        return core.store.view(task_id).is_live
    except NotFound:
        return False


def call_grant(core: EngineCore, task_id: str, call: ToolCall) -> str | None:
    """Return who approved calls like this one for the agent's whole task; None if it needs approval."""
    prompt = _prompt(core, task_id)
    for each in core.store.task_approvals(task_id):
        if each.task_id != task_id:
            continue
        if call_of(each) == call_text(call):
            return each.by
        if is_grant(each) and call.command is None and prompt and is_granted(prompt, call):
            return each.by
    return None


def is_grant(approval: Approval) -> bool:
    """Return whether an approval is about what an agent was started with."""
    return any(each.kind == "grant" for each in approval.reasons)


def _is_allowed(core: EngineCore, draft: Draft, task_id: str) -> bool:
    """Return whether what an agent was started with covers what it starts in turn."""
    mine = _prompt(core, task_id)
    if mine is None or not is_within(os.path.realpath(draft.cwd or os.getcwd()), os.path.realpath(mine.cwd)):
        return False
    if draft.prompt is not None:
        is_less = {*draft.allow} <= {*mine.allow} and {*draft.allow_tools} <= {*mine.allow_tools}
        # The agent was given neither variables nor a command that watches for an event.
        return is_less and not draft.env and draft.on is None
    return Judge(core.config, allow=mine.allow).judge(draft).verdict == "auto"


def _prompt(core: EngineCore, task_id: str) -> Prompt | None:
    try:
        action = core.store.task(task_id).action
    except NotFound:
        return None
    return action if isinstance(action, Prompt) else None
