"""A conversation on Discord, from end to end: a gateway, a model on loopback, and our real processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.model_server import ModelServer
from tests.agents.builtin_stage import call
from tests.channels.discord_shapes import BOT
from tests.channels.fake_discord import FakeDiscord
from tests.engine.daemons import Daemons, eventually

CHANNEL, DIRECT, ADA, EVE = 777, 900_042, 42, 666
PRIVATE = 500_042  # where Discord says that direct messages with ADA are
ANSWERED = 120.0  # seconds: a turn starts a process that loads much, and the machine may be busy
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def discord(config_file: Path, tmp_path: Path, model: ModelServer) -> Iterator[FakeDiscord]:
    project = tmp_path / "project"
    project.mkdir()
    with FakeDiscord() as server:
        (tmp_path / "token").write_text("token\n")
        config_file.write_text(
            f'[channels.discord]\ntoken = "file:{tmp_path}/token"\ntarget = {CHANNEL}\n'
            f'allowed = [{ADA}]\nlisten = true\napi = "{server.url}"\ncwd = "{project}"\n'
            f'[agents]\ndefault = "builtin"\n[agents.builtin]\nmodel = "fake"\nurl = "{model.openai_url}"\n'
            "pause = 0.001\n[discovery]\nenabled = false\n"
        )
        yield server


@pytest.fixture
def engine(home: Home, discord: FakeDiscord, daemons: Daemons) -> Iterator[Engine]:
    daemons.start()
    discord.waits_for(lambda: discord.is_connected)
    engine = open_engine(home)
    yield engine
    engine.close()


def said(discord: FakeDiscord, words: str) -> str:
    """Wait for a message of the bot with these words."""

    def found() -> str:
        return next((each for each in discord.contents if words in each), "")

    return discord.waits_for(found, within=ANSWERED)


def replied(discord: FakeDiscord) -> str:
    """Wait for the reply to the first command."""
    discord.waits_for(lambda: discord.replies)
    return str(discord.replies[0]["data"]["content"])


@pytest.mark.spec("N7", "S2")
def test_the_agent_answers_direct_messages_and_remembers(
    engine: Engine, discord: FakeDiscord, model: ModelServer
) -> None:
    discord.write(ADA, DIRECT, "SAY the sky is green")
    said(discord, "the sky is green")
    discord.write(ADA, DIRECT, "RECALL the sky is green")
    said(discord, "recalled")

    [talk] = engine.list(Query())
    assert (talk.key, talk.owner, talk.created_by) == (
        f"chat:discord-{DIRECT}",
        f"chat:discord-{DIRECT}",
        "user42 (discord 42)",
    )
    assert talk.cwd.endswith("/project")
    assert discord.typed
    assert "You are talking with people on Discord" in model.asked_for("the sky is green")[0].text


def test_in_a_channel_it_answers_mentions_and_replies_of_allowed_users_and_nothing_else(
    engine: Engine, discord: FakeDiscord, model: ModelServer
) -> None:
    discord.write(ADA, CHANNEL, "SAY not meant for us")
    discord.write(EVE, CHANNEL, f"<@{BOT}> SAY not allowed")
    said(discord, "You may not do this")
    discord.write(ADA, CHANNEL, f"<@{BOT}> hello\nSAY **first** answer @everyone")
    said(discord, "**first** answer")
    ours = max(discord.messages)
    discord.write(ADA, CHANNEL, "and this?\nSAY second answer", answers=ours)
    said(discord, "second answer")

    assert [each.prompt.split("\n")[0] for each in model.asked_for("answer")] == [
        "user42: hello",
        "user42: and this?",
    ]
    assert model.asked_for("not meant") == model.asked_for("not allowed") == []
    assert discord.messages[ours]["allowed_mentions"] == {"parse": []}


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
    daemons.kill()
    discord.hang_up()
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


def test_an_answer_can_be_interrupted(engine: Engine, discord: FakeDiscord) -> None:
    discord.write(ADA, DIRECT, "SLOW 30\nSAY never")
    eventually(lambda: engine.list(Query(states=("running",))))
    discord.type(ADA, DIRECT, "stop")
    said(discord, "(interrupted)")
    assert discord.replies[-1]["data"]["content"] == "interrupted"
    discord.write(ADA, DIRECT, "SAY go on")
    said(discord, "go on")


@pytest.mark.spec("A8", "D2")
def test_a_call_of_the_agent_waits_for_a_reaction_and_goes_on(
    engine: Engine, discord: FakeDiscord, tmp_path: Path
) -> None:
    (tmp_path / "project" / "old").mkdir()
    discord.write(ADA, DIRECT, 'CALL command {"line": "rm -r old"}\nSAY it is gone')
    question = said(discord, "React ✅ to approve")
    number = next(each for each, message in discord.messages.items() if message["content"] == question)
    discord.waits_for(lambda: len(discord.messages[number]["who"]) == 2)
    discord.react(number, EVE, "✅")
    discord.react(number, ADA, "✅")
    said(discord, "it is gone")
    assert sum("it is gone" in each for each in discord.contents) == 1
    assert not (tmp_path / "project" / "old").exists()
    assert "user42 (discord 42)" in {entry.approval.by for entry in engine.audit()}


@pytest.mark.spec("T1", "N7")
def test_a_recurring_task_is_started_paused_resumed_and_fired_by_command(
    engine: Engine, discord: FakeDiscord
) -> None:
    options = {"every": "2h", "notify": "always", "name": "greet", "max_runs": "3"}
    discord.type(ADA, CHANNEL, "run", command="echo hello from here", **options)
    reply = replied(discord)
    task = re.findall(r"`(greet-\w+)`, every 2h", reply)[0]
    view = engine.get(task)
    assert (view.state, view.notify, view.created_by) == ("active", "always", "user42 (discord 42)")
    assert view.standing is not None
    assert view.standing.max_runs == 3

    for command, words in (
        ("pause", f"`{task}` is paused"),
        ("unpause", f"`{task}` is active; it runs next <t:"),
        ("fire", f"started `{task}.1`"),
    ):
        discord.type(ADA, CHANNEL, command, task=task)
        discord.waits_for(lambda w=words: w in discord.replies[-1]["data"]["content"])  # type: ignore[misc]
    assert "hello from here" in said(discord, f"**{task} completed")


@pytest.mark.spec("L28", "N7")
def test_the_queue_is_steered_by_command(engine: Engine, discord: FakeDiscord, tmp_path: Path) -> None:
    door = tmp_path / "door"
    os.mkfifo(door)
    running = engine.submit(Draft(command=f"read line < {door}", name="running", consent="yes")).id
    eventually(lambda: engine.view(running).latest.state == "running")
    first, second = (
        engine.submit(Draft(command="echo old", name=name, after=(running,), consent="yes")).id
        for name in ("first", "second")
    )

    def types(verb: str, words: str, /, **given: str | int) -> None:
        before = len(discord.replies)
        discord.type(ADA, CHANNEL, verb, **given)
        discord.waits_for(lambda: len(discord.replies) > before)
        assert words in discord.replies[-1]["data"]["content"]

    types("pause", f"`{running}` is paused", task=running)
    assert engine.view(running).is_paused
    types("unpause", f"`{running}` is running", task=running)
    assert not engine.view(running).is_paused
    types("hold", f"`{first}` is held", task=first)
    assert engine.view(first).is_held
    types("release", f"`{first}` is pending", task=first)
    assert not engine.view(first).is_held
    types("move", f"`{second}` is 1 of 2 in lane shell", task=second)
    assert engine.queue.order("shell") == [second, first]
    types("edit", f"`{first}` is edited: `$ echo new`", task=first, command="echo new")
    assert engine.view(first).command == "echo new"
    types("lane", "narrow: 0 of 2 running, 0 pending", name="narrow", width=2)
    types("lane", "⚠️ there is no lane 'none'", name="none")
    types("hold", f"⚠️ task {running} is running already", task=running)
    engine.cancel([running, first, second])


def test_a_wrong_option_is_explained_and_starts_nothing(engine: Engine, discord: FakeDiscord) -> None:
    discord.type(ADA, CHANNEL, "run", command="echo hello", every="often")
    reply = replied(discord)
    assert reply.startswith("⚠️ every")
    assert engine.list(Query()) == []


@pytest.mark.spec("X16", "N6", "N7", "N10", "L1")
def test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result(
    engine: Engine, discord: FakeDiscord, model: ModelServer, tmp_path: Path
) -> None:
    news = tmp_path / "project" / "news"
    os.mkfifo(news)  # so that the command ends when we say so
    discord.write(
        ADA,
        DIRECT,
        "\n".join(
            (
                call("run", command="cat news; echo test_tides failed", name="suite"),
                call("ask", prompt="SAY the tide is 4.20 m", name="tide"),
                "SAY both are on their way",
            )
        ),
    )
    said(discord, "both are on their way")
    assert "> the tide is 4.20 m" in said(discord, "**tide-")
    discord.write(ADA, DIRECT, "SAY something else meanwhile")
    said(discord, "something else meanwhile")
    assert not any(each.startswith("**suite-") for each in discord.contents)
    news.write_text("41 passed, 1 failed\n")
    report = said(discord, "**suite-")
    assert "completed in" in report
    assert "> 41 passed, 1 failed\n> test_tides failed" in report
    discord.write(ADA, DIRECT, "RECALL test_tides failed")
    said(discord, "recalled")

    told = model.asked_for("RECALL test_tides")[-1].text
    assert told.count("> the tide is 4.20 m") == 1
    started = {view.name: view for view in engine.list(Query(parent=f"chat:discord-{DIRECT}"))}
    assert {"suite", "tide"} <= set(started)
    assert [str(each) for each in started["suite"].channels] == [f"discord:{DIRECT}"]
    assert sum(each.startswith("**suite-") for each in discord.contents) == 1


@pytest.mark.spec("D1", "D2", "A11", "N7")
@pytest.mark.trap(8)
def test_what_the_agent_proposes_starts_with_a_reaction_and_its_end_reaches_the_conversation(
    engine: Engine, discord: FakeDiscord, tmp_path: Path
) -> None:
    (tmp_path / "project" / "old").mkdir()
    discord.write(ADA, DIRECT, call("run", command="rm -r old; echo swept", name="sweep") + "\nSAY I asked")
    said(discord, "I asked")
    question = said(discord, "React ✅ to approve")
    number = next(each for each, message in discord.messages.items() if message["content"] == question)
    discord.waits_for(lambda: len(discord.messages[number]["who"]) == 2)
    assert (tmp_path / "project" / "old").exists()
    discord.react(number, ADA, "✅")
    assert "> swept" in said(discord, "completed in")
    discord.write(ADA, DIRECT, "RECALL > swept")
    said(discord, "recalled")
    [view] = [each for each in engine.list(Query()) if each.name == "sweep"]
    assert (view.state, view.approved_by) == ("completed", "user42 (discord 42)")


@pytest.mark.spec("R2", "L5", "R3")
def test_background_runs_on_the_local_model_pause_while_a_message_is_answered(
    engine: Engine, discord: FakeDiscord, model: ModelServer
) -> None:
    steps = [call("memory_set", name=f"step{number}", value="x") for number in range(190)]
    background = engine.submit(Draft(prompt="\n".join(["BEHIND", "SLOW 0.1", *steps])))
    second = engine.submit(Draft(prompt="SAY the second waits"))
    assert (background.lane, second.lane) == ("local", "local")
    discord.waits_for(lambda: len(model.asked_for("BEHIND")) > 2, within=ANSWERED)
    assert engine.get(second.id).state == "pending"
    discord.write(ADA, DIRECT, "SLOW 1.5\nSAY hello person")
    [asked] = discord.waits_for(lambda: model.asked_for("hello person"), within=ANSWERED)
    said(discord, "hello person")
    during = [each for each in model.asked_for("BEHIND") if asked.at < each.at < asked.at + 1.4]
    assert during == []
    before = len(model.asked_for("BEHIND"))
    eventually(lambda: len(model.asked_for("BEHIND")) > before)
    engine.cancel([background.id, second.id])
