"""The bot's slash commands, for allowed users."""

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

FRONTEND = "discord"
MAX_LISTED = 15  # tasks
MAX_REPLY = 1900  # characters
NOT_ALLOWED = "You may not do this: your user id is not in `allowed` of this channel's configuration."


class Listener(Protocol):
    """What the commands need of the bot."""

    engine: Engine
    channel: str

    def is_allowed(self, user_id: int) -> bool: ...


def add_commands(tree: app_commands.CommandTree[discord.Client], bot: Listener) -> None:
    """Register every command; each refuses users who are not allowed."""

    async def reply(interaction: discord.Interaction, answer: Callable[[], str]) -> None:
        if not bot.is_allowed(interaction.user.id):
            await interaction.response.send_message(NOT_ALLOWED, ephemeral=True)
            return
        try:
            words = answer()
        except ErrandsError as error:
            words = f"⚠️ {error}"
        await interaction.response.send_message(
            words[:MAX_REPLY], allowed_mentions=discord.AllowedMentions.none()
        )

    def start(interaction: discord.Interaction, draft: Draft) -> str:
        here = f"{bot.channel}:{interaction.channel_id}"
        view = bot.engine.submit(
            evolve(
                draft,
                channels=(here,),
                environ={**os.environ, "ERRANDS_CHANNEL": here},
                created_by=person(interaction.user),
                door=FRONTEND,
            )
        )
        if view.state == "proposed":
            return f"`{view.id}` is waiting for approval; the question follows here."
        return f"started `{view.id}`; its result is reported here."

    @tree.command(name="tasks", description="List the latest tasks")
    async def tasks(interaction: discord.Interaction) -> None:
        await reply(interaction, lambda: task_list(bot.engine.list(Query(limit=MAX_LISTED))))

    @tree.command(name="show", description="Show one task and the end of its output")
    async def show(interaction: discord.Interaction, task: str) -> None:
        await reply(interaction, lambda: task_text(bot.engine, task))

    @tree.command(name="run", description="Run a command in the background; a risky one needs approval")
    async def run(interaction: discord.Interaction, command: str) -> None:
        await reply(interaction, lambda: start(interaction, Draft(command=command)))

    @tree.command(name="ask", description="Send a prompt to an agent in the background")
    async def ask(interaction: discord.Interaction, prompt: str) -> None:
        await reply(interaction, lambda: start(interaction, Draft(prompt=prompt)))

    @tree.command(name="approve", description="Approve a proposed task")
    async def approve(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            view = bot.engine.approve(task, by=person(interaction.user), door=FRONTEND)
            return f"✅ `{view.id}` is approved"

        await reply(interaction, act)

    @tree.command(name="reject", description="Reject a proposed task")
    async def reject(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            view = bot.engine.reject(task, by=person(interaction.user), door=FRONTEND)
            return f"❌ `{view.id}` is rejected"

        await reply(interaction, act)

    @tree.command(name="cancel", description="Cancel a task")
    async def cancel(interaction: discord.Interaction, task: str) -> None:
        def act() -> str:
            [view] = bot.engine.cancel([task], by=person(interaction.user))
            return f"`{view.id}` is {view.state}"

        await reply(interaction, act)


def person(user: discord.abc.User) -> str:
    """Return the recorded name of a user; the name may change, the number does not."""
    return f"{user.name} (discord {user.id})"


def task_list(views: list[View]) -> str:
    if not views:
        return "no tasks yet"
    return "\n".join(
        f"`{view.id}` {view.state}: {_without_backticks(line(view.description))[:80]}" for view in views
    )


def task_text(engine: Engine, task_id: str) -> str:
    view = engine.get(task_id)
    tail = visible(engine.mask(view.id).text(engine.tail(view.id).content.decode("utf-8", "replace")))
    words = f"`{view.id}` {view.state}\n`$ {_without_backticks(line(view.command))[:300]}`"
    if view.latest.error:
        words += f"\n{line(view.latest.error)[:300]}"
    return f"{words}\n```\n{_without_backticks(tail)[-1200:]}\n```" if tail.strip() else words


def _without_backticks(text: str) -> str:
    return text.replace("`", "'")
