"""Conversations on Discord, from end to end: a gateway, a model on loopback, and our real processes."""

from __future__ import annotations

from pathlib import Path

from tests.channels.fake_discord import FakeDiscord
from tests.model_server import ModelServer

CHANNEL, ADA, EVE = 777, 42, 666
ANSWERED = 120.0  # seconds: a turn starts a process that loads much, and the machine may be busy


def configure(
    file: Path, folder: Path, discord: FakeDiscord, model: ModelServer, *, warm: str = "10m"
) -> None:
    """Configure a bot, and the agent that answers in its name, in a project in this folder."""
    (folder / "project").mkdir()
    (folder / "token").write_text("token\n")
    file.write_text(
        f'[channels.discord]\ntoken = "file:{folder}/token"\ntarget = {CHANNEL}\n'
        f'allowed = [{ADA}]\nlisten = true\napi = "{discord.url}"\ncwd = "{folder}/project"\n'
        f'[agents]\ndefault = "builtin"\nwarm = "{warm}"\n'
        f'[agents.builtin]\nmodel = "fake"\nurl = "{model.openai_url}"\n'
        "pause = 0.001\n[discovery]\nenabled = false\n"
    )


def said(discord: FakeDiscord, words: str) -> str:
    """Wait for a message of the bot with these words."""

    def found() -> str:
        return next((each for each in discord.contents if words in each), "")

    return discord.waits_for(found, within=ANSWERED)
