"""The agent behind a command line: a ledger for what the program cannot keep, and the program."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Mapping
from typing import Any

from errands.agents.command.claude import Claude
from errands.agents.command.ledger import Ledger
from errands.agents.command.plain import Plain
from errands.model.errors import BadValue
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

COMMON = {"backend", "budget", "home", "lane"}  # what all agents have
SETTINGS = {"preset", "command", "arguments", "env", "model", "retries"}
PRESETS: dict[str, type[Claude] | type[Plain]] = {"claude": Claude, "plain": Plain}


class Command:
    """Settings: `preset` (claude; plain when a command is given), `command`, `env` and more."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        if unknown := settings.keys() - SETTINGS - COMMON:
            words = ", ".join(sorted(SETTINGS))
            raise BadValue(f"a command line agent has no setting {min(unknown)!r}; there are {words}")
        words = settings.get("command", "claude")
        command = shlex.split(words) if isinstance(words, str) else list(words)
        preset = settings.get("preset") or ("plain" if "command" in settings else "claude")
        if preset not in PRESETS:
            raise BadValue(f"no preset {preset!r} for a command line agent; there are {', '.join(PRESETS)}")
        self._program = PRESETS[preset]({**settings, "command": command})

    async def open(self, context: AgentContext) -> str:
        session = str(uuid.uuid4())
        Ledger.new(context, session, [{"kind": "open"}])
        return session

    async def fork(self, session: str, context: AgentContext) -> str:
        ledger, forked = Ledger(context, session), str(uuid.uuid4())
        begun = self._program.fork(ledger, forked)
        Ledger.new(context, forked, [{"kind": "open"}, *begun])
        return forked

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        ledger = Ledger(context, session)
        ledger.add("prompt", run=context.run, text=text)
        return self._keep(ledger, await self._program.ask(ledger, text, context), context)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        ledger = Ledger(context, session)
        if kept := ledger.of("answer", context.run):
            return Answer(text=kept["text"], usage=kept["usage"])
        if not ledger.of("prompt", context.run):
            return await self.prompt(session, text, context)
        return self._keep(ledger, await self._program.recover(ledger, text, context), context)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        Ledger(context, session).add("post", text=text)

    async def abort(self, session: str) -> None:
        await self._program.abort(session)

    async def drop(self, session: str, context: AgentContext) -> None:
        self._program.drop(session)
        context.delete_messages(session)

    async def close(self) -> None:
        """Hold nothing: every process ends with the prompt it was started for."""

    @staticmethod
    def _keep(ledger: Ledger, answer: Answer, context: AgentContext) -> Answer:
        ledger.add("answer", run=context.run, text=answer.text, usage=dict(answer.usage))
        return answer
