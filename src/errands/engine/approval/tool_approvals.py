"""Tool calls of agents that a person must allow, from the question to the answer.

The question is an approval of the agent's own task, bound to a digest of run and call. So it is answered in
any frontend like every other, and another process of the same run finds the answer.
"""

from __future__ import annotations

import json

from errands.engine.approval.questions import ask
from errands.model.approval import CALLS
from errands.model.record import evolve
from errands.model.text.blake2 import blake2b
from errands.model.verdict import Reason
from errands.ports.agent import Decision, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.engine.core import EngineCore
    from errands.model.approval import Approval
    from errands.model.run import Run
    from errands.model.task import Task

REFUSED = "a person would have to allow it, and agents.unattended is `refuse`"


def asked(core: EngineCore, task: Task, run: Run, call: ToolCall) -> Approval | None:
    """Find the question that an earlier process of this run asked about exactly this call."""
    name = call_digest(run.id, call)
    found = [each for each in core.store.approvals(task.id) if each.digest == name]
    return found[-1] if found and found[-1].state != "void" else None


def ask_about(core: EngineCore, task: Task, run: Run, call: ToolCall, reasons: Sequence[Reason]) -> Approval:
    """Ask a person about a call, and notify the task's owner."""
    what = Reason(text=f"{CALLS}{call_text(call)}", kind="call")
    held = evolve(task, digest=call_digest(run.id, call))
    within = core.config.approval.expires
    with core.store:
        return ask(core.store, held, run.number, (what, *reasons), now=core.clock.now(), within=within)


def answer_to(core: EngineCore, question: Approval) -> Approval | None:
    """Return a question with its answer, or None while there is none."""
    for each in core.store.approvals(question.task_id):
        if each.id == question.id and each.state != "waiting":
            return each
    return None


def decision(question: Approval) -> Decision:
    """Turn an answer into a decision for the agent."""
    if question.state == "granted":
        return Decision(allowed=True, reason=f"allowed by {question.by}")
    words = {"refused": f"refused by {question.by}", "expired": "not answered in time"}
    said = words.get(question.state, "the question is void")
    return Decision(allowed=False, reason=f"{said}: {question.note}" if question.note else said)


def call_digest(run: str, call: ToolCall) -> str:
    """Identify a call of a run, so that an answer counts for this call alone."""
    facts = (run, call.id, call.tool, sorted(call.arguments.items()), call.command)
    return blake2b(json.dumps(facts, default=repr).encode(), digest_size=16).hexdigest()


def call_text(call: ToolCall) -> str:
    if call.command is not None:
        return f"{call.tool}: {call.command}"
    return f"{call.tool} {json.dumps(dict(call.arguments), ensure_ascii=False, default=repr)}"
