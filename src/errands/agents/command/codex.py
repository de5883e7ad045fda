"""The preset for Codex: `codex exec resume`, one process per prompt, with JSON lines on its standard output.

Codex keeps a session as a file of JSON lines. We begin that file ourselves, empty or with a shortened copy of
another one, so that the session has a name we chose. `codex exec` cannot ask for approval: its commands run
in Codex's own sandbox, which can write to the directory of the task and has no network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from errands.agents.command.process import Process, Processes, end_strays
from errands.agents.command.rollout import Rollouts
from errands.agents.command.turn import Account
from errands.agents.session_log import INTERRUPTED, tool_ended, tool_started
from errands.model.errors import AgentError, AgentUnavailable, SessionGone
from errands.ports.agent import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.agents.session_log import SessionLog
    from errands.ports.agent import AgentContext, Spec

SANDBOX = "workspace-write"
_CHOICES = ("-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me")
# The items of a turn that are calls of tools, and what to show of each.
_CALLS = {
    "command_execution": "command",
    "file_change": "changes",
    "mcp_tool_call": "arguments",
    "web_search": "query",
}


class Codex:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._program: Sequence[str] = settings["command"]
        self._arguments: Sequence[str] = settings.get("arguments", ())
        self._model: str | None = settings.get("model")
        self._env: Mapping[str, str] = settings.get("env", {})
        self._rollouts = Rollouts(self._env)
        self._processes = Processes()

    async def ask(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        return await self._converse(log, "\n\n".join([*self._pending(log), text]), context)

    async def recover(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        await end_strays(log.session)
        begun = [each for each in log.of_run() if each["kind"] == "begun"]
        if not begun or not self._arrived(log, begun[0]):
            return await self.ask(log, text, context)
        said = self._rollouts.answer(log.session, after=begun[-1]["lines"])
        if said is not None:
            return Answer(text=said)
        return await self._converse(log, INTERRUPTED, context)

    def fork(
        self, log: SessionLog, later: Sequence[Mapping[str, Any]], session: str, *, call: str | None
    ) -> list[Mapping[str, Any]]:
        ends = [each["lines"] for each in later if each["kind"] == "begun"]
        if self._rollouts.find(log.session) is not None:
            self._rollouts.copy(log.session, session, call=call, lines=min(ends, default=None))
        elif any(each["kind"] == "answer" for each in log.entries):
            raise SessionGone
        return [{"kind": "post", "text": text} for text in self._pending(log)]

    def fork_own(self, session: str, forked: str, *, call: str | None) -> None:
        self._rollouts.copy(session, forked, call=call)

    def knows(self, session: str) -> bool:
        return self._rollouts.find(session) is not None

    def drop(self, session: str) -> None:
        self._rollouts.drop(session)

    async def abort(self, session: str) -> None:
        await self._processes.end(session)

    def _pending(self, log: SessionLog) -> list[str]:
        posts: list[str] = []
        for entry in log.entries:
            if entry["kind"] == "post":
                posts.append(entry["text"])
            elif entry["kind"] == "begun" and self._arrived(log, entry):
                posts = []
        return posts

    def _arrived(self, log: SessionLog, begun: Mapping[str, Any]) -> bool:
        """Return whether the prompt of a process that was started is part of the session."""
        return self._rollouts.has_prompt(log.session, begun["text"], after=begun["lines"])

    async def _converse(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        spec, session = context.spec, log.session
        if spec.tools is not None:
            raise AgentError("Codex brings its own tools; leave `tools` out")
        await context.wait_turn()
        if not self.knows(session):
            if any(each["kind"] == "answer" for each in log.entries):
                raise SessionGone
            self._rollouts.begin(session, spec.cwd)
        log.add(kind="begun", run=context.run, text=text, lines=self._rollouts.length(session))
        turn = Turn(context)
        before = self._rollouts.usage(session)
        argv = [*self._program, "exec", *self._flags(spec), "resume", session, "-"]
        async with self._processes.start(session, argv, cwd=spec.cwd, env=self._env) as process:
            await process.write(text)
            process.close_input()
            async for line in process.lines():
                with suppress(ValueError):  # not a message
                    turn.handle(json.loads(line))
                turn.check()
            code = await process.wait()
        turn.use({name: n - before.get(name, 0) for name, n in self._rollouts.usage(session).items() if n})
        return turn.answer(process, code)

    def _flags(self, spec: Spec) -> list[str]:
        flags = ["--json", "--skip-git-repo-check", "-C", spec.cwd]
        if not any(each.partition("=")[0] in _CHOICES for each in self._arguments):
            flags += ["-s", SANDBOX]
        if spec.system:
            flags += ["-c", f"developer_instructions={json.dumps(spec.system)}"]
        if name := spec.model or self._model:
            flags += ["-m", name]
        return [*flags, *self._arguments]


class Turn(Account):
    def __init__(self, context: AgentContext) -> None:
        super().__init__(context)
        self._open: set[str] = set()
        self._is_complete = False

    def handle(self, said: Any) -> None:
        match said:
            case {"type": "item.started" | "item.completed" as when, "item": {"type": str(kind)} as item}:
                self._handle_item(when == "item.completed", kind, item)
            case {"type": "turn.completed"}:
                self._is_complete = True
            case {"type": "turn.failed", "error": {"message": message}} | {
                "type": "error",
                "message": message,
            }:
                self._fault = str(message)

    def answer(self, process: Process, code: int) -> Answer:
        partial = self._partial
        if self._is_complete:
            self.check()  # the tokens are known only now
            return Answer(text=self._texts[-1] if self._texts else "", usage=self._used)
        if process.was_ended:
            raise AgentError("the prompt was aborted", partial=partial)
        if "no rollout found" in process.stderr:
            raise SessionGone
        if self._fault:
            raise AgentUnavailable(f"the model gave no answer: {self._fault}", partial=partial)
        raise AgentUnavailable(process.ended("Codex", code), partial=partial)

    def _handle_item(self, is_over: bool, kind: str, item: Mapping[str, Any]) -> None:
        if kind == "agent_message" and is_over:
            self._say(str(item.get("text", "")))
        elif kind in _CALLS:
            call, name = str(item.get("id", "")), str(item.get("tool") or kind)
            if call not in self._open:
                self._open.add(call)
                self._used["tool_calls"] += 1
                shown = item.get(_CALLS[kind])
                self._context.report(tool_started(name, call, {"command": shown} if shown else {}))
            if is_over:
                failed = item.get("status") == "failed"
                said = item.get("aggregated_output")
                self._context.report(tool_ended(name, call, said, failed=failed))
