"""The offline agent, for when no model is configured: it runs the commands quoted in a prompt.

It is not a language model and says so. Every message is stored at once and every command is a task, so a
killed process loses nothing that was done.
"""

from __future__ import annotations

import json
import re

from errands.agents.session_log import SessionLog, forked, tool_ended
from errands.model.agent.fork import clipped, newest, tokens
from errands.model.errors import AgentError, BudgetExceeded
from errands.model.text.sanitise import without_fenced
from errands.ports.agent import Activity, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from errands.ports.agent import AgentContext, CommandResult

    Message = Mapping[str, Any]

INTRODUCTION = (
    "This is the offline agent. It is not a language model: it carries out the commands that are quoted in a "
    "prompt and reports their output."
)
NO_MODEL = (
    "no model is set up, and the prompt quotes no command; `errands agents setup` sets one up, and "
    "a prompt such as 'run `make test`' needs none"
)
_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_BACKTICKS = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# An apostrophe inside a word quotes nothing.
_QUOTES = re.compile(r"""(?:^|(?<=[\s(:]))(["'])(?=\S)(.+?)(?<=\S)\1(?=[\s).,;:!?]|$)""", re.DOTALL)
_TOOL = "command"


class Offline:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        """There is nothing to set."""

    async def open(self, context: AgentContext) -> str:
        return SessionLog.create(context, context.session).session

    async def fork(self, session: str, context: AgentContext) -> str:
        log = SessionLog(context, session, forked(context, session)[0])
        history = [_clipped(each) for each in log.entries]
        kept = newest(history, size=lambda message: tokens(json.dumps(message)))
        return SessionLog.create(context, context.session, kept).session

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        log = SessionLog(context, session)
        log.add(run=context.run, role="user", text=text)
        return await self._answer(log, text, context)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        log = SessionLog(context, session)
        mine = log.of_run()
        for each in mine:
            if each["role"] == "agent":
                return _answered(each["text"], mine)
        if any(each["role"] == "user" for each in mine):
            return await self._answer(log, text, context)
        return await self.prompt(session, text, context)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        SessionLog(context, session).add(run=context.run, role="note", text=text)

    async def abort(self, session: str) -> None:
        """Cancelling the prompt ends everything it started."""

    async def drop(self, session: str, context: AgentContext) -> None:
        context.delete_messages(session)

    async def close(self) -> None:
        """There is nothing to release."""

    async def _answer(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        """Run the commands that have no result yet, in order, and report."""
        done = {each["call"]: each for each in log.of_run() if each["role"] == "tool"}
        most = context.spec.budget.get("tool_calls")
        for number, line in enumerate(commands(text), start=1):
            call = f"call-{number}"
            if most is not None and number > most:
                said = _report(list(done.values())) if done else ""
                raise BudgetExceeded.of("tool_calls", most, number - 1, partial=said)
            if call not in done:
                done[call] = await self._run(log, call, line, context)
        if not done:
            raise AgentError(NO_MODEL)
        reply = _report(list(done.values()))
        log.add(run=context.run, role="agent", text=reply)
        return _answered(reply, list(done.values()))

    async def _run(self, log: SessionLog, call: str, line: str, context: AgentContext) -> Message:
        await context.wait_turn()
        context.report(Activity(kind="tool", name=_TOOL, call_id=call, text=line))
        result = await context.run_command(call, line)
        failed = result.state != "completed"
        context.report(tool_ended(_TOOL, call, result.output, failed=failed))
        return log.add(
            run=context.run, role="tool", call=call, command=line, output=result.output,
            outcome=_outcome(result),
        )  # fmt: skip


def commands(prompt: str) -> list[str]:
    """Find the quoted commands of a prompt: fenced and in backticks or, if there are none, in quotes."""
    prompt = without_fenced(prompt)  # the payload of an event is data: nothing in it is a command
    found = [(each.start(), each[1].strip()) for each in _FENCED.finditer(prompt)]
    rest = _FENCED.sub(lambda each: " " * len(each[0]), prompt)
    found += [(each.start(), each[2].strip()) for each in _BACKTICKS.finditer(rest)]
    if not found:
        found = [(each.start(), each[2].strip()) for each in _QUOTES.finditer(prompt)]
    return [line for _, line in sorted(found) if line]


def _clipped(message: Message) -> Message:
    return {**message, "output": clipped(message["output"])} if message["role"] == "tool" else message


def _outcome(result: CommandResult) -> str:
    if result.state == "completed":
        return ""
    if result.code:
        return f"exit code {result.code}"
    return f"{result.state}: {result.error}" if result.error else result.state


def _report(results: Sequence[Message]) -> str:
    parts = []
    for each in results:
        lines = [f"$ {each['command']}", each["output"].rstrip("\n")]
        if each["outcome"]:
            lines.append(f"({each['outcome']})")
        parts.append("\n".join(filter(None, lines)))
    return "\n\n".join([*parts, INTRODUCTION])


def _answered(text: str, messages: Sequence[Message]) -> Answer:
    return Answer(text=text, usage={"tool_calls": sum("call" in each for each in messages)})
