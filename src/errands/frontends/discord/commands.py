"""The commands of the bot: what can be typed on Discord, for those who may."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import discord
from discord import app_commands

from errands.engine.engine import Engine
from errands.model.errors import ErrandsError
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.text.sanitise import line, visible
from errands.model.view import View
from errands.ports.store import Query

SHOWN = 15  # tasks in a list
LONGEST = 1900
NOT_YOU = "You may not do this: your user id is not in the list `allowed` of this channel."


class Listener(Protocol):
    """What the commands need of the bot."""

    engine: Engine
    channel: str

    def is_allowed(self, user_id: int) -> bool: ...


def add_commands(tree: app_commands.CommandTree[discord.Client], bot: Listener) -> None:
    """Register every command; each is refused to whoever is not allowed."""

    async def reply(interaction: discord.Interaction, answer: Callable[[], str]) -> None:
        if not bot.is_allowed(interaction.user.id):
            await interaction.response.send_message(NOT_YOU, ephemeral=True)
            return
        try:
            words = answer()
        except ErrandsError as error:
            words = f"⚠️ {error}"
        await interaction.response.send_message(
            words[:LONGEST], allowed_mentions=discord.AllowedMentions.none()
        )

    def start(interaction: discord.Interaction, draft: Draft) -> str:
        here = f"{bot.channel}:{interaction.channel_id}"
        view = bot.engine.submit(
            evolve(
                draft,
                channels=(here,),
                environ={**os.environ, "ERRANDS_CHANNEL": here},
                created_by=f"{interaction.user.name} (discord {interaction.user.id})",
                door="discord",
            )
        )
        if view.state == "proposed":
            return f"`{view.id}` waits for a yes; you will be asked here."
        return f"started `{view.id}`; its end is told here."

    @tree.command(name="tasks", description="List the latest tasks")
    async def tasks(interaction: discord.Interaction) -> None:
        await reply(interaction, lambda: listed(bot.engine.list(Query(limit=SHOWN))))

    @tree.command(name="show", description="Show one task and the end of its output")
    async def show(interaction: discord.Interaction, task: str) -> None:
        await reply(interaction, lambda: shown(bot.engine, task))

    @tree.command(name="run", description="Run a command in the background; what may do harm is asked about")
    async def run(interaction: discord.Interaction, command: str) -> None:
        await reply(interaction, lambda: start(interaction, Draft(command=command)))

    @tree.command(name="ask", description="Give an agent something to do in the background")
    async def ask(interaction: discord.Interaction, prompt: str) -> None:
        await reply(interaction, lambda: start(interaction, Draft(prompt=prompt)))

    @tree.command(name="approve", description="Let a proposed task start")
    async def approve(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            by = f"{interaction.user.name} (discord {interaction.user.id})"
            view = bot.engine.approve(task, by=by, door="discord")
            return f"✅ `{view.id}` is approved"

        await reply(interaction, act)

    @tree.command(name="reject", description="Turn a proposed task down")
    async def reject(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            by = f"{interaction.user.name} (discord {interaction.user.id})"
            return f"❌ `{bot.engine.reject(task, by=by, door='discord').id}` is rejected"

        await reply(interaction, act)

    @tree.command(name="cancel", description="End a task")
    async def cancel(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            [view] = bot.engine.cancel([task], by=f"{interaction.user.name} (discord {interaction.user.id})")
            return f"`{view.id}` is {view.state}"

        await reply(interaction, act)


def listed(views: list[View]) -> str:
    if not views:
        return "no tasks yet"
    return "\n".join(f"`{view.id}` {view.state}: {_fenceless(line(view.description))[:80]}" for view in views)


def shown(engine: Engine, task_id: str) -> str:
    view = engine.get(task_id)
    tail = visible(engine.mask(view.id).text(engine.tail(view.id).content.decode("utf-8", "replace")))
    words = f"`{view.id}` {view.state}\n`$ {_fenceless(line(view.command))[:300]}`"
    if view.latest.error:
        words += f"\n{line(view.latest.error)[:300]}"
    return f"{words}\n```\n{_fenceless(tail)[-1200:]}\n```" if tail.strip() else words


def _fenceless(text: str) -> str:
    return text.replace("`", "'")
