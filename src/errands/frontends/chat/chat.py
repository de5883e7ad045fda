"""`errands chat`: choose the conversation and the output, and talk until the person leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable
from contextlib import suppress

from errands.dialects.completion import NO_MODEL, OFFLINE
from errands.engine.actor import enclosing_run
from errands.engine.engine import Engine
from errands.engine.submit.prompt_spec import known
from errands.frontends.chat.chat_session import ChatSession
from errands.frontends.chat.command_line import CommandLine
from errands.frontends.chat.commands import find_command
from errands.frontends.chat.output import Output, PlainOutput
from errands.model.agent.session import CHAT
from errands.model.errors import BadValue, NotFound, missing_extra
from errands.model.text.ids import new_id
from errands.ports.store import Query
from errands.text import Look, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.chat.screen import Screen


def run(
    engine: Engine,
    *,
    line: CommandLine,
    look: Look,
    chat: str | None,
    goes_on: bool,
    agent: str | None,
    model: str | None,
) -> int:
    """Talk until the person leaves; `chat` names an earlier chat to continue, `goes_on` means the latest."""
    folder = engine.home.chat
    os.makedirs(folder, mode=0o700, exist_ok=True)
    new = CHAT + new_id("chat", os.urandom(8)).removeprefix("chat-")
    name = _find(engine, chat) if chat else _latest(engine, folder) if goes_on else new
    agent_name = _agent_name(engine, name, agent, model)
    with open(f"{folder}/last", "w", encoding="utf-8") as file:
        file.write(name)
    engine.ensure_daemon()
    engine.sessions.see_session(name)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if is_terminal:
        screen = _screen(look)
        output: Output = screen
    else:
        output = PlainOutput(look)

    async def talk() -> bool:
        session = ChatSession(
            engine,
            name=name,
            output=output,
            find_command=find_command,
            line=line,
            is_person=is_terminal and not enclosing_run(),
            agent=agent,
            model=model,
        )
        if is_terminal:
            with screen:
                await _with_background(session, screen.talk(session, f"{folder}/history"))
        else:
            await _with_background(session, _talk_by_lines(session))
        return session.has_failed

    if is_terminal:
        greeting = [f"{name} · you are talking with {agent_name} · /help lists commands, Ctrl-D leaves"]
        if agent_name == OFFLINE:
            greeting.append(NO_MODEL)
        sys.stdout.write("\n".join([*fitting(greeting, look.columns), ""]))
        sys.stdout.flush()
    has_failed = asyncio.run(talk())
    engine.sessions.end_session(name)  # last, because the chat notes all the time that it is there
    return 1 if has_failed and not is_terminal else 0


async def _with_background(session: ChatSession, talk: Awaitable[None]) -> None:
    """Talk while answers and messages are shown; if one of the three fails, all end."""
    background = [asyncio.ensure_future(session.talk()), asyncio.ensure_future(session.messages.watch())]
    front = asyncio.ensure_future(talk)
    try:
        await asyncio.wait([front, *background], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (front, *background):
            if not each.done():
                each.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(front, *background, return_exceptions=True)
    for each in (front, *background):
        if not each.cancelled() and (error := each.exception()) is not None:
            raise error


async def _talk_by_lines(session: ChatSession) -> None:
    """Handle the lines of standard input, one after the other.

    Each is answered before the next one is read, unless the answer waits for approval, which a later line may
    give.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def interrupt() -> None:
        if not session.interrupt():
            lines.put_nowait(None)

    loop.add_signal_handler(signal.SIGINT, interrupt)

    def read() -> None:
        # In a thread, because the loop cannot wait for a file, and unbuffered, because the buffer has a lock.
        rest = b""
        while chunk := _read_input():
            *whole, rest = (rest + chunk).split(b"\n")
            for each in whole:
                loop.call_soon_threadsafe(lines.put_nowait, each.decode("utf-8", "replace"))
        if rest:
            loop.call_soon_threadsafe(lines.put_nowait, rest.decode("utf-8", "replace"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    try:
        await session.answered()
        while not session.is_over and (line := await lines.get()) is not None:
            session.enter(line, session.questions.oldest)
            await session.answered()
    finally:
        session.messages.show_new()
        session.leave()


def _read_input() -> bytes:
    try:
        return os.read(0, 65536)
    except OSError:
        return b""


def _screen(look: Look) -> Screen:
    try:
        from errands.frontends.chat.screen import Screen
    except ModuleNotFoundError as error:
        raise missing_extra("a chat in a terminal", "chat", error) from error
    return Screen(colour=look.colour)


def _latest(engine: Engine, folder: str) -> str:
    try:
        with open(f"{folder}/last", encoding="utf-8") as file:
            return _find(engine, file.read().strip())
    except FileNotFoundError:
        raise NotFound("no chat yet; start one: errands chat") from None


def _find(engine: Engine, given: str) -> str:
    """Return the name of an earlier chat, found by its name or by the task of its conversation."""
    name = given if given.startswith(CHAT) else f"{CHAT}{given.removeprefix('chat-')}"
    if engine.id_by_key(name) is not None or engine.list(Query(parent=name, limit=1)):
        return name
    try:
        key = engine.summaries([engine.resolve(given)])[0].key
    except NotFound:
        key = None
    if key is None or not key.startswith(CHAT):
        raise NotFound(
            f"unknown chat {given[:80]!r}; `errands sessions` lists them, `errands chat` begins one"
        )
    return key


def _agent_name(engine: Engine, name: str, agent: str | None, model: str | None) -> str:
    """Return the agent of a chat, which must be known; an earlier conversation keeps its agent."""
    task_id = engine.id_by_key(name)
    if task_id is None:
        return known(agent or engine.config.agents.default, engine.config)
    talk = engine.summaries([task_id])[0].agent
    assert talk is not None
    if agent not in (None, talk.name) or model not in (None, talk.model):
        raise BadValue(f"{name} is a conversation with {talk.name}; leave out --agent and --model")
    return talk.name
