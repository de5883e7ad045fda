"""Guarded tools: each call waits for its turn and for approval, and its result is stored at once.

Calls are carried out in the order they were made: calls after one that waits for approval wait, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext, ToolFailed
from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.tools import DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from errands.agents.builtin.conversation import Conversation
from errands.agents.builtin.toolbox import hopeless, is_free
from errands.agents.session_log import LONGEST_TEXT
from errands.model.errors import AgentError
from errands.ports.agent import Activity, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

WAITS = ("wait",)  # tools that wait, which may be called again and again
_OFTEN = 3  # times in a row that a call may be made with the same arguments
_LONGEST_NOTE = 200
_AGAIN = (
    "You have made this very call {times} times in a row, so it was not carried out again. Use the result "
    "that you have, do something else, or say what keeps you from continuing."
)


@dataclass
class GuardedTools(WrapperToolset[None]):
    context: AgentContext
    conversation: Conversation
    waiting: set[int] = field(default_factory=set)  # steps in which a call waits for approval

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        call_id = ctx.tool_call_id
        assert call_id is not None
        needs_approval = not is_free(name, self.context)
        try:
            self._break_loops(name, call_id)
            if not ctx.tool_call_approved and (needs_approval or ctx.run_step in self.waiting):
                self.waiting.add(ctx.run_step)
                raise ApprovalRequired
            await self.context.wait_turn()
            self.context.report(Activity(kind="tool", name=name, call_id=call_id, text=_arguments(tool_args)))
            if needs_approval:
                self.conversation.begin(call_id)
            result = await super().call_tool(name, tool_args, ctx, tool)
        except ToolFailed as failed:
            ctx.usage.tool_calls += 1  # the framework counts only those that succeed
            self._end(name, call_id, failed.message, failed=True)
            raise
        self._end(name, call_id, result, failed=False)
        return result

    def _break_loops(self, name: str, call_id: str) -> None:
        if name in WAITS:
            return
        times = self.conversation.repetitions(call_id)
        if times > _OFTEN:
            raise AgentError(
                f"the agent is going round in circles: it called {name} {times} times with the same arguments"
            )
        if times == _OFTEN:
            raise ToolFailed(_AGAIN.format(times=times))

    def _end(self, name: str, call_id: str, result: Any, *, failed: bool) -> None:
        content = result.return_value if isinstance(result, ToolReturn) else result
        part = ToolReturnPart(
            tool_name=name, content=content, tool_call_id=call_id, outcome="failed" if failed else "success"
        )
        self.conversation.keep(ModelRequest(parts=[part]))
        said = str(content)[:LONGEST_TEXT]
        self.context.report(Activity(kind="tool_end", name=name, call_id=call_id, text=said, failed=failed))
        self.context.report(Activity(kind="usage", usage={"tool_calls": 1}))


async def approvals(calls: Sequence[ToolCallPart], context: AgentContext) -> DeferredToolResults:
    """Request approval for calls, one after the other; those that need none are approved."""
    answers: dict[str, bool | ToolApproved | ToolDenied] = {}
    for call in calls:
        answers[call.tool_call_id] = ToolApproved()
        if is_free(call.tool_name, context):
            continue
        asked = ToolCall(id=call.tool_call_id, tool=call.tool_name, arguments=call.args_as_dict())
        if why := hopeless(asked.tool, asked.arguments, context.spec.cwd):
            report_failed(call, why, context)
            answers[call.tool_call_id] = ToolDenied(f"This call was not carried out: {why}")
            continue
        decision = await context.request_approval(asked)
        if not decision.allowed:
            reason = decision.reason or "no reason was given"
            answers[call.tool_call_id] = ToolDenied(f"This call was not allowed: {reason}")
    return DeferredToolResults(approvals=answers)


def report_failed(call: ToolCallPart, why: str, context: AgentContext) -> None:
    name, call_id = call.tool_name, call.tool_call_id
    context.report(Activity(kind="tool", name=name, call_id=call_id, text=_arguments(call.args)))
    context.report(
        Activity(kind="tool_end", name=name, call_id=call_id, text=why[:_LONGEST_NOTE], failed=True)
    )


def mistake(said: object) -> str:
    """Describe in one line what is wrong with a call's arguments, or with its name."""
    if not isinstance(said, list):
        return " ".join(str(said).split())
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}".lstrip(": ") for each in said)


def _arguments(arguments: Mapping[str, Any] | str | None) -> str:
    if isinstance(arguments, str):
        return arguments[:_LONGEST_NOTE]
    return json.dumps(arguments, ensure_ascii=False, default=str)[:_LONGEST_NOTE]
