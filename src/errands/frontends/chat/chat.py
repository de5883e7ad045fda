"""A chat, from the first line to the last."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable
from contextlib import suppress

from errands.engine.actor import enclosing_run
from errands.engine.engine import Engine
from errands.engine.submit.prompt_spec import known
from errands.frontends.chat import plain
from errands.frontends.chat.chat_session import ChatSession, Describe, Perform
from errands.frontends.chat.output import PlainOutput
from errands.model.agent.session import CHAT
from errands.model.errors import BadValue, NotFound
from errands.model.text.naming import new_id
from errands.ports.store import Query
from errands.text import Look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.chat.output import Output
    from errands.frontends.chat.screen import Screen


def run(
    engine: Engine,
    *,
    perform: Perform,
    describe: Describe,
    look: Look,
    chat: str | None,
    goes_on: bool,
    agent: str | None,
    model: str | None,
) -> int:
    """Talk until the person leaves; `chat` is an earlier one to go on with, `goes_on` means the latest."""
    folder = f"{engine.home.path}/chat"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = _named(engine, chat) if chat else _latest(engine, folder) if goes_on else _new_name()
    who = _who(engine, name, agent, model)
    with open(f"{folder}/last", "w", encoding="utf-8") as file:
        file.write(name)
    engine.ensure_daemon()
    engine.sessions.reopen_session(name)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if is_terminal:
        screen = _screen(look)
        paper: Output = screen
    else:
        paper = PlainOutput(look)

    async def talk() -> bool:
        room = ChatSession(
            engine,
            name=name,
            paper=paper,
            perform=perform,
            describe=describe,
            is_person=is_terminal and not enclosing_run(),
            agent=agent,
            model=model,
        )
        if is_terminal:
            with screen:
                await _with_background(room, screen.talk(room, f"{folder}/history"))
        else:
            await _with_background(room, plain.talk(room))
        return room.has_failed

    if is_terminal:
        sys.stdout.write(f"{name} · you talk with {who} · /help lists commands, Ctrl-D leaves\n")
        sys.stdout.flush()
    has_failed = asyncio.run(talk())
    return 1 if has_failed and not is_terminal else 0


async def _with_background(room: ChatSession, talking: Awaitable[None]) -> None:
    """Talk, while messages are shown and answers are given beside it; what fails there fails all of it."""
    beside = [
        asyncio.ensure_future(room.talk()),
        asyncio.ensure_future(room.messages.watch()),
    ]
    front = asyncio.ensure_future(talking)
    try:
        await asyncio.wait([front, *beside], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (front, *beside):
            if not each.done():
                each.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(front, *beside, return_exceptions=True)
    for each in (front, *beside):
        if not each.cancelled() and (error := each.exception()) is not None:
            raise error


def _screen(look: Look) -> Screen:
    try:
        from errands.frontends.chat.screen import Screen
    except ModuleNotFoundError as error:
        raise BadValue(
            f"a chat in a terminal needs {error.name}, which is not installed; "
            "install it with: pip install 'errands[chat]'"
        ) from error
    return Screen(colour=look.colour)


def _new_name() -> str:
    return CHAT + new_id("chat", os.urandom(8)).removeprefix("chat-")


def _latest(engine: Engine, folder: str) -> str:
    try:
        with open(f"{folder}/last", encoding="utf-8") as file:
            return _named(engine, file.read().strip())
    except FileNotFoundError:
        raise NotFound("there was no chat yet; begin one: errands chat") from None


def _named(engine: Engine, given: str) -> str:
    """Find an earlier chat by its name, or by the task of its conversation."""
    name = given if given.startswith(CHAT) else f"{CHAT}{given.removeprefix('chat-')}"
    if engine.id_by_key(name) is not None or engine.list(Query(parent=name, limit=1)):
        return name
    try:
        key = engine.summaries([engine.resolve(given)])[0].key
    except NotFound:
        key = None
    if key is None or not key.startswith(CHAT):
        raise NotFound(f"there is no chat {given[:80]!r}; errands sessions lists conversations")
    return key


def _who(engine: Engine, name: str, agent: str | None, model: str | None) -> str:
    """Name the agent of a chat, which must be known; an earlier conversation keeps the one it has."""
    task_id = engine.id_by_key(name)
    if task_id is None:
        return known(agent or engine.config.agents.default, engine.config)
    talk = engine.summaries([task_id])[0].agent
    assert talk is not None
    if agent not in (None, talk.name) or model not in (None, talk.model):
        raise BadValue(f"{name} is a conversation with {talk.name}; leave out --agent and --model")
    return talk.name
