"""Discord: deliveries to a channel or a user, sent by the configured bot.

Sending needs no lasting connection; answers are received by the bot itself, `errands channel discord`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
import discord
from discord.http import Route

from errands.channels import read_secret
from errands.http import proxy_of
from errands.model.errors import ChannelError, NotNow, Refused, Unacknowledged
from errands.model.notices.delivery import (
    NO_CONSENT,
    NO_SIGN,
    YES_SIGN,
    AnswerToken,
    Delivery,
    text,
    title,
)
from errands.model.notices.result import SHELL, Hints
from errands.model.text.answers import NO
from errands.model.text.split import split

USER = "user/"
# What people can type to a bot that listens; the whole output is only in a shell.
COMMANDS = Hints(show="/show ID", answer="/approve ID or /reject ID")
PATIENCE = 20.0  # seconds of a rate limit to wait here; for a longer one the sender waits
# It warns about every feature that we do not use: voice, members, message content.
logging.getLogger("discord").setLevel(logging.ERROR)


class Discord:
    budget = 6000
    is_deduplicating = True  # Discord drops a message whose nonce it has seen a few minutes ago

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._token = read_secret(str(settings["token"]))
        self._hints = COMMANDS if settings.get("listen") else SHELL
        point_at(settings.get("api"))
        self._client: discord.Client | None = None
        self._places: dict[str, discord.abc.Messageable] = {}

    async def deliver(self, delivery: Delivery) -> None:
        try:
            place = await self._place(delivery.address.target)
            await self._send(place, delivery)
        except discord.LoginFailure as error:
            raise ChannelError(f"Discord does not know the token of the bot: {error}") from error
        except discord.RateLimited as error:
            raise NotNow("Discord wants us to slow down", after=error.retry_after) from error
        except discord.HTTPException as error:
            if error.status == 429 or error.status >= 500:
                raise ChannelError(f"Discord answered {error.status}: {error.text[:200]}") from error
            raise Refused(f"Discord refused it ({error.status}): {error.text[:200]}") from error
        except aiohttp.ClientConnectorError as error:
            raise ChannelError(f"Discord cannot be reached: {error}") from error
        except aiohttp.ClientError as error:
            raise Unacknowledged(f"sent, but not answered: {error}") from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _place(self, target: str) -> discord.abc.Messageable:
        if self._client is None:
            client = discord.Client(
                intents=discord.Intents.none(),
                max_ratelimit_timeout=max(30.0, PATIENCE),
                proxy=proxy_of(Route.BASE),
            )
            try:
                await client.login(self._token)
            except BaseException:
                await client.close()
                raise
            self._client = client
        if target not in self._places:
            number = int(target.removeprefix(USER))
            self._places[target] = (
                await self._client.fetch_user(number)
                if target.startswith(USER)
                else self._client.get_partial_messageable(number)
            )
        return self._places[target]

    async def _send(self, place: discord.abc.Messageable, delivery: Delivery) -> None:
        pieces = split(message(delivery, self.budget, self._hints))
        tokens = delivery.answers
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            sent = await place.send(
                piece,
                nonce=f"{delivery.key[:20]}{number}",
                allowed_mentions=discord.AllowedMentions.none(),
                suppress_embeds=True,
                view=buttons(tokens) if is_last and tokens else discord.utils.MISSING,
            )
        for sign in (YES_SIGN, NO_SIGN) if tokens else ():
            await sent.add_reaction(sign)


def message(delivery: Delivery, budget: int, hints: Hints = SHELL) -> str:
    """Format a delivery for Discord; text outside a quotation cannot open a code fence."""
    lines = [
        each if each.startswith("> ") else each.replace("```", "'''")
        for each in text(delivery, budget, hints).split("\n")
    ]
    ending = f"-# {NO_CONSENT}"
    if delivery.answers:
        first = delivery.answers[0].answer.label.lower()
        ending = f"React {YES_SIGN} to {first}, {NO_SIGN} to {NO.label.lower()}, or press a button."
    return "\n".join([f"**{title(delivery)}**", *lines, ending])


def buttons(tokens: tuple[AnswerToken, ...]) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for number, token in enumerate(tokens):
        sign, style = None, discord.ButtonStyle.secondary
        if number == 0:
            sign, style = YES_SIGN, discord.ButtonStyle.success
        elif token.answer is NO:
            sign, style = NO_SIGN, discord.ButtonStyle.danger
        button: discord.ui.Button[discord.ui.View] = discord.ui.Button(
            label=token.answer.label, emoji=sign, style=style, custom_id=str(token)
        )
        view.add_item(button)
    return view


def point_at(api: str | None) -> None:
    """Use another server instead of Discord's own, such as a fake one in tests."""
    if api:
        Route.BASE = f"{api.rstrip('/')}/api/v10"
