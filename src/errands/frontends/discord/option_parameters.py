"""The options of tasks as parameters of slash commands, read from the one table of task options."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import discord
from discord import app_commands

from errands.model.options.table import OPTIONS, TaskOption

MOST = 25  # parameters of a command, says Discord
LONGEST = 100  # characters of a description
# Discord has room for the options that people want on a phone; the command line has them all.
OFFERED = (
    "name", "description", "cwd", "lane", "priority", "batch", "host", "timeout", "retries", "on_loss",
    "notify", "every", "cron", "zone", "hours", "misfire", "max_age", "max_runs", "on", "debounce", "rate",
    "at", "agent", "model", "fork",
)  # fmt: skip

Callback = Callable[[discord.Interaction, str, dict[str, str]], Awaitable[None]]


def offered(kind: str) -> list[TaskOption]:
    """Return the options for a kind of task, in the order of the table."""
    return [option for option in OPTIONS if option.name in OFFERED and option.kind in ("", kind)]


def command(
    name: str, description: str, *, kind: str, subject: str, meaning: str, run: Callback
) -> app_commands.Command[Any, ..., None]:
    """Return a command with one needed parameter, the subject, and the options of a kind of task."""
    options = offered(kind)

    async def callback(interaction: discord.Interaction, **given: Any) -> None:
        said = {each: value for each, value in given.items() if value is not None}
        await run(interaction, said.pop(subject), said)

    text, optional = inspect.Parameter.KEYWORD_ONLY, "str | None"
    parameters = [inspect.Parameter(subject, text, annotation="str")]
    parameters += [inspect.Parameter(each.name, text, annotation=optional, default=None) for each in options]
    first = inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_ONLY)
    callback.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    callback = app_commands.describe(**{subject: meaning}, **{each.name: _short(each) for each in options})(
        callback
    )
    choices = {
        each.name: [app_commands.Choice(name=choice, value=choice) for choice in each.choices]
        for each in options
        if each.choices
    }
    callback = app_commands.choices(**choices)(callback)
    return app_commands.Command(name=name, description=description, callback=callback)


def _short(option: TaskOption) -> str:
    return option.help if len(option.help) <= LONGEST else f"{option.help[: LONGEST - 1]}…"
