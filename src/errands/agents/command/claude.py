"""Claude Code, ready-made: `claude -p` with both streams as JSON lines.

Sessions are its own: named by us, resumed by name, forked from a copy of the transcript that is cut to size.
It asks before it uses a tool; shell commands are always asked about, whatever its own settings allow.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from errands.agents.command.process import Process, Processes, end_strays
from errands.agents.command.transcript import Transcripts, after, final_text, prompt_id
from errands.agents.command.turn import Turn
from errands.model.agent.errors import SessionGone
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.agents.command.ledger import Ledger
    from errands.ports.agent import AgentContext, Spec

# Nobody is there to answer a question, and the process ends with its answer.
USELESS = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "CronCreate", "ScheduleWakeup")
INTERRUPTED = (
    "You were interrupted while you worked on the request before this one, and are running again now. A tool "
    "call without a result may or may not have been carried out: look before you do anything twice. Then "
    "finish the request."
)


class Claude:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._program: Sequence[str] = settings["command"]
        self._arguments: Sequence[str] = settings.get("arguments", ())
        self._model: str | None = settings.get("model")
        retries = str(settings.get("retries", 3))
        self._env = {"CLAUDE_CODE_MAX_RETRIES": retries, **settings.get("env", {})}
        self._transcripts = Transcripts(self._env, settings.get("home"))
        self._processes = Processes()

    async def ask(self, ledger: Ledger, text: str, context: AgentContext) -> Answer:
        """Send the prompt of a run, with what was posted since the one before."""
        words = [*self._pending(ledger), text]
        return await self._talk(ledger, "\n\n".join(words), context, prompt=prompt_id(context.run))

    async def recover(self, ledger: Ledger, text: str, context: AgentContext) -> Answer:
        await end_strays(ledger.session)
        entries = self._transcripts.read(ledger.session)
        since = after(entries, prompt_id(context.run))
        if since is None:
            return await self.ask(ledger, text, context)
        said = final_text(since)
        if said is not None:
            return Answer(text=said)
        return await self._talk(ledger, INTERRUPTED, context, prompt=None)

    def fork(self, ledger: Ledger, session: str) -> list[Mapping[str, Any]]:
        """Copy the transcript for a new session; give the entries that its ledger begins with."""
        entries = self._transcripts.read(ledger.session)
        posts: list[Mapping[str, Any]] = [{"kind": "post", "text": text} for text in self._pending(ledger)]
        if entries:
            self._transcripts.copy(entries, session)
        elif any(each["kind"] == "answer" for each in ledger.entries):
            raise SessionGone
        return posts

    def drop(self, session: str) -> None:
        self._transcripts.drop(session)

    async def abort(self, session: str) -> None:
        await self._processes.end(session)

    def _pending(self, ledger: Ledger) -> list[str]:
        """Give the posts that no prompt has brought to the session yet."""
        known = {entry["uuid"] for entry in self._transcripts.read(ledger.session)}
        posts: list[str] = []
        for entry in ledger.entries:
            if entry["kind"] == "post":
                posts.append(entry["text"])
            elif entry["kind"] == "prompt":
                run = entry["run"]
                if prompt_id(run) in known or ledger.of("answer", run):
                    posts = []
        return posts

    async def _talk(self, ledger: Ledger, text: str, context: AgentContext, *, prompt: str | None) -> Answer:
        await context.wait_turn()
        session = ledger.session
        if self._transcripts.find(session):
            place = ["--resume", session]
        elif (kept := self._transcripts.kept(session)).exists():
            place = ["--resume", str(kept), "--fork-session", "--session-id", session]
        elif any(each["kind"] == "answer" for each in ledger.entries):
            raise SessionGone
        else:
            place = ["--session-id", session]
        argv = [*self._program, *_flags(context.spec, self._model), *place, *self._arguments]
        try:
            async with self._processes.start(session, argv, cwd=context.spec.cwd, env=self._env) as process:
                turn = Turn(process, context, spent=self._transcripts.cost(session))
                try:
                    return await self._answer(process, turn, _message(text, prompt))
                finally:
                    await asyncio.shield(turn.close())
        finally:
            self._transcripts.keep(session)

    async def _answer(self, process: Process, turn: Turn, message: Mapping[str, Any]) -> Answer:
        await process.tell(json.dumps(message) + "\n")
        async for line in process.lines():
            with suppress(ValueError):  # what is no JSON is no message to us
                turn.hear(json.loads(line))
            turn.check()
            if turn.over:
                process.hush()
        return turn.answer(await process.ended())


def _message(text: str, prompt: str | None) -> dict[str, Any]:
    message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
    return {**message, "uuid": prompt} if prompt else message


def _flags(spec: Spec, model: str | None) -> list[str]:
    settings = {"permissions": {"ask": ["Bash"]}}
    flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    flags += ["--permission-prompt-tool", "stdio", "--settings", json.dumps(settings)]
    flags += ["--disallowedTools", ",".join(USELESS)]
    if spec.system:
        flags += ["--append-system-prompt", spec.system]
    if name := spec.model or model:
        flags += ["--model", name]
    if spec.tools is not None:
        flags += ["--tools", ",".join(spec.tools)]
    if requests := spec.budget.get("requests"):
        flags += ["--max-turns", str(requests)]
    if cost := spec.budget.get("cost_microdollars"):
        flags += ["--max-budget-usd", f"{cost / 1e6:.6f}"]
    return flags
