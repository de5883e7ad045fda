"""One turn, from a prompt to the answer: the messages that Claude Code prints meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from errands.agents.command.process import Process
from errands.agents.session_log import text_said, tool_ended, tool_started
from errands.model.errors import AgentError, AgentUnavailable, BudgetExceeded, SessionGone
from errands.ports.agent import Activity, Answer, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

LIMITS = ("max_turns", "max_budget")  # beginnings of the reasons for stopping at a limit we set


class Account:
    """What was said in a turn, and what that used."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._texts: list[str] = []
        self._used = {"input_tokens": 0, "output_tokens": 0, "requests": 0, "tool_calls": 0}
        self._fault = ""

    @property
    def _partial(self) -> str:
        return "\n".join(self._texts)

    def check(self) -> None:
        """Raise `BudgetExceeded` when the run has used more than its budget."""
        if overrun := BudgetExceeded.among(self._context.spec.budget, self._used, partial=self._partial):
            raise overrun

    def use(self, more: Mapping[str, int]) -> None:
        for name, number in more.items():
            self._used[name] = self._used.get(name, 0) + number
        if more:
            self._context.report(Activity(kind="usage", usage=more))

    def _say(self, text: str) -> None:
        self._texts.append(text)
        self._context.report(text_said(text))


class Turn(Account):
    def __init__(
        self, process: Process, context: AgentContext, *, spent: float, agent: str | None = None
    ) -> None:
        super().__init__(context)
        self._process = process
        self._agent = agent  # the agent of Claude Code's own that was asked for
        self._spent = spent  # dollars, before this turn
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tools: dict[str, str] = {}
        self._counted: set[str] = set()
        self._failure: BaseException | None = None
        self._result: Mapping[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        return self._result is not None

    def handle(self, said: Any) -> None:
        match said:
            case {
                "type": "control_request",
                "request_id": name,
                "request": {"subtype": "can_use_tool"} as request,
            }:
                self._asking[name] = asyncio.create_task(self._ask(name, request))
                self._asking[name].add_done_callback(self._asked)
            case {"type": "control_cancel_request", "request_id": name} if name in self._asking:
                self._asking[name].cancel()
            case {"type": "system", "subtype": "init", "agents": [*names]}:
                self._check_agent(names)
            case {"type": "assistant", "error": str(), "message": {"content": content}}:
                self._fault = _text(content)
            case {"type": "assistant", "message": message}:
                self._handle_assistant(message)
            case {"type": "user", "message": {"content": [*parts]}}:
                for part in parts:
                    self._handle_result(part)
            case {"type": "result"}:
                self._result = said

    def _check_agent(self, names: Sequence[str]) -> None:
        """Refuse an agent that Claude Code does not have: it would silently answer as another."""
        if self._agent and self._agent not in names:
            raise AgentError(f"Claude Code has no agent {self._agent!r}; it has {', '.join(names)}")

    def answer(self, code: int) -> Answer:
        partial = self._partial
        complaints = self._process.stderr
        if self._failure is not None:
            raise self._failure
        if self._result is None and self._process.was_ended:
            raise AgentError("the prompt was aborted", partial=partial)
        if self._result is None:
            raise AgentUnavailable(self._process.ended("Claude Code", code), partial=partial)
        result = self._result
        self._count_rest(result)
        reason = str(result.get("terminal_reason") or result.get("subtype") or "")
        if not result.get("is_error") and result.get("subtype") == "success":
            self.check()  # the output tokens are known only now
            return Answer(text=str(result.get("result", "")), usage=self._used)
        errors = "; ".join(str(each) for each in result.get("errors") or ())
        said = self._fault or errors or str(result.get("result") or "") or complaints or reason
        if "No conversation found" in f"{errors} {complaints}":
            raise SessionGone
        if reason.removeprefix("error_").startswith(LIMITS):
            raise BudgetExceeded(f"Claude Code stopped at its limit: {said}", partial=partial)
        if self._fault:
            raise AgentUnavailable(f"the model gave no answer: {said}", partial=partial)
        raise AgentError(f"Claude Code gave no answer: {said}", partial=partial)

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        if self._asking:
            await asyncio.wait(self._asking.values())

    def _handle_assistant(self, message: Mapping[str, Any]) -> None:
        for part in message["content"]:
            match part:
                case {"type": "tool_use", "id": call_id, "name": name, "input": dict(about)}:
                    self._tools[call_id] = name
                    self._used["tool_calls"] += 1
                    self._context.report(tool_started(str(name), str(call_id), dict(about)))
                case {"type": "text", "text": text}:
                    self._say(text)
        if message["id"] not in self._counted:
            self._counted.add(message["id"])
            usage = message.get("usage") or {}
            self.use({"requests": 1, "input_tokens": _input(usage)})

    def _handle_result(self, part: Any) -> None:
        match part:
            case {"type": "tool_result", "tool_use_id": call_id} if call_id in self._tools:
                failed = bool(part.get("is_error"))
                name = self._tools.pop(call_id)
                self._context.report(tool_ended(name, call_id, part.get("content"), failed=failed))

    def _count_rest(self, result: Mapping[str, Any]) -> None:
        """Report the usage that single messages leave out, such as output tokens."""
        usage = result.get("usage") or {}
        total = {"input_tokens": _input(usage), "output_tokens": int(usage.get("output_tokens") or 0)}
        more = {
            name: number - self._used[name] for name, number in total.items() if number > self._used[name]
        }
        if (cost := round((float(result.get("total_cost_usd") or 0) - self._spent) * 1e6)) > 0:
            more["cost_microdollars"] = cost
        self.use(more)

    def _asked(self, task: asyncio.Task[None]) -> None:
        """End the turn when a question failed: it would wait forever."""
        if not task.cancelled() and (error := task.exception()):
            self._failure = error
            self._process.stop()

    async def _ask(self, name: str, request: Mapping[str, Any]) -> None:
        arguments = request.get("input") or {}
        tool = request["tool_name"]
        command = str(arguments.get("command", "")) if tool == "Bash" else None
        await self._context.wait_turn()
        call = ToolCall(
            id=request.get("tool_use_id") or name, tool=tool, arguments=arguments, command=command
        )
        decision = await self._context.request_approval(call)
        if decision.allowed:
            answer = {"behavior": "allow", "updatedInput": arguments}
        else:
            answer = {"behavior": "deny", "message": decision.reason or "This call was not allowed."}
        response = {"subtype": "success", "request_id": name, "response": answer}
        await self._process.write(json.dumps({"type": "control_response", "response": response}) + "\n")


def _input(usage: Mapping[str, Any]) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(int(usage.get(name) or 0) for name in names)


def _text(content: Any) -> str:
    return "\n".join(str(part.get("text", "")) for part in content)
