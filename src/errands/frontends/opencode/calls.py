"""The tool calls of OpenCode, each with the session, message, agent, model and directory of its caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from errands.dialects.opencode import OpenCode
from errands.dialects.tool_context import GENERAL
from errands.engine.actor import actor, enclosing_run
from errands.engine.approval.answer_waiter import wait_for_answer
from errands.engine.approval.answers import answers_to
from errands.engine.async_engine import AsyncEngine
from errands.engine.engine import Engine
from errands.frontends.tools.idempotent_engine import IdempotentEngine
from errands.http import AsyncClient, HttpError
from errands.model.approval import Approval
from errands.model.errors import AgentUnavailable, ErrandsError
from errands.model.record import record
from errands.model.text.answers import Answer
from errands.model.view import View
from errands.ports.dialect import Caller, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import EngineApi

_LOG = logging.getLogger("errands.opencode")
FRONTEND = "opencode"
_LONGEST_COMMAND = 1000  # characters that the one line of OpenCode's question can show

LAUNCH = "background_task"
ANSWERS = 60.0  # seconds for OpenCode to say which agents it has

Ask = Callable[[int, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


@record
class Program:
    """`wakes` if a report can reach its sessions after their turn; `opencode run` exits with it."""

    pid: int = 0
    program: str = ""
    socket: str | None = None  # of its bridge
    wakes: bool = False


def owner_of(session: str) -> str:
    return f"opencode:{session}"


class Calls:
    """`ask` has a question asked in OpenCode and returns what was answered."""

    def __init__(self, engine: Engine, environ: Mapping[str, str], *, ask: Ask) -> None:
        self.program = Program()
        self._engine = AsyncEngine(engine)
        self._environ = environ
        self._ask = ask
        self._dialect = OpenCode()

    async def call(
        self, number: int, tool: str, arguments: Mapping[str, Any], said: Mapping[str, Any], *, may_ask: bool
    ) -> Reply:
        """Carry out a call; a person who is asked meanwhile answers before it returns."""
        try:
            agents = await self._agents(said["directory"]) if tool == LAUNCH else {}
        except AgentUnavailable as error:
            return Reply(text=str(error), failed=True)
        caller = self._caller(said, agents, str(arguments.get("agent") or GENERAL))
        launched: list[str] = []

        async def attempt() -> Reply:
            engine = _OwnedEngine(self._engine, f"{caller.session}:{said['call']}", launched)
            engine.owner = owner_of(said["session"])
            return await self._dialect.call(cast("EngineApi", engine), caller, tool, arguments)

        try:
            reply = await attempt()
            if not reply.proposed or not self._is_asking(tool) or not may_ask or not self._may_answer():
                return reply
            declined = await self._asked(number, reply.proposed[0])
            return declined or await attempt()
        except ErrandsError as error:  # of the store, the home or the daemon
            return Reply(text=str(error), failed=True)

    async def _agents(self, directory: str) -> Mapping[str, str]:
        """Return OpenCode's own agents, each with its own model, or an empty text if it has none."""
        if self.program.socket is None:
            return {}
        client = AsyncClient("http://opencode", headers={}, timeout=ANSWERS, socket=self.program.socket)
        try:
            found = (await client.request("GET", "/agent", query={"directory": directory})).json()
            return {each["name"]: _model(each.get("model")) for each in found if not each.get("hidden")}
        except (HttpError, TypeError, KeyError) as error:
            # Never start an agent other than the one asked for.
            raise AgentUnavailable(
                f"nothing was started: OpenCode does not say which agents it has ({error}); try again"
            ) from error

    def _caller(self, said: Mapping[str, Any], agents: Mapping[str, str], agent: str) -> Caller:
        return Caller(
            session=owner_of(said["session"]),
            cwd=said["directory"],
            door=FRONTEND,
            client=FRONTEND,
            run=self._environ.get("ERRANDS_RUN_ID") or None,
            wake="session" if self.program.wakes else "none",
            message=said["message"],
            conversation=owner_of(said["session"]),
            agents={each: f"{FRONTEND}/{each}" for each in agents},
            model=agents.get(agent) or said["model"],
        )

    def _is_asking(self, tool: str) -> bool:
        """Return whether to ask at once about what a tool proposes."""
        return any(each.name == tool and each.launches for each in self._dialect.all_tools)

    def _may_answer(self) -> bool:
        """Return whether a person can be asked through OpenCode: never from inside a run."""
        return self._engine.engine.config.approval.yes and not enclosing_run()

    async def _asked(self, number: int, task_id: str) -> Reply | None:
        """Ask about a proposed task; return a reply if the person said no.

        Once there is an answer from elsewhere, the question is withdrawn.
        """
        engine = self._engine.engine
        (view,) = engine.summaries([task_id])
        question = view.question
        if question is None or len(view.command) > _LONGEST_COMMAND or "\n" in view.command:
            return None  # everything must be seen before it is approved: it is answered elsewhere
        *answers, _ = answers_to(engine, question)
        asking = asyncio.ensure_future(self._ask(number, _shown(view.command, question, answers)))
        elsewhere = asyncio.ensure_future(wait_for_answer(engine, question))
        try:
            await asyncio.wait({asking, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            said = asking.result()
        finally:
            for each in (asking, elsewhere):
                each.cancel()
            await asyncio.gather(asking, elsewhere, return_exceptions=True)
        by = f"{actor(self._environ)} ({FRONTEND})"
        try:
            if said.get("answer") in ("yes", "always"):
                scope = answers[-1 if said["answer"] == "always" else 0].scope or "once"
                engine.approve(task_id, by=by, door=FRONTEND, scope=scope, question=question.id)
            elif said.get("answer") == "no":
                words = str(said.get("words") or "")
                note = f"declined in OpenCode{f': {words}' if words else ''}"
                engine.reject(task_id, by=by, door=FRONTEND, note=note, question=question.id)
                await self._engine.acknowledge(view.latest.id, reader=FRONTEND)  # this reply says it
                text = f"The person declined: {task_id} did not start and will not."
                text = f"{text}\nThey said: {words}" if words else text
                return Reply(text=text, failed=True, tasks=(task_id,))
        except ErrandsError as error:
            # It was answered elsewhere meanwhile, or has changed: the reply shows how it is now.
            _LOG.warning("the answer about %s had no effect: %s", task_id, error)
        return None


class _OwnedEngine(IdempotentEngine):
    """What a session launches reports to it, even if that means continuing the session first."""

    owner = ""

    async def submit(self, command: Any, /, **options: Any) -> View:
        return await super().submit(command, **{"owner": self.owner, **options})

    async def ask(self, text: str, /, **options: Any) -> View:
        return await super().ask(text, **{"owner": self.owner, **options})


_REACHES = {
    "task": "`Allow always` means for the rest of its task",
    "always": "`Allow always` means this command, here, from any caller",
}


def _shown(command: str, question: Approval, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what OpenCode shows; in its dialog, `always` stands for the widest yes."""
    reasons = [each.text for each in question.reasons]
    if len(answers) > 1:
        reasons.append(_REACHES[answers[-1].name])
    return {"command": command, "reasons": reasons}


def _model(model: Mapping[str, str] | None) -> str:
    return f"{model['providerID']}/{model['modelID']}" if model else ""
