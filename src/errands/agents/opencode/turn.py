"""A turn of OpenCode: from the prompt of a run to its answer.

Events only wake us up; the messages on the server are the truth. So a broken stream or a missed event costs
one poll, and no end is found twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from errands.agents.opencode.server import RECENT, Server
from errands.agents.opencode.turn_account import Account, text_of
from errands.http import HttpError
from errands.model.errors import AgentError, AgentUnavailable
from errands.ports.agent import Answer, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

TAG = "errands.run"  # metadata of a prompt: the run that sent it
SETTLE = 45.0  # seconds until an accepted prompt begins; on a busy machine over 15
CONNECTING = 2.0  # seconds for the stream of events to begin
QUIET = 1.0  # seconds before a session that has begun counts as idle; a busy server needs more than 0.4
HOLLOW = 5  # empty answers in a row after which the model counts as broken

Message = Mapping[str, Any]


class Unfinished(Exception):  # noqa: N818  # as in errors.py
    """The session is idle, but the turn did not finish."""


class Turn:
    def __init__(
        self, server: Server, session: str, context: AgentContext, *, poll: float, patience: float
    ) -> None:
        self._server = server
        self._session = session
        self._context = context
        self._poll = poll
        self._patience = patience
        self._woken = asyncio.Event()
        self._connected = asyncio.Event()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._undecided: set[str] = set()
        self._decided = asyncio.Event()
        self.refused: list[str] = []
        self._account = Account(context, session)
        self._moved = time.monotonic()
        self._seen = ""
        self._idle: tuple[bool, float] | None = None  # whether the turn had begun, and since when
        self._partial = ""
        self._trouble: Mapping[str, Any] | None = None
        self._over = ""  # the last message of an unfinished turn; it does not answer the next prompt

    async def __aenter__(self) -> Turn:
        """Follow the events from now on, so that none of the next prompt is missed."""
        self._follower = asyncio.create_task(self._follow_events())
        try:
            await asyncio.wait_for(self._connected.wait(), min(self._poll, CONNECTING))
        except TimeoutError:
            pass  # polling will do
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks = [self._follower, *self._asking.values()]
        for task in tasks:
            task.cancel()
        await asyncio.shield(asyncio.wait(tasks))

    async def finish(self) -> Answer:
        """Wait for the answer; raise `Unfinished` when none will come without another prompt."""
        self._idle = None
        while True:
            self._woken.clear()
            answer = await self._look()
            if answer is not None:
                return answer
            is_unsettled = self._idle is not None
            try:
                pause = min(self._poll, QUIET) if is_unsettled else self._poll
                await asyncio.wait_for(self._woken.wait(), pause)
            except TimeoutError:
                pass

    async def sent(self) -> bool:
        """Return whether the prompt of this run is in the session."""
        return bool(sent_by(await self._messages(), self._context.run))

    async def _follow_events(self) -> None:
        while True:
            try:
                async for event in self._server.events(self._session):
                    self._handle(event)
            except (HttpError, AgentError):
                pass  # polling finds out what is wrong
            await asyncio.sleep(min(1.0, self._poll))

    def _handle(self, event: Mapping[str, Any]) -> None:
        self._moved = time.monotonic()
        match event:
            case {"type": "session.error", "properties": {"error": dict(error)}}:
                self._trouble = error
                self._woken.set()
            case {"type": "server.connected"}:
                self._connected.set()
                self._woken.set()
            case {"type": "session.idle" | "permission.asked"}:
                self._woken.set()
            case {"type": "session.status", "properties": {"status": {"type": "retry"}}}:
                self._woken.set()
            case {"type": "message.part.updated", "properties": {"part": {"type": "tool"} as part}}:
                self._account.add_tool(part)
                if self._account.overrun:
                    self._woken.set()
            case {"type": "message.part.updated", "properties": {"part": {"type": "step-finish"}}}:
                self._woken.set()

    async def _look(self) -> Answer | None:
        # The state first: if it is idle, the messages read after it are complete.
        state = await self._server.state(self._session)
        messages = await self._messages()
        prompts = sent_by(messages, self._context.run)
        answers = [
            each
            for each in messages
            if each["info"].get("parentID") in prompts and each["info"].get("summary") is not True
        ]
        self._note(answers)
        if overrun := self._account.overrun:
            await self._server.abort(self._session)
            overrun.partial = self._partial
            raise overrun
        await self._ask_for_permissions()
        if state is not None:
            self._idle = None
            await self._check(state, answers)
            return None
        last = next((each for each in answers[-1:] if each["info"]["parentID"] == prompts[-1]), None)
        if last and last["info"]["id"] == self._over:
            last = None  # the next prompt is on its way
        if last and (error := last["info"].get("error")):
            self._over = last["info"]["id"]
            raise self._error(error)
        if last and last["info"].get("finish") not in (None, "tool-calls", "unknown"):
            return Answer(text=text_of(last), usage=self._account.used)
        has_begun = last is not None
        if self._trouble and not has_begun:
            trouble, self._trouble = self._trouble, None
            raise self._error(trouble)
        # The state may be older than the messages: only if it stays idle is nothing more to come.
        if self._idle is None or self._idle[0] != has_begun:
            self._idle = has_begun, time.monotonic()
        elif time.monotonic() - self._idle[1] > (QUIET if has_begun else SETTLE):
            self._over = last["info"]["id"] if last else ""
            raise Unfinished("it ended without an answer" if has_begun else "it never began")
        return None

    async def _messages(self) -> Sequence[Message]:
        messages = await self._server.messages(self._session, limit=RECENT)
        if len(messages) >= RECENT and not sent_by(messages, self._context.run):
            messages = await self._server.messages(self._session)
        return messages

    def _note(self, answers: Sequence[Message]) -> None:
        for message in answers:
            self._account.add(message)
        self._partial = "\n".join(filter(None, map(text_of, answers)))
        seen = json.dumps([[each["info"]["time"], each["parts"]] for each in answers[-2:]])
        if seen != self._seen:
            self._seen, self._moved = seen, time.monotonic()

    async def _check(self, state: Mapping[str, Any], answers: Sequence[Message]) -> None:
        """Give up on a model that is unreachable, silent or broken: OpenCode itself would retry forever."""
        trouble = ""
        if state.get("type") == "retry" and state.get("attempt", 0) > self._server.retries:
            trouble = str(state.get("message"))
        newest = [each for each in answers if "completed" in each["info"]["time"]][-HOLLOW:]
        if len(newest) == HOLLOW and all(map(_is_hollow, newest)):
            trouble = f"{HOLLOW} answers in a row had nothing in them"
        busy = any(not task.done() for task in self._asking.values()) or self._account.has_running_tool
        if not busy and time.monotonic() - self._moved > self._patience:
            trouble = f"there was no sign of life for {self._patience:g} s"
        if trouble:
            await self._server.abort(self._session)
            raise AgentUnavailable(f"the model gave no answer: {trouble}", partial=self._partial)

    def _error(self, error: Mapping[str, Any]) -> Exception:
        name = str(error.get("name"))
        said = str((error.get("data") or {}).get("message") or name)
        if name == "MessageAbortedError":
            return Unfinished("it was aborted")
        if name in ("APIError", "UnknownError"):
            return AgentUnavailable(f"the model gave no answer: {said}", partial=self._partial)
        return AgentError(f"OpenCode gave no answer: {name}: {said}", partial=self._partial)

    async def _ask_for_permissions(self) -> None:
        waiting = {each["id"]: each for each in await self._server.requests(self._session)}
        for name, task in self._asking.items():
            if task.done() and not task.cancelled():
                task.result()
            elif name not in waiting:
                task.cancel()  # answered in OpenCode itself
                self._undecided.discard(name)
                self._decided.set()
        for name, request in waiting.items():
            if name not in self._asking:
                self._undecided.add(name)
                self._asking[name] = asyncio.create_task(self._ask(request))
                self._asking[name].add_done_callback(lambda _task: self._woken.set())

    async def _ask(self, request: Mapping[str, Any]) -> None:
        tool = request["permission"]
        about = request.get("tool") or {}
        arguments = {**(request.get("metadata") or {}), **await self._arguments(about)}
        command = str(arguments["command"]) if tool == "bash" and "command" in arguments else None
        await self._context.wait_turn()
        call = ToolCall(
            id=about.get("callID") or request["id"], tool=tool, arguments=arguments, command=command
        )
        try:
            decision = await self._context.request_approval(call)
        finally:
            self._undecided.discard(request["id"])
            self._decided.set()
        if decision.allowed:
            await self._server.reply(self._session, request["id"], {"reply": "once"})
            return
        # A refusal takes every other pending request with it, so it comes last. With a message the agent can
        # continue and do something else.
        while self._undecided:
            self._decided.clear()
            await self._decided.wait()
        reason = decision.reason or "This call was not allowed."
        self.refused.append(f"{tool}: {reason}")
        await self._server.reply(self._session, request["id"], {"reply": "reject", "message": reason})

    async def _arguments(self, about: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look up the arguments of a tool call; the permission request has only some of them."""
        for message in reversed(await self._messages()):
            for part in message["parts"]:
                if part["type"] == "tool" and part["callID"] == about.get("callID"):
                    found: Mapping[str, Any] = part["state"].get("input") or {}
                    return found
        return {}


def sent_by(messages: Sequence[Message], run: str) -> list[str]:
    """Return the ids of the messages that a run sent, and of those that OpenCode added to continue them."""
    found: list[str] = []
    for message in messages:
        parts = message["parts"]
        is_ours = any((part.get("metadata") or {}).get(TAG) == run for part in parts)
        is_added = all(part.get("synthetic") or part["type"] == "compaction" for part in parts)
        if message["info"]["role"] == "user" and (is_ours or (found and is_added)):
            found.append(message["info"]["id"])
    return found


def _is_hollow(message: Message) -> bool:
    return not any(part["type"] in ("text", "tool", "reasoning") for part in message["parts"])
