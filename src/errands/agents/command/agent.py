"""The backend behind a command line: a log for what the program cannot keep, and the program."""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Mapping
from typing import Any

from errands.agents.command.claude import Claude
from errands.agents.command.codex import Codex
from errands.agents.command.plain import Plain
from errands.agents.session_log import SessionLog, check_settings, forked
from errands.model.errors import BadValue
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

PRESETS: dict[str, type[Claude] | type[Plain]] = {"claude": Claude, "plain": Plain}


class Command:
    """An entry of the log has a `kind`: open, post, prompt or answer; the last two also have a `run`."""

    backend = "command"
    usual = "claude"  # the program, unless the settings name another

    def __init__(self, settings: Mapping[str, Any]) -> None:
        check_settings(self.backend, settings)
        words = settings.get("command", self.usual)
        command = shlex.split(words) if isinstance(words, str) else list(words)
        self._program = self._kind(settings)({**settings, "command": command})

    def _kind(self, settings: Mapping[str, Any]) -> type[Claude] | type[Codex] | type[Plain]:
        preset = settings.get("preset") or ("plain" if "command" in settings else "claude")
        if preset not in PRESETS:
            raise BadValue(f"no preset {preset!r} for a command line agent; there are {', '.join(PRESETS)}")
        return PRESETS[preset]

    async def open(self, context: AgentContext) -> str:
        return SessionLog.create(context, str(uuid.uuid4()), [{"kind": "open"}]).session

    async def fork(self, session: str, context: AgentContext) -> str:
        fork, end = str(uuid.uuid4()), context.spec.fork_at
        call = None if end is None or end.isdecimal() else end
        if context.messages(session) is None:
            self._program.fork_own(session, fork, call=call)
            entries: list[Mapping[str, Any]] = []
        else:
            copied, later = forked(context, session)
            log = SessionLog(context, session, copied)
            entries = self._program.fork(log, [json.loads(each) for each in later], fork, call=call)
        return SessionLog.create(context, fork, [{"kind": "open"}, *entries]).session

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        log = SessionLog(context, session)
        log.add(kind="prompt", run=context.run, text=text)
        return self._keep(log, await self._program.ask(log, text, context), context)

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        log = SessionLog(context, session)
        mine = {each["kind"]: each for each in log.of_run()}
        if "answer" in mine:
            return Answer(text=mine["answer"]["text"], usage=mine["answer"]["usage"])
        if "prompt" not in mine:
            return await self.prompt(session, text, context)
        return self._keep(log, await self._program.recover(log, text, context), context)

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        SessionLog(context, session).add(kind="post", text=text)

    async def abort(self, session: str) -> None:
        await self._program.abort(session)

    async def drop(self, session: str, context: AgentContext) -> None:
        self._program.drop(session)
        context.delete_messages(session)

    def knows(self, session: str) -> bool:
        """Return whether the program still has a session that was prompted before."""
        return self._program.knows(session)

    async def close(self) -> None:
        """There is nothing to release: every process ends with its prompt."""

    @staticmethod
    def _keep(log: SessionLog, answer: Answer, context: AgentContext) -> Answer:
        log.add(kind="answer", run=context.run, text=answer.text, usage=dict(answer.usage))
        return answer


class ClaudeCode(Command):
    backend = "claude"

    def _kind(self, settings: Mapping[str, Any]) -> type[Claude]:
        return Claude


class CodexCli(Command):
    backend = usual = "codex"

    def _kind(self, settings: Mapping[str, Any]) -> type[Codex]:
        return Codex
