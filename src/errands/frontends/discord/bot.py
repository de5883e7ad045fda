"""The bot: reactions, buttons and commands, each one verb of the engine, and conversations with an agent.

A reaction or a button answers exactly the question in its message, and only messages that we wrote ourselves
are trusted. Users who are not on the list of allowed users can change nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import discord
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from errands.engine.daemon import process_log
from errands.engine.engine import Engine
from errands.frontends.discord.commands import FRONTEND, NOT_ALLOWED, Commands, person
from errands.frontends.discord.conversation import Conversations
from errands.http import proxy_of
from errands.model.errors import ErrandsError
from errands.model.notices.delivery import NO_SIGN, YES_SIGN, AnswerToken, read_answer_token
from errands.model.text.answers import NO, reach
from errands.ports.store import Query

MAX_HISTORY = 50  # messages searched for answers given while the bot was not connected
_LOG = logging.getLogger("errands.discord")


class Bot(discord.Client):
    """`channel` is the channel's name in the configuration; tasks started here report there.

    `reads_all`: ask for the content of all messages; without it Discord shows the bot what is written to it,
    but not an answer to its message that does not mention it.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        channel: str,
        allowed: Iterable[int],
        guild: int | None,
        agent: str | None = None,
        cwd: str = "/",
        reads_all: bool = True,
    ) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_reactions = intents.dm_reactions = True
        intents.guild_messages = intents.dm_messages = True
        intents.message_content = reads_all
        # Members are never looked up, so startup need not wait for them.
        super().__init__(
            intents=intents,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.1,
            proxy=proxy_of(Route.BASE),
        )
        self.engine = engine
        self.channel = channel
        self._allowed = frozenset(allowed)
        self._guild = None if guild is None else discord.Object(guild)
        self._conversations = Conversations(engine, channel=channel, agent=agent, cwd=cwd)
        self.context = self._conversations.context
        self.interrupt = self._conversations.interrupt
        self.tree = app_commands.CommandTree(self)
        Commands(self).add_to(self.tree)

    async def setup_hook(self) -> None:
        if self._guild is not None:
            # Commands of one server appear at once; global ones take Discord a while.
            self.tree.copy_global_to(guild=self._guild)
        await self.tree.sync(guild=self._guild)

    async def on_ready(self) -> None:
        _LOG.warning("connected to Discord as %s", self.user)
        await self._catch_up()
        await asyncio.gather(
            self._conversations.catch_up(self.get_partial_messageable), *map(self._read_direct, self._allowed)
        )

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """Answer what was written in a server while the bot was away."""
        places: list[discord.TextChannel | discord.Thread] = [*guild.text_channels, *guild.threads]
        await asyncio.gather(
            *(
                self._conversations.answer_missed(each, each.id, self._text_of_allowed)
                for each in places
                if self._conversations.has_missed(each.id, each.last_message_id)
            )
        )

    async def _read_direct(self, user_id: int) -> None:
        """Answer what allowed users wrote in direct messages; Discord does not list a bot's conversations."""
        try:
            place = await (await self.fetch_user(user_id)).create_dm()
        except discord.HTTPException as error:
            _LOG.warning("cannot read what user %d wrote while it was away: %s", user_id, error)
            return
        await self._conversations.answer_missed(place, place.id, self._text_of_allowed)

    async def on_message(self, message: discord.Message) -> None:
        """Answer a direct message, a mention, and a reply to one of our messages."""
        text = self._text_for_us(message)
        if text and not self.is_allowed(message.author.id):
            _LOG.warning("user %d may not talk to the agent", message.author.id)
            await message.channel.send(NOT_ALLOWED, allowed_mentions=discord.AllowedMentions.none())
        elif text:
            await self._conversations.answer(message, text)

    def _text_of_allowed(self, message: discord.Message) -> str:
        return self._text_for_us(message) if self.is_allowed(message.author.id) else ""

    def _text_for_us(self, message: discord.Message) -> str:
        """Return what a message says to the bot; nothing if it is not for it."""
        if message.author.bot or self.user is None or not self._is_for_us(message):
            return ""
        text = message.content
        for mention in (f"<@{self.user.id}>", f"<@!{self.user.id}>"):
            text = text.replace(mention, "")
        return text.strip()

    def _is_for_us(self, message: discord.Message) -> bool:
        if isinstance(message.channel, discord.DMChannel) or self.user in message.mentions:
            return True
        answered = message.reference.resolved if message.reference is not None else None
        return isinstance(answered, discord.Message) and answered.author == self.user

    def is_allowed(self, user_id: int) -> bool:
        return user_id in self._allowed

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        sign = payload.emoji.name or ""
        if sign not in (YES_SIGN, NO_SIGN) or self.user is None or payload.user_id == self.user.id:
            return  # without fetching the message
        message = await self.get_partial_messageable(payload.channel_id).fetch_message(payload.message_id)
        token = self._reaction_token(message, sign)
        if token is None:
            return
        if not self.is_allowed(payload.user_id):
            _LOG.warning("user %d may not answer about %s", payload.user_id, token.task_id)
            return
        user = payload.member or await self.fetch_user(payload.user_id)
        await self._close_question(message, self._answer(token, user))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Handle a button; commands go to the tree."""
        if interaction.type is not discord.InteractionType.component or interaction.message is None:
            return
        pressed: Mapping[str, Any] = dict(interaction.data or {})
        token = read_answer_token(str(pressed.get("custom_id", "")))
        if token is None or token not in self._answer_tokens(interaction.message):
            return
        if not self.is_allowed(interaction.user.id):
            await interaction.response.send_message(NOT_ALLOWED, ephemeral=True)
            return
        result = self._answer(token, interaction.user)
        await interaction.response.edit_message(content=_with(interaction.message, result), view=None)

    def _answer(self, token: AnswerToken, user: discord.abc.User) -> str:
        """Approve or reject; return what to write beneath the question."""
        by = person(user)
        try:
            if (scope := token.answer.scope) is not None:
                self.engine.approve(token.task_id, by=by, door=FRONTEND, scope=scope, question=token.question)
                return f"{YES_SIGN} approved{reach(scope)} by {user.name}"
            self.engine.reject(token.task_id, by=by, door=FRONTEND, question=token.question)
            return f"{NO_SIGN} rejected by {user.name}"
        except ErrandsError as error:
            return f"⚠️ {error}"

    async def _close_question(self, message: discord.Message, result: str) -> None:
        """Write the result beneath a question and remove its buttons."""
        await message.edit(content=_with(message, result), view=None)

    def _answer_tokens(self, message: discord.Message) -> list[AnswerToken]:
        """Return the answers that a message offers, if we wrote it."""
        if self.user is None or message.author.id != self.user.id:
            return []
        parts = [part for row in message.components for part in getattr(row, "children", ())]
        found = [read_answer_token(getattr(part, "custom_id", None) or "") for part in parts]
        return [each for each in found if each is not None]

    def _reaction_token(self, message: discord.Message, sign: str) -> AnswerToken | None:
        """Return the answer that a reaction stands for: the no, or the narrowest yes."""
        if sign not in (YES_SIGN, NO_SIGN):
            return None
        is_no = sign == NO_SIGN
        return next((each for each in self._answer_tokens(message) if (each.answer is NO) == is_no), None)

    async def _catch_up(self) -> None:
        """Handle the reactions that were given while the bot was not connected."""
        asked = {
            (view.id, view.question.id): address.target
            for view in self.engine.list(Query(states=("proposed",)))
            for address in view.channels
            if address.channel == self.channel and view.question is not None
        }
        for target in dict.fromkeys(asked.values()):
            try:
                channel = await self._messageable(target)
                async for message in channel.history(limit=MAX_HISTORY):
                    await self._handle_reactions(message, asked)
            except discord.HTTPException as error:
                _LOG.warning("cannot read the answers given in %s while it was away: %s", target, error)

    async def _messageable(self, target: str) -> discord.abc.Messageable:
        number = int(target.removeprefix("user/"))
        if target.startswith("user/"):
            return await (await self.fetch_user(number)).create_dm()
        return self.get_partial_messageable(number)

    async def _handle_reactions(self, message: discord.Message, asked: Iterable[tuple[str, int]]) -> None:
        for reaction in message.reactions:
            token = self._reaction_token(message, str(reaction.emoji))
            if token is None or (token.task_id, token.question) not in asked:
                continue
            async for user in reaction.users():
                if self.is_allowed(user.id):
                    await self._close_question(message, self._answer(token, user))
                    return


def serve(
    engine: Engine,
    name: str,
    settings: Mapping[str, Any],
    *,
    token: Callable[[], str],
    line: socket.socket | None,
) -> int:
    """Run the bot of a channel until a signal ends it, or the other end of `line` is gone."""
    process_log.begin(logging.WARNING)
    point_at(settings.get("api"))

    async def run() -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, stopped.set)
        if line is not None:
            loop.add_reader(line, stopped.set)
        waiting = loop.create_task(stopped.wait())
        for reads_all in (True, False):
            bot = bot_of(engine, name, settings, reads_all=reads_all)
            running = loop.create_task(bot.start(token()))
            await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
            await bot.close()
            try:
                await running
                break
            except discord.PrivilegedIntentsRequired:
                if not reads_all:
                    raise
                _LOG.warning(
                    "the bot may not read the content of all messages, so it answers direct messages and "
                    "mentions only; to let it see replies, too, switch on the Message Content Intent of the "
                    "bot at https://discord.com/developers/applications"
                )
        waiting.cancel()

    asyncio.run(run())
    return 0


def bot_of(engine: Engine, name: str, settings: Mapping[str, Any], *, reads_all: bool) -> Bot:
    return Bot(
        engine,
        channel=name,
        allowed=[int(each) for each in settings.get("allowed", ())],
        guild=int(settings["guild"]) if "guild" in settings else None,
        agent=settings.get("agent"),
        cwd=os.path.expanduser(str(settings.get("cwd", "~"))),
        reads_all=reads_all,
    )


def point_at(api: str | None) -> None:
    """Use a server other than Discord's own, for instance one for tests."""
    if api:
        Route.BASE = f"{api.rstrip('/')}/api/v10"
        url = URL(api)
        scheme = "wss" if url.scheme == "https" else "ws"
        DiscordWebSocket.DEFAULT_GATEWAY = url.with_scheme(scheme).with_path("/gateway")


def _with(message: discord.Message, result: str) -> str:
    return f"{message.content[: 1990 - len(result)]}\n{result}"
