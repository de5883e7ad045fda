"""Conversations on Discord: what a person writes to the bot goes to the agent, and its answer comes back.

Each channel and each direct message is one conversation, like one of `errands chat`: a task whose runs are
the turns. Its agent starts tasks that report here, and gets their results with the next message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import discord
from discord.utils import time_snowflake

from errands.engine.agents.discovery import note_presence
from errands.engine.agents.speech import Said
from errands.engine.engine import Engine
from errands.frontends.discord.commands import FRONTEND, person
from errands.frontends.tools.turn import send, stream_answer
from errands.model.agent.session import CHAT, conversation_in
from errands.model.errors import ErrandsError
from errands.model.notices.notice import Address
from errands.model.options.draft import HERE, Draft
from errands.model.text.sanitise import line, visible
from errands.model.text.split import split
from errands.model.view import View
from errands.ports.own_file import replace_file
from errands.ports.store import Query

TYPING = 5.0  # seconds; Discord shows for that long that an answer is being written
RECENT = 500  # tasks that are searched for unfinished answers
MISSED = 100  # messages of a channel that are read for those that were missed
OLDEST = timedelta(days=1)  # an answer to something older would surprise people
_FIRST = "first"  # the mark of channels without one: when the bot first connected
# Returns the channel with an id.
Places = Callable[[int], discord.abc.Messageable]
# Returns what a message says to the bot; nothing if it is not for it.
Reader = Callable[[discord.Message], str]
_LOG = logging.getLogger("errands.discord")


class Conversations:
    """`channel` is the channel's name in the configuration; `agent` and `cwd` are for new conversations."""

    def __init__(self, engine: Engine, *, channel: str, agent: str | None, cwd: str) -> None:
        self._engine = engine
        self._marks = Marks(engine.home.discord(channel))
        self._channel = channel
        self._agent = agent
        self._cwd = cwd
        self._turns: dict[int, asyncio.Lock] = {}  # one message of a conversation is answered at a time

    def name(self, place: int) -> str:
        """Return the name of the conversation in a channel: the parent and owner of what it starts."""
        return conversation_in(Address(channel=self._channel, target=str(place)))

    async def answer(self, message: discord.Message, text: str) -> None:
        """Send a person's message to the agent, and its answer to the channel."""
        note_presence(self._engine.home)
        async with self._turn(message.channel.id):
            await self._answer(message, text)

    async def answer_missed(self, place: discord.abc.Messageable, number: int, text_for_us: Reader) -> None:
        """Answer what was written in a channel while the bot was away; what comes now has to wait for it."""
        async with self._turn(number):
            after = discord.Object(self._marks.after(number))
            try:
                # One request; the newest messages, if there are more.
                found = [each async for each in place.history(limit=MISSED, after=after, oldest_first=False)]
            except (discord.HTTPException, aiohttp.ClientError) as error:
                _LOG.warning("cannot read what was written in %d while it was away: %s", number, error)
                return
            for message in reversed(found):
                if text := text_for_us(message):
                    await self._answer(message, text, is_late=True)

    def has_missed(self, place: int, newest: int | None) -> bool:
        """Return whether a channel has messages that the bot has not seen; `newest` is its last one."""
        return newest is not None and newest > self._marks.after(place)

    def _turn(self, place: int) -> asyncio.Lock:
        return self._turns.setdefault(place, asyncio.Lock())

    async def _answer(self, message: discord.Message, text: str, *, is_late: bool = False) -> None:
        """Answer a message unless that was done; the answer to a late one is a reply, which names it."""
        channel = message.channel
        name = self.name(channel.id)
        try:
            if (task_id := self._engine.id_by_key(name)) is not None:
                if self._engine.sessions.has_message(task_id, str(message.id)):
                    return
                await self._send_unsent(task_id, channel)
            self._engine.sessions.see_session(name)
            view = send(self._engine, self._draft(message, text))
        except ErrandsError as error:
            self._marks.note(channel.id, message.id)
            await _say(channel, f"⚠️ {error}")
            return
        self._marks.note(channel.id, message.id)
        await self._receive(channel, view, answers=message if is_late else None)

    async def catch_up(self, place_of: Places) -> None:
        """Send the answers that were not sent when the bot was last stopped."""
        prefix = f"{CHAT}{self._channel}-"
        places = {
            view.id: int(place)
            for view in self._engine.list(Query(limit=RECENT))
            if (view.key or "").startswith(prefix)
            if (place := (view.key or "").removeprefix(prefix)).isdecimal()
        }

        async def send_unsent(task_id: str, place: int) -> None:
            async with self._turn(place):
                await self._send_unsent(task_id, place_of(place))

        await asyncio.gather(*(send_unsent(task_id, place) for task_id, place in places.items()))

    async def _send_unsent(self, task_id: str, channel: discord.abc.Messageable) -> None:
        for view in self._engine.list(Query(ids=(task_id,))):
            if view.is_live or view.latest.retrieved_at is None:
                await self._receive(channel, view)

    def interrupt(self, place: int, *, by: str) -> bool:
        """Interrupt the answer in a channel; return whether there was one."""
        task_id = self._engine.id_by_key(self.name(place))
        if task_id is None or not self._engine.summaries([task_id])[0].is_live:
            return False
        self._engine.cancel([task_id], by=by)
        return True

    def context(self, place: int) -> dict[str, Any]:
        """Return the fields of a draft for a task of a channel's conversation, which reports there."""
        here, name = f"{self._channel}:{place}", self.name(place)
        return {
            "owner": name,
            "parent": name,
            "channels": (here,),
            "environ": {**os.environ, "ERRANDS_SESSION": name, "ERRANDS_CHANNEL": here},
            "cwd": self._cwd,
            "door": FRONTEND,
        }

    def _draft(self, message: discord.Message, text: str) -> Draft:
        name = self.name(message.channel.id)
        # In a channel there may be several people.
        is_alone = isinstance(message.channel, discord.DMChannel)
        said = text if is_alone else f"{line(message.author.display_name)}: {text}"
        return Draft(
            prompt=said,
            key=name,
            name=FRONTEND,
            description=f"the conversation of {name}",
            agent=self._agent,
            host=HERE,
            created_by=person(message.author),
            message=str(message.id),
            **self.context(message.channel.id),
        )

    async def _receive(
        self, place: discord.abc.Messageable, view: View, *, answers: discord.Message | None = None
    ) -> None:
        """Send the answer of the latest run once it is there; try again only if sending failed."""
        answer = Answer()
        try:
            async with _typing(place):
                ended = await stream_answer(self._engine, view, answer)
            mask = self._engine.mask(view.id)
            await _say(place, mask.text(visible(answer.text)) + _ending(ended), answers=answers)
            self._engine.mark_retrieved(ended)
        except (discord.HTTPException, aiohttp.ClientError) as error:
            _LOG.warning("the answer of %s could not be sent: %s", view.id, error)
        except ErrandsError as error:
            _LOG.warning("the answer of %s cannot be read: %s", view.id, error)
            await _say(place, f"⚠️ {error}")


class Answer:
    """The text of an answer, including what the agent said between its tool calls."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._block = ""

    def write(self, said: Said) -> None:
        match said.kind:
            case "piece":
                self._block += said.text
            case "text":
                self._block = said.text
            case "tool":
                self._end()

    def finish(self, answer: str) -> None:
        self._block = answer or self._block
        self._end()

    @property
    def text(self) -> str:
        return "\n".join(self._blocks)

    def _end(self) -> None:
        if self._block.strip():
            self._blocks.append(self._block.strip("\n"))
        self._block = ""


def _ending(view: View) -> str:
    if view.state == "completed":
        return ""
    if view.state == "cancelled":
        return "\n-# (interrupted)"
    return f"\n⚠️ no answer: {line(view.latest.error or view.state)}"


async def _say(place: discord.abc.Messageable, text: str, *, answers: discord.Message | None = None) -> None:
    """Send a text in as many messages as it needs, the first one as a reply to `answers`."""
    options: dict[str, Any] = {"allowed_mentions": discord.AllowedMentions.none(), "suppress_embeds": True}
    reply = {} if answers is None else {"reference": answers.to_reference(fail_if_not_exists=False)}
    for piece in split(text.strip() or "-# (an empty answer)"):
        await place.send(piece, **{**options, **reply})
        reply = {}


@asynccontextmanager
async def _typing(place: discord.abc.Messageable) -> AsyncIterator[None]:
    """Show that an answer is being written; failing to show it does no harm."""

    async def show() -> None:
        while True:
            with suppress(discord.HTTPException, aiohttp.ClientError):
                await place.typing()
            await asyncio.sleep(TYPING)

    showing = asyncio.create_task(show())
    try:
        yield
    finally:
        showing.cancel()


class Marks:
    """The last message of each channel that the bot has passed on, kept in a file.

    What came after the mark while the bot was away is read from Discord's history when it is back. Discord's
    ids grow with time, in all channels alike.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._marks: dict[str, int] = {}

    def after(self, place: int) -> int:
        """Return the mark of a channel; it is at most a day back, because older messages are not answered."""
        marks = self._known()
        return max(marks.get(str(place), marks[_FIRST]), time_snowflake(datetime.now(UTC) - OLDEST))

    def note(self, place: int, message: int) -> None:
        """Note that a message, and so every earlier one in its channel, was passed on."""
        marks = self._known()
        if message > marks.get(str(place), 0):
            marks[str(place)] = message
            self._write()

    def _known(self) -> dict[str, int]:
        if not self._marks:
            try:
                with open(self._path, encoding="utf-8") as file:
                    self._marks = {str(place): int(mark) for place, mark in json.load(file).items()}
            except (OSError, ValueError, AttributeError):
                self._marks = {}  # never connected, or unreadable: nothing was missed, as far as we know
        if _FIRST not in self._marks:
            self._marks[_FIRST] = time_snowflake(datetime.now(UTC))
            self._write()
        return self._marks

    def _write(self) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        replace_file(self._path, json.dumps(self._marks).encode())
