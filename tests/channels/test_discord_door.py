"""Discord from end to end: real processes, from a proposal over a reaction to the report of its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from tests.channels.fake_discord import FakeDiscord
from tests.engine.daemons import Daemons

CHANNEL, ADA, EVE = 777, 42, 666


@pytest.fixture
def discord(config_file: Path, tmp_path: Path) -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        (tmp_path / "token").write_text("token\n")
        config_file.write_text(
            f'[channels.discord]\ntoken = "file:{tmp_path}/token"\ntarget = {CHANNEL}\n'
            f'allowed = [{ADA}]\nlisten = true\napi = "{server.url}"\n'
        )
        yield server


@pytest.mark.spec("D2", "N4", "N7")
@pytest.mark.trap(68)
def test_a_proposal_is_approved_by_a_reaction_and_its_end_is_reported(
    discord: FakeDiscord, daemons: Daemons, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    engine = open_engine(home)
    task = engine.submit(Draft(command=f"rm -rf {tmp_path}/old; echo swept", channels=("discord",)))
    assert task.state == "proposed"
    [message] = discord.waits_for(lambda: list(discord.messages))
    discord.waits_for(lambda: discord.is_connected and len(discord.messages[message]["who"]) == 2)
    discord.react(message, EVE, "✅")
    discord.react(message, ADA, "✅")
    discord.waits_for(lambda: len(discord.messages) == 2)
    assert discord.contents[1].startswith(f"**{task.id} completed")
    view = engine.get(task.id)
    assert (view.state, view.approved_by) == ("completed", f"user{ADA} (discord {ADA})")
    engine.close()


def test_a_bot_that_dies_is_started_again(discord: FakeDiscord, daemons: Daemons, home: Home) -> None:
    daemons.start()
    discord.waits_for(lambda: discord.is_connected)
    [bot] = [pid for pid in _processes(home) if b"run_bot" in _words(pid)]
    os.kill(bot, signal.SIGKILL)
    discord.waits_for(lambda: discord.connections == 2)


def test_the_bot_can_be_run_by_hand(discord: FakeDiscord, home: Home) -> None:
    words = [sys.executable, "-m", "errands", "channel", "discord"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as bot:
        discord.waits_for(lambda: discord.is_connected)
        assert {each["name"] for each in discord.commands} >= {"run", "ask", "tasks", "approve", "reject"}
        bot.terminate()
        assert bot.wait(20) == 0


def _processes(home: Home) -> list[int]:
    from errands.runners.system import linux

    return [pid for pid in linux.marked("ERRANDS_HOME", home.path) if pid != os.getpid()]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
