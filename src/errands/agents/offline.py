"""The offline agent: serves when no model is configured. It carries out the commands quoted in a prompt.

It is no language model and says so. The conversation is kept on the desk, one message at a time, and every
command is a task of its own, so whatever kills its process costs nothing that was done.
"""

from __future__ import annotations

import json
import re

from errands.model.agent.errors import BudgetExceeded, SessionGone
from errands.model.agent.fork import clipped, newest, tokens
from errands.ports.agent import Activity, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from errands.ports.agent import AgentContext, CommandResult

    Message = dict[str, Any]

INTRODUCTION = (
    "This is the offline agent. It is not a language model: it carries out the commands that are quoted in a "
    "prompt and reports their output."
)
NOTHING_QUOTED = "There is no command in this prompt; quote one in backticks, for example `make test`."
# What somebody else said, handed over as data: nothing in it is a command.
_EVENT = re.compile(r"^\[event ([0-9A-Za-z]{8,}) begins: .*?^\[event \1 ends\]\n", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_BACKTICKS = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# An apostrophe inside a word quotes nothing.
_QUOTES = re.compile(r"""(?:^|(?<=[\s(:]))(["'])(?=\S)(.+?)(?<=\S)\1(?=[\s).,;:!?]|$)""", re.DOTALL)
_TOOL = "command"


class Offline:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        """There is nothing to set."""

    async def open(self, context: AgentContext) -> str:
        context.append_messages(context.session, (), usage={})
        return context.session

    async def fork(self, session: str, context: AgentContext) -> str:
        history = [_clipped(each) for each in _messages(session, context)]
        kept = newest(
            [json.dumps(each) for each in history], size=tokens, calls=lambda _: (), results=lambda _: ()
        )
        context.append_messages(context.session, kept, usage={})
        return context.session

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        _messages(session, context)
        _keep(session, context, role="user", text=text)
        return await self._answer(session, text, context)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        mine = [each for each in _messages(session, context) if each["run"] == context.run]
        for each in mine:
            if each["role"] == "agent":
                return _answered(each["text"], mine)
        if any(each["role"] == "user" for each in mine):
            return await self._answer(session, text, context)
        return await self.prompt(session, text, context)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        _messages(session, context)
        _keep(session, context, role="note", text=text)

    async def abort(self, session: str) -> None:
        """Whoever cancels the prompt has ended all there is."""

    async def drop(self, session: str, context: AgentContext) -> None:
        context.delete_messages(session)

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def _answer(self, session: str, text: str, context: AgentContext) -> Answer:
        """Carry out the commands that have no result yet, in order, and report."""
        done = {
            each["call"]: each
            for each in _messages(session, context)
            if each["role"] == "tool" and each["run"] == context.run
        }
        most = context.spec.budget.get("tool_calls")
        for number, line in enumerate(commands(text), start=1):
            call = f"call-{number}"
            if most is not None and number > most:
                said = _report(list(done.values())) if done else ""
                raise BudgetExceeded.of("tool_calls", most, number - 1, partial=said)
            if call not in done:
                done[call] = await self._run(session, call, line, context)
        reply = _report(list(done.values())) if done else _remember(_messages(session, context))
        _keep(session, context, role="agent", text=reply)
        return _answered(reply, list(done.values()))

    async def _run(self, session: str, call: str, line: str, context: AgentContext) -> Message:
        await context.wait_turn()
        context.report(Activity(kind="tool", name=_TOOL, call_id=call, text=line))
        ran = await context.run_command(call, line)
        context.report(Activity(kind="tool_end", name=_TOOL, call_id=call, failed=ran.state != "completed"))
        return _keep(
            session, context, role="tool", call=call, command=line, output=ran.output, outcome=_outcome(ran)
        )


def commands(prompt: str) -> list[str]:
    """Find the quoted commands of a prompt: fenced and in backticks or, if there are none, in quotes."""
    prompt = _EVENT.sub("", prompt)
    found = [(each.start(), each[1].strip()) for each in _FENCED.finditer(prompt)]
    rest = _FENCED.sub(lambda each: " " * len(each[0]), prompt)
    found += [(each.start(), each[2].strip()) for each in _BACKTICKS.finditer(rest)]
    if not found:
        found = [(each.start(), each[2].strip()) for each in _QUOTES.finditer(prompt)]
    return [line for _, line in sorted(found) if line]


def _messages(session: str, context: AgentContext) -> list[Message]:
    kept = context.messages(session)
    if kept is None:
        raise SessionGone
    return [json.loads(each) for each in kept]


def _keep(session: str, context: AgentContext, **message: str) -> Message:
    kept = {"run": context.run, **message}
    context.append_messages(session, [json.dumps(kept)], usage={})
    return kept


def _clipped(message: Message) -> Message:
    return {**message, "output": clipped(message["output"])} if message["role"] == "tool" else message


def _outcome(ran: CommandResult) -> str:
    if ran.state == "completed":
        return ""
    if ran.code:
        return f"exit code {ran.code}"
    return f"{ran.state}: {ran.error}" if ran.error else ran.state


def _report(results: Sequence[Message]) -> str:
    parts = []
    for each in results:
        lines = [f"$ {each['command']}", each["output"].rstrip("\n")]
        if each["outcome"]:
            lines.append(f"({each['outcome']})")
        parts.append("\n".join(filter(None, lines)))
    return "\n\n".join([*parts, INTRODUCTION])


def _remember(history: Sequence[Message]) -> str:
    """Say what was said before, for want of a command."""
    lines = [NOTHING_QUOTED]
    told = [_told(each) for each in history[:-1] if each["role"] != "agent"]
    if told:
        lines.append("\n".join(["Before this, in the same conversation:", *told]))
    return "\n\n".join([*lines, INTRODUCTION])


def _told(message: Message) -> str:
    if message["role"] == "tool":
        return f"- $ {message['command']} {message['outcome']}".rstrip()
    return f"- {message['text']}"


def _answered(text: str, messages: Sequence[Message]) -> Answer:
    return Answer(text=text, usage={"tool_calls": sum("call" in each for each in messages)})
