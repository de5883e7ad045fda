"""A conversation on Discord, from end to end: a gateway, a model on loopback, and our real processes."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.states import OPEN, STANDING
from errands.ports.home import Home
from errands.ports.store import Query
from tests.agents.builtin_stage import call
from tests.channels.discord_shapes import BOT
from tests.channels.discord_stage import ADA, ANSWERED, CHANNEL, EVE, configure, said
from tests.channels.fake_discord import FakeDiscord
from tests.engine.daemons import Daemons, eventually, finished
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(400)
_places = itertools.count(900_042)


@dataclass
class House:
    """A home with a daemon and its bot; kept for all tests here, because they load so much."""

    folder: Path
    home: Home
    discord: FakeDiscord
    model: ModelServer
    variables: dict[str, str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("talk")
    home = Home(path=str(folder / "home"))
    variables = {"ERRANDS_HOME": home.path, "XDG_CONFIG_HOME": str(folder / "config")}
    (folder / "config" / "errands").mkdir(parents=True)
    daemons = Daemons(home)
    with FakeDiscord() as discord, ModelServer() as model, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        configure(folder / "config" / "errands" / "config.toml", folder, discord, model)
        daemons.start()
        discord.waits_for(lambda: discord.is_connected)
        yield House(folder, home, discord, model, variables)
        daemons.end()


@pytest.fixture
def engine(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name, value in house.variables.items():
        monkeypatch.setenv(name, value)
    engine = open_engine(house.home)
    yield engine
    live = [view.id for view in engine.list(Query(states=(*OPEN, *STANDING)))]
    engine.cancel(live)
    for task_id in live:
        finished(engine, task_id)
    eventually(lambda: not engine.store.undelivered())
    engine.close()


@pytest.fixture
def discord(house: House) -> FakeDiscord:
    house.discord.forget()
    house.discord.typed = 0
    return house.discord


@pytest.fixture
def model(house: House) -> ModelServer:
    house.model.asked.clear()
    return house.model


@pytest.fixture
def project(house: House) -> Path:
    return house.folder / "project"


@pytest.fixture
def direct() -> int:
    """A conversation of direct messages, which no other test has."""
    return next(_places)


def replied(discord: FakeDiscord) -> str:
    """Wait for the reply to the first command."""
    discord.waits_for(lambda: discord.replies)
    return str(discord.replies[0]["data"]["content"])


@pytest.mark.spec("N7", "S2")
def test_the_agent_answers_direct_messages_and_remembers(
    engine: Engine, discord: FakeDiscord, model: ModelServer, direct: int
) -> None:
    discord.write(ADA, direct, "SAY the sky is green")
    said(discord, "the sky is green")
    discord.write(ADA, direct, "RECALL the sky is green")
    said(discord, "recalled")

    [talk] = [each for each in engine.list(Query()) if each.owner == f"chat:discord-{direct}"]
    assert (talk.key, talk.owner, talk.created_by) == (
        f"chat:discord-{direct}",
        f"chat:discord-{direct}",
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


def test_an_answer_can_be_interrupted(engine: Engine, discord: FakeDiscord, direct: int) -> None:
    discord.write(ADA, direct, "SLOW 30\nSAY never")
    eventually(lambda: engine.list(Query(states=("running",))))
    discord.type(ADA, direct, "stop")
    said(discord, "(interrupted)")
    assert discord.replies[-1]["data"]["content"] == "interrupted"
    discord.write(ADA, direct, "SAY go on")
    said(discord, "go on")


@pytest.mark.spec("A8", "D2")
def test_a_call_of_the_agent_waits_for_a_reaction_and_goes_on(
    engine: Engine, discord: FakeDiscord, project: Path, direct: int
) -> None:
    (project / "old").mkdir()
    discord.write(ADA, direct, 'CALL command {"line": "rm -r old"}\nSAY it is gone')
    question = said(discord, "React ✅ to approve")
    number = next(each for each, message in discord.messages.items() if message["content"] == question)
    discord.waits_for(lambda: len(discord.messages[number]["who"]) == 2)
    discord.react(number, EVE, "✅")
    discord.react(number, ADA, "✅")
    said(discord, "it is gone")
    assert sum("it is gone" in each for each in discord.contents) == 1
    assert not (project / "old").exists()
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
    types("lane", "⚠️ unknown lane 'none'", name="none")
    types("hold", f"⚠️ task {running} is running already", task=running)
    engine.cancel([running, first, second])


def test_a_wrong_option_is_explained_and_starts_nothing(engine: Engine, discord: FakeDiscord) -> None:
    before = engine.list(Query())
    discord.type(ADA, CHANNEL, "run", command="echo hello", every="often")
    reply = replied(discord)
    assert reply.startswith("⚠️ every")
    assert engine.list(Query()) == before


@pytest.mark.spec("X16", "N6", "N7", "N10", "L1")
def test_the_agent_starts_slow_work_goes_on_is_told_and_quotes_the_result(
    engine: Engine, discord: FakeDiscord, model: ModelServer, project: Path, direct: int
) -> None:
    news = project / "news"
    os.mkfifo(news)  # so that the command ends when we say so
    discord.write(
        ADA,
        direct,
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
    discord.write(ADA, direct, "SAY something else meanwhile")
    said(discord, "something else meanwhile")
    assert not any(each.startswith("**suite-") for each in discord.contents)
    news.write_text("41 passed, 1 failed\n")
    report = said(discord, "**suite-")
    assert "completed in" in report
    assert "> 41 passed, 1 failed\n> test_tides failed" in report
    discord.write(ADA, direct, "RECALL test_tides failed")
    said(discord, "recalled")

    told = model.asked_for("RECALL test_tides")[-1].text
    assert told.count("> the tide is 4.20 m") == 1
    started = {view.name: view for view in engine.list(Query(parent=f"chat:discord-{direct}"))}
    assert {"suite", "tide"} <= set(started)
    assert [str(each) for each in started["suite"].channels] == [f"discord:{direct}"]
    assert sum(each.startswith("**suite-") for each in discord.contents) == 1


@pytest.mark.spec("X16", "S17", "S8", "S2", "N7")
def test_the_agent_forks_the_conversation_and_resumes_the_copy(
    engine: Engine, discord: FakeDiscord, direct: int
) -> None:
    discord.write(ADA, direct, "SAY the code word is heron")
    said(discord, "the code word is heron")
    fork = call("ask", prompt="RECALL code word is heron", fork=True, name="copy")
    discord.write(ADA, direct, f"{fork}\nSAY it is forked")
    said(discord, "it is forked")
    assert "> recalled" in said(discord, "**copy-")
    [copy] = [each for each in engine.list(Query()) if each.name == "copy"]
    assert copy.marks == "(forked)"

    discord.forget()
    again = call("ask", prompt="RECALL heron has flown", resume=copy.id)
    discord.write(ADA, direct, f"SAY the heron has flown\n{again}")
    said(discord, "the heron has flown")
    # It is the same copy, which has nothing that was said after it was made.
    assert "> forgotten" in said(discord, f"**{copy.id} ")
    assert engine.get(copy.id).agent.resume_count == 1  # type: ignore[union-attr]


@pytest.mark.spec("D1", "D2", "A11", "N7")
@pytest.mark.trap(8)
def test_what_the_agent_proposes_starts_with_a_reaction_and_its_end_reaches_the_conversation(
    engine: Engine, discord: FakeDiscord, project: Path, direct: int
) -> None:
    (project / "old").mkdir()
    discord.write(ADA, direct, call("run", command="rm -r old; echo swept", name="sweep") + "\nSAY I asked")
    said(discord, "I asked")
    question = said(discord, "React ✅ to approve")
    number = next(each for each, message in discord.messages.items() if message["content"] == question)
    discord.waits_for(lambda: len(discord.messages[number]["who"]) == 2)
    assert (project / "old").exists()
    discord.react(number, ADA, "✅")
    assert "> swept" in said(discord, "completed in")
    discord.write(ADA, direct, "RECALL > swept")
    said(discord, "recalled")
    [view] = [each for each in engine.list(Query()) if each.name == "sweep"]
    assert (view.state, view.approved_by) == ("completed", "user42 (discord 42)")


@pytest.mark.spec("R2", "L5", "R3")
def test_background_runs_on_the_local_model_pause_while_a_message_is_answered(
    engine: Engine, discord: FakeDiscord, model: ModelServer, direct: int
) -> None:
    steps = [call("memory_set", name=f"step{number}", value="x") for number in range(190)]
    background = engine.submit(Draft(prompt="\n".join(["BEHIND", "SLOW 0.1", *steps])))
    second = engine.submit(Draft(prompt="SAY the second waits"))
    assert (background.lane, second.lane) == ("local", "local")
    discord.waits_for(lambda: len(model.asked_for("BEHIND")) > 2, within=ANSWERED)
    assert engine.get(second.id).state == "pending"
    discord.write(ADA, direct, "SLOW 1.5\nSAY hello person")
    [asked] = discord.waits_for(lambda: model.asked_for("hello person"), within=ANSWERED)
    said(discord, "hello person")
    during = [each for each in model.asked_for("BEHIND") if asked.at < each.at < asked.at + 1.4]
    assert during == []
    before = len(model.asked_for("BEHIND"))
    eventually(lambda: len(model.asked_for("BEHIND")) > before)
    engine.cancel([background.id, second.id])
