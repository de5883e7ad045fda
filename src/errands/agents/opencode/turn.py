"""A turn of OpenCode: from the prompt of a run to its answer.

Events only wake us up; what is true is asked of the server. So a stream that breaks, or an event that is
missed, costs one poll, and no end is found twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from errands.agents.opencode.server import RECENT, Server
from errands.agents.opencode.wire import WireError
from errands.model.agent_errors import AgentError, AgentUnavailable
from errands.ports.agent import Activity, Answer, Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Desk

TAG = "errands.run"  # in the metadata of a prompt: the run that sent it
SETTLE = 4.0  # seconds in which a prompt that was accepted begins, or an idle session has stored its answer
HOLLOW = 5  # answers in a row with nothing in them, after which the model is taken to talk nonsense
LONGEST_NOTE = 2000  # characters of a text that is noted

Message = Mapping[str, Any]


class Unfinished(Exception):  # noqa: N818  # as in errors.py
    """The session is idle, but the turn did not come to its end."""


class Turn:
    def __init__(self, server: Server, session: str, desk: Desk, *, poll: float, patience: float) -> None:
        self._server = server
        self._session = session
        self._desk = desk
        self._poll = poll
        self._patience = patience
        self._woken = asyncio.Event()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        self._counted: set[str] = set()
        self._used = {"input_tokens": 0, "output_tokens": 0, "requests": 0, "tool_calls": 0}
        self._moved = time.monotonic()
        self._seen = ""
        self._idle_since: float | None = None
        self._partial = ""

    async def finish(self) -> Answer:
        """Wait for the answer; `Unfinished` when there will be none."""
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                self._woken.clear()
                answer = await self._look()
                if answer is not None:
                    return answer
                unsettled = self._idle_since is not None
                try:
                    await asyncio.wait_for(
                        self._woken.wait(), min(self._poll, 0.5) if unsettled else self._poll
                    )
                except TimeoutError:
                    pass
        finally:
            tasks = [listening, *self._asking.values()]
            for task in tasks:
                task.cancel()
            await asyncio.shield(asyncio.wait(tasks))

    async def sent(self) -> bool:
        """Tell whether the prompt of this run is in the session."""
        return bool(_prompts(await self._messages(), self._desk.run))

    async def _listen(self) -> None:
        while True:
            try:
                async for event in self._server.events(self._session):
                    self._hear(event)
            except (WireError, AgentError):
                pass  # whoever polls finds out what is wrong
            await asyncio.sleep(min(1.0, self._poll))

    def _hear(self, event: Mapping[str, Any]) -> None:
        self._moved = time.monotonic()
        match event:
            case {"type": "session.idle" | "session.error" | "permission.asked" | "server.connected"}:
                self._woken.set()
            case {"type": "session.status", "properties": {"status": {"type": "retry"}}}:
                self._woken.set()
            case {"type": "message.part.updated", "properties": {"part": {"type": "tool"} as part}}:
                self._note_tool(part)
            case {"type": "message.part.updated", "properties": {"part": {"type": "step-finish"}}}:
                self._woken.set()

    async def _look(self) -> Answer | None:
        # The state is asked first: if that was idle, the messages that come after it are complete.
        state = await self._server.state(self._session)
        messages = await self._messages()
        prompts = _prompts(messages, self._desk.run)
        answers = [each for each in messages if each["info"].get("parentID") in prompts]
        self._note(answers)
        await self._ask_for_permissions()
        if state is not None:
            self._idle_since = None
            await self._check(state, answers)
            return None
        last = answers[-1] if answers else None
        if last and (error := last["info"].get("error")):
            raise self._error(error)
        if last and last["info"].get("finish") not in (None, "tool-calls", "unknown"):
            return Answer(text=_text(last), usage=self._used)
        self._idle_since = self._idle_since or time.monotonic()
        if time.monotonic() - self._idle_since > SETTLE:
            raise Unfinished("it ended without an answer")
        return None

    async def _messages(self) -> Sequence[Message]:
        messages = await self._server.messages(self._session, limit=RECENT)
        if len(messages) >= RECENT and not _prompts(messages, self._desk.run):
            messages = await self._server.messages(self._session)
        return messages

    def _note(self, answers: Sequence[Message]) -> None:
        for message in answers:
            for part in message["parts"]:
                if part["type"] == "tool":
                    self._note_tool(part)
            name, at = message["info"]["id"], message["info"]["time"]
            if "completed" in at and name not in self._counted:
                self._counted.add(name)
                self._use({"requests": 1, **_usage(message["info"])})
                if text := _text(message):
                    self._desk.note(Activity(kind="text", text=text[:LONGEST_NOTE]))
        self._partial = "\n".join(filter(None, map(_text, answers)))
        seen = json.dumps([[each["info"]["time"], each["parts"]] for each in answers[-2:]])
        if seen != self._seen:
            self._seen, self._moved = seen, time.monotonic()

    def _note_tool(self, part: Mapping[str, Any]) -> None:
        call_id, name, state = part["callID"], part["tool"], part["state"]["status"]
        if state in ("running", "completed", "error") and call_id not in self._begun:
            self._begun.add(call_id)
            self._used["tool_calls"] += 1
            self._desk.note(Activity(kind="tool", name=name, call_id=call_id))
        if state in ("completed", "error") and call_id not in self._ended:
            self._ended.add(call_id)
            failed = state == "error"
            self._desk.note(Activity(kind="tool_end", name=name, call_id=call_id, failed=failed))

    def _use(self, more: Mapping[str, int]) -> None:
        for name, number in more.items():
            self._used[name] = self._used.get(name, 0) + number
        self._desk.note(Activity(kind="usage", usage=more))

    async def _check(self, state: Mapping[str, Any], answers: Sequence[Message]) -> None:
        """Give up on a model that is away, silent, or talks nonsense: OpenCode itself would try for ever."""
        trouble = ""
        if state.get("type") == "retry" and state.get("attempt", 0) > self._server.retries:
            trouble = str(state.get("message"))
        hollow = [
            each for each in answers[-HOLLOW:] if "completed" in each["info"]["time"] and _is_hollow(each)
        ]
        if len(hollow) == HOLLOW:
            trouble = f"{HOLLOW} answers in a row had nothing in them"
        busy = any(not task.done() for task in self._asking.values()) or self._begun - self._ended
        if not busy and time.monotonic() - self._moved > self._patience:
            trouble = f"nothing was heard for {self._patience:g} s"
        if trouble:
            await self._server.abort(self._session)
            raise AgentUnavailable(f"the model gives no answer: {trouble}", partial=self._partial)

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
                task.cancel()  # somebody answered in OpenCode itself
        for name, request in waiting.items():
            if name not in self._asking:
                self._asking[name] = asyncio.create_task(self._ask(request))
                self._asking[name].add_done_callback(lambda _task: self._woken.set())

    async def _ask(self, request: Mapping[str, Any]) -> None:
        tool = request["permission"]
        about = request.get("tool") or {}
        arguments = {**(request.get("metadata") or {}), **await self._arguments(about)}
        command = str(arguments["command"]) if tool == "bash" and "command" in arguments else None
        await self._desk.turn()
        call = Call(id=about.get("callID") or request["id"], tool=tool, arguments=arguments, command=command)
        decision = await self._desk.allow(call)
        if decision.allowed:
            reply = {"reply": "once"}
        else:
            # With a message the agent goes on and can do something else; without one OpenCode ends the turn.
            reply = {"reply": "reject", "message": decision.reason or "This call was not allowed."}
        await self._server.reply(self._session, request["id"], reply)

    async def _arguments(self, about: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look up what a tool is called with; the request for permission tells only a part of it."""
        for message in reversed(await self._messages()):
            for part in message["parts"]:
                if part["type"] == "tool" and part["callID"] == about.get("callID"):
                    found: Mapping[str, Any] = part["state"].get("input") or {}
                    return found
        return {}


def _prompts(messages: Sequence[Message], run: str) -> set[str]:
    """Name the messages that a run sent."""
    return {
        message["info"]["id"]
        for message in messages
        if message["info"]["role"] == "user"
        and any((part.get("metadata") or {}).get(TAG) == run for part in message["parts"])
    }


def _text(message: Message) -> str:
    parts = message["parts"]
    said = [each["text"] for each in parts if each["type"] == "text" and not each.get("synthetic")]
    return "\n".join(said).strip()


def _is_hollow(message: Message) -> bool:
    return not any(part["type"] in ("text", "tool", "reasoning") for part in message["parts"])


def _usage(about: Mapping[str, Any]) -> dict[str, int]:
    tokens = about.get("tokens") or {}
    cache = tokens.get("cache") or {}
    used = {
        "input_tokens": tokens.get("input", 0) + cache.get("read", 0) + cache.get("write", 0),
        "output_tokens": tokens.get("output", 0) + tokens.get("reasoning", 0),
        "cost_microdollars": round(about.get("cost", 0) * 1e6),
    }
    return {name: int(number) for name, number in used.items() if number}
