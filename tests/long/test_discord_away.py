"""A conversation on Discord whose bot leaves, comes back or is new: nothing is lost or answered twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.ports.home import Home
from errands.ports.store import Query
from tests.channels.discord_shapes import BOT
from tests.channels.discord_stage import ADA, ANSWERED, CHANNEL, EVE, configure, said
from tests.channels.fake_discord import FakeDiscord
from tests.engine.daemons import Daemons, eventually
from tests.model_server import ModelServer

DIRECT = 900_042
PRIVATE = 500_042  # where Discord says that direct messages with ADA are
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def discord(config_file: Path, tmp_path: Path, model: ModelServer) -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        # A daemon here answers once or twice: loading the library for more would be in vain.
        configure(config_file, tmp_path, server, model, warm="none")
        yield server


@pytest.fixture
def engine(home: Home, discord: FakeDiscord, daemons: Daemons) -> Iterator[Engine]:
    daemons.start()
    discord.waits_for(lambda: discord.is_connected)
    engine = open_engine(home)
    yield engine
    engine.close()


def test_without_the_message_content_intent_it_still_answers_what_mentions_it(
    discord: FakeDiscord, daemons: Daemons, home: Home
) -> None:
    discord.grants_content = False
    daemons.start()
    discord.waits_for(lambda: discord.is_connected)
    discord.write(ADA, CHANNEL, f"<@{BOT}> hello\nSAY here I am")
    said(discord, "here I am")
    assert "Message Content Intent" in Path(home.log).read_text()


@pytest.mark.fault("F46")
def test_an_answer_that_was_not_sent_is_sent_by_the_next_bot(
    engine: Engine, discord: FakeDiscord, daemons: Daemons
) -> None:
    discord.write(ADA, DIRECT, "SLOW 2\nSAY late but here")
    eventually(lambda: engine.list(Query(states=("running",))))
    leave(discord, daemons)
    daemons.start()
    said(discord, "late but here")
    assert sum("late but here" in each for each in discord.contents) == 1


def history_reads(discord: FakeDiscord, place: int) -> int:
    return discord.requests.count(("GET", f"/api/v10/channels/{place}/messages"))


def restarted(discord: FakeDiscord, daemons: Daemons, *places: int) -> None:
    """Start a daemon and wait until its bot has read what was written in these channels."""
    before = {place: history_reads(discord, place) for place in places}
    daemons.start()
    for place in places:
        discord.waits_for(lambda p=place: history_reads(discord, p) > before[p], within=ANSWERED)  # type: ignore[misc]


def leave(discord: FakeDiscord, daemons: Daemons) -> None:
    """Kill the daemon, and with it the bot."""
    daemons.kill()
    discord.waits_for(lambda: not discord.is_connected)


@pytest.mark.fault("F46")
def test_what_was_written_while_the_bot_was_away_is_answered_once(
    engine: Engine, discord: FakeDiscord, daemons: Daemons, model: ModelServer, home: Home
) -> None:
    discord.write(ADA, PRIVATE, "SAY before it left")
    said(discord, "before it left")
    marks = Path(home.discord("discord"))
    before = marks.read_text()
    leave(discord, daemons)
    for number in range(2):
        discord.write(ADA, PRIVATE, f"SAY missed directly {number}")
    mention = discord.write(ADA, CHANNEL, f"<@{BOT}> SAY missed mention")
    discord.write(ADA, CHANNEL, "SAY not meant for us")
    discord.write(EVE, CHANNEL, f"<@{BOT}> SAY not allowed")

    restarted(discord, daemons, PRIVATE, CHANNEL)
    for words in ("missed directly 0", "missed directly 1", "missed mention"):
        said(discord, words)
    assert discord.contents.index("missed directly 0") < discord.contents.index("missed directly 1")
    [answer] = [each for each in discord.messages.values() if "missed mention" in each["content"]]
    assert int(answer["message_reference"]["message_id"]) == mention

    leave(discord, daemons)
    restarted(discord, daemons, PRIVATE, CHANNEL)
    discord.waits_for(lambda: discord.is_connected)
    leave(discord, daemons)
    marks.write_text(before)  # as if it had been killed after the agent got the messages
    restarted(discord, daemons, PRIVATE, CHANNEL)
    for place in (f"<@{BOT}>", CHANNEL), ("", PRIVATE):
        discord.write(ADA, place[1], f"{place[0]} SAY it is back in {place[1]}")
        said(discord, f"it is back in {place[1]}")
    assert len(discord.contents) == 6
    assert model.asked_for("not meant") == model.asked_for("not allowed") == []


@pytest.mark.fault("F46")
def test_a_message_that_waits_for_its_turn_is_answered_by_the_next_bot(
    engine: Engine, discord: FakeDiscord, daemons: Daemons
) -> None:
    discord.write(ADA, PRIVATE, "SLOW 2\nSAY the first answer")
    eventually(lambda: engine.list(Query(states=("running",))))
    discord.write(ADA, PRIVATE, "SAY the second answer")
    leave(discord, daemons)
    daemons.start()
    said(discord, "the second answer")
    assert discord.contents == ["the first answer", "the second answer"]


def test_a_new_bot_answers_nothing_that_was_written_before_it_came(
    discord: FakeDiscord, daemons: Daemons, home: Home, model: ModelServer
) -> None:
    discord.write(ADA, PRIVATE, "SAY too early")
    restarted(discord, daemons, PRIVATE)
    discord.write(ADA, PRIVATE, "SAY just in time")
    said(discord, "just in time")
    assert model.asked_for("too early") == []
