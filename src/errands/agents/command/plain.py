"""Any program that reads a prompt and prints an answer.

It keeps no session, so every prompt includes the conversation so far: on standard input, or in place of
`{prompt}` in its command. It does not ask for approval: configure only programs you trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from errands.agents.command.process import Processes
from errands.agents.session_log import text_said
from errands.model.agent.fork import newest, tokens
from errands.model.errors import AgentError, SessionGone
from errands.ports.agent import Activity, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.agents.session_log import SessionLog
    from errands.ports.agent import AgentContext, Spec

TITLES = {"post": "Note", "prompt": "User", "answer": "Assistant"}


class Plain:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._command: Sequence[str] = settings["command"]
        self._model: str = settings.get("model") or ""
        self._env: Mapping[str, str] = settings.get("env", {})
        self._processes = Processes()

    async def ask(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        self._check(context.spec)
        await context.wait_turn()
        prompt = _script(log, context.spec.system)
        argv = [
            word.replace("{model}", context.spec.model or self._model).replace("{prompt}", prompt)
            for word in self._command
        ]
        start = self._processes.start(log.session, argv, cwd=context.spec.cwd, env=self._env)
        async with start as process:
            context.report(Activity(kind="usage", usage={"requests": 1}))
            if not any("{prompt}" in word for word in self._command):
                await process.write(prompt)
            process.close_input()
            said = (await process.read()).decode(errors="replace").strip()
            code = await process.wait()
        if process.was_ended:
            raise AgentError("the prompt was aborted", partial=said)
        if code:
            raise AgentError(process.ended(argv[0], code), partial=said)
        context.report(text_said(said))
        return Answer(text=said, usage={"requests": 1})

    def _check(self, spec: Spec) -> None:
        """Refuse choices that cannot be passed on to the program."""
        if spec.tools is not None:
            raise AgentError(f"{self._command[0]} brings its own tools; leave `tools` out")
        if spec.model and not any("{model}" in word for word in self._command):
            raise AgentError(
                f"{self._command[0]} is not told which model to use; write {{model}} in its `command`, "
                "or leave `model` out"
            )

    async def recover(self, log: SessionLog, text: str, context: AgentContext) -> Answer:
        raise AgentError(
            f"{self._command[0]} was interrupted; it is not known what it had done, so it was not asked again"
        )

    def fork(
        self, log: SessionLog, later: Sequence[Mapping[str, Any]], session: str, *, call: str | None
    ) -> list[Mapping[str, Any]]:
        said = [each for each in log.entries if each["kind"] in TITLES]
        return list(newest(said, size=lambda each: tokens(each["text"])))

    def fork_own(self, session: str, forked: str, *, call: str | None) -> None:
        raise SessionGone  # it keeps no sessions of its own

    def knows(self, session: str) -> bool:
        return True  # the log is all there is

    def drop(self, session: str) -> None:
        """There is nothing but the log."""

    async def abort(self, session: str) -> None:
        await self._processes.end(session)


def _script(log: SessionLog, system: str) -> str:
    """Format the conversation; a lone prompt stays as it is."""
    said = [each for each in log.entries if each["kind"] in TITLES]
    lines = [f"{TITLES[each['kind']]}: {each['text']}" for each in said]
    if len(said) == 1:
        lines = [said[0]["text"]]
    return "\n\n".join([system, *lines] if system else lines)
