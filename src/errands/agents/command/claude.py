"""The preset for Claude Code: `claude -p` with JSON lines in both directions.

It keeps the sessions, under names that we choose; a fork starts from a shortened copy of the transcript. It
asks before it uses a tool, and always before a shell command, whatever its own settings allow.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from errands.agents.command.process import Process, Processes, end_strays
from errands.agents.command.transcript import Transcripts, after, closed, final_text, prompt_id
from errands.agents.command.turn import Turn
from errands.agents.session_log import INTERRUPTED
from errands.model.errors import SessionGone
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.agents.session_log import SessionLog
    from errands.ports.agent import AgentContext, Spec

# No person can answer a question, and the process ends with its answer.
USELESS = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "CronCreate", "ScheduleWakeup")


class Claude:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._program: Sequence[str] = settings["command"]
        self._arguments: Sequence[str] = settings.get("arguments", ())
        self._model: str | None = settings.get("model")
        self._agent: str | None = settings.get("agent")
        retries = str(settings.get("retries", 3))
        self._env = {"CLAUDE_CODE_MAX_RETRIES": retries, **settings.get("env", {})}
        self._transcripts = Transcripts(self._env, settings.get("home"))
        self._processes = Processes()

    async def ask(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        """Send the prompt of a run, preceded by what was posted since the last one."""
        words = [*self._pending(log), text]
        return await self._converse(log, "\n\n".join(words), context, prompt=prompt_id(context.run))

    async def recover(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        await end_strays(log.session)
        entries = self._transcripts.read(log.session)
        since = after(entries, prompt_id(context.run))
        if since is None:
            return await self.ask(log, text, context)
        said = final_text(since)
        if said is not None:
            return Answer(text=said)
        return await self._converse(log, INTERRUPTED, context, prompt=None)

    def fork(
        self, log: SessionLog, later: Sequence[Mapping[str, Any]], session: str, *, call: str | None
    ) -> list[Mapping[str, Any]]:
        """Copy the transcript for a new session; return the first entries of its log.

        The copy ends before a call, if one is given, and before what `later` entries sent.
        """
        prompts = {prompt_id(each["run"]) for each in later if each["kind"] == "prompt"}
        entries = self._transcripts.read(log.session, before=call, or_before=prompts)
        posts: list[Mapping[str, Any]] = [{"kind": "post", "text": text} for text in self._pending(log)]
        if entries:
            self._transcripts.copy(entries, session)
        elif any(each["kind"] == "answer" for each in log.entries):
            raise SessionGone
        return posts

    def fork_own(self, session: str, forked: str, *, call: str | None) -> None:
        """Copy a session that Claude Code itself began, up to the call that asks for it."""
        entries = closed(self._transcripts.read(session, before=call))
        if not entries:
            raise SessionGone
        self._transcripts.copy(entries, forked)

    def knows(self, session: str) -> bool:
        return self._transcripts.find(session) is not None or self._transcripts.kept(session).exists()

    def drop(self, session: str) -> None:
        self._transcripts.drop(session)

    async def abort(self, session: str) -> None:
        await self._processes.end(session)

    def _pending(self, log: SessionLog) -> list[str]:
        """Return the posts that no prompt has delivered to the session yet."""
        known = {entry["uuid"] for entry in self._transcripts.read(log.session)}
        answered = {entry["run"] for entry in log.entries if entry["kind"] == "answer"}
        posts: list[str] = []
        for entry in log.entries:
            if entry["kind"] == "post":
                posts.append(entry["text"])
            elif entry["kind"] == "prompt" and (prompt_id(entry["run"]) in known or entry["run"] in answered):
                posts = []
        return posts

    async def _converse(
        self, log: SessionLog, text: str, context: AgentContext, *, prompt: str | None
    ) -> Answer:
        await context.wait_turn()
        session = log.session
        if self._transcripts.find(session):
            place = ["--resume", session]
        elif (kept := self._transcripts.kept(session)).exists():
            place = ["--resume", str(kept), "--fork-session", "--session-id", session]
        elif any(each["kind"] == "answer" for each in log.entries):
            raise SessionGone
        else:
            place = ["--session-id", session]
        argv = [*self._program, *_flags(context.spec, self._model, self._agent), *place, *self._arguments]
        try:
            async with self._processes.start(session, argv, cwd=context.spec.cwd, env=self._env) as process:
                spent = self._transcripts.cost(session)
                turn = Turn(process, context, spent=spent, agent=self._agent)
                try:
                    return await self._answer(process, turn, _message(text, prompt))
                finally:
                    await asyncio.shield(turn.close())
        finally:
            self._transcripts.keep(session)

    async def _answer(self, process: Process, turn: Turn, message: Mapping[str, Any]) -> Answer:
        await process.write(json.dumps(message) + "\n")
        async for line in process.lines():
            with suppress(ValueError):  # not a message
                turn.handle(json.loads(line))
            turn.check()
            if turn.is_over:
                process.close_input()
        return turn.answer(await process.wait())


def _message(text: str, prompt: str | None) -> dict[str, Any]:
    message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
    return {**message, "uuid": prompt} if prompt else message


def _flags(spec: Spec, model: str | None, agent: str | None) -> list[str]:
    settings = {"permissions": {"ask": ["Bash"]}}
    flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    flags += ["--permission-prompt-tool", "stdio", "--settings", json.dumps(settings)]
    flags += ["--disallowedTools", ",".join(USELESS)]
    if spec.system:
        flags += ["--append-system-prompt", spec.system]
    if name := spec.model or model:
        flags += ["--model", name]
    if agent:
        flags += ["--agent", agent]
    if spec.tools is not None:
        flags += ["--tools", ",".join(spec.tools)]
    if requests := spec.budget.get("requests"):
        flags += ["--max-turns", str(requests)]
    if cost := spec.budget.get("cost_microdollars"):
        flags += ["--max-budget-usd", f"{cost / 1e6:.6f}"]
    return flags
