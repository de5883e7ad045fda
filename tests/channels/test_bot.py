"""The bot on Discord: discord.py itself, connected to a gateway, with people who react, press and type."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.channels.discord import Discord
from errands.config import Config
from errands.engine.engine import Engine
from errands.frontends.discord.bot import Bot, point_at
from errands.frontends.discord.option_parameters import MOST, OFFERED, offered
from errands.model.errors import Drifted
from errands.model.notices.delivery import delivery_of
from errands.model.notices.notice import POLICIES
from errands.model.options.draft import Draft
from errands.model.options.table import BY_NAME
from errands.model.text.answers import ANSWERS
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import until
from tests.channels.fake_discord import FakeDiscord

CHANNEL, ADA, EVE = 777, 42, 666
CONFIG = Config(channels={"discord": {"token": "file:token", "target": str(CHANNEL)}})


@pytest.fixture(scope="module")
def server() -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        yield server


@pytest.fixture
def discord(server: FakeDiscord) -> FakeDiscord:
    server.forget()
    return server


@pytest.fixture
def engine(home: Home) -> Iterator[Engine]:
    engine = open_engine(home, CONFIG)
    yield engine
    engine.close()


class Stage:
    """A bot that is connected, and the tasks it is asked about."""

    def __init__(self, engine: Engine, discord: FakeDiscord, folder: Path) -> None:
        self.engine = engine
        self.discord = discord
        self.started = 0
        engine.start_daemon = self._note_daemon
        (folder / "token").write_text("token")
        (folder / "victim").touch()
        self._victim = str(folder / "victim")
        self._channel = Discord({"token": f"file:{folder}/token", "api": discord.url})
        self._running: asyncio.Task[None] | None = None
        self._bot: Bot | None = None

    async def connect(self) -> None:
        before = self.discord.connections
        self._bot = Bot(self.engine, channel="discord", allowed=[ADA], guild=None)
        point_at(self.discord.url)
        self._running = asyncio.create_task(self._bot.start("token"))
        await until(lambda: self.discord.connections > before and self._bot and self._bot.is_ready())

    async def leave(self) -> None:
        if self._bot is not None and self._running is not None:
            await self._bot.close()
            await asyncio.gather(self._running, return_exceptions=True)
        self._bot = None

    async def close(self) -> None:
        await self.leave()
        await self._channel.close()

    def harm(self, created_by: str | None = None) -> Draft:
        return Draft(command=("rm", self._victim), channels=("discord",), created_by=created_by)

    async def propose(self, created_by: str | None = None) -> tuple[str, int]:
        """Propose a task and report it to the channel; return its id and that of the message."""
        task = self.engine.submit(self.harm(created_by))
        assert task.state == "proposed"
        [(address, _)] = self.engine.store.queues()
        notices = self.engine.store.queued(address, limit=1)
        await self._channel.deliver(delivery_of(notices))
        with self.engine.store:
            self.engine.store.mark_delivered([each.id for each in notices], now=notices[0].created_at)
        self.started = 0
        return task.id, max(self.discord.messages)

    async def does(self, act: Any, *words: Any, **options: Any) -> None:
        """Do something as a user, in the thread of the server."""
        await asyncio.to_thread(act, *words, **options)

    def state(self, task_id: str) -> str:
        return self.engine.store.view(task_id).state

    def _note_daemon(self) -> None:
        self.started += 1


@pytest.fixture
async def stage(engine: Engine, discord: FakeDiscord, tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(engine, discord, tmp_path)
    await stage.connect()
    yield stage
    await stage.close()


@pytest.mark.spec("D2")
@pytest.mark.trap(68)
async def test_a_reaction_of_an_allowed_user_approves(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    await stage.does(discord.react, message, ADA, "✅")
    await until(lambda: stage.state(task) == "pending")

    view = stage.engine.get(task)
    assert (view.approved_by, view.door) == ("user42 (discord 42)", "discord")
    await until(lambda: "✅ approved by user42" in discord.messages[message]["content"])
    assert discord.messages[message]["components"] == []
    assert stage.started == 1


@pytest.mark.spec("D2")
async def test_a_cross_dismisses(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    await stage.does(discord.react, message, ADA, "❌")
    await until(lambda: stage.state(task) == "rejected")
    await until(lambda: "❌ rejected by user42" in discord.messages[message]["content"])


@pytest.mark.spec("D2")
@pytest.mark.trap(8, 68)
async def test_other_users_cannot_answer(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    await stage.does(discord.react, message, EVE, "✅")
    await stage.does(discord.press, message, EVE, "Approve once")
    await until(lambda: discord.replies)
    assert "You may not do this" in discord.replies[0]["data"]["content"]
    assert stage.state(task) == "proposed"

    await stage.does(discord.react, message, ADA, "👍")
    await stage.does(discord.type, ADA, CHANNEL, "tasks")
    await until(lambda: len(discord.replies) == 2)
    assert stage.state(task) == "proposed"


@pytest.mark.spec("D2")
async def test_a_button_answers_too(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    await stage.does(discord.press, message, ADA, "Approve once")
    await until(lambda: stage.state(task) == "pending")
    await until(lambda: "✅ approved by user42" in discord.messages[message]["content"])


@pytest.mark.spec("A14")
async def test_a_button_approves_always(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    buttons = [each["label"] for row in discord.messages[message]["components"] for each in row["components"]]
    assert buttons == ["Approve once", "Always approve", "Reject"]
    await stage.does(discord.press, message, ADA, "Always approve")
    await until(lambda: "✅ approved always by user42" in discord.messages[message]["content"])

    (asked,) = stage.engine.approvals(task)
    assert (asked.state, asked.scope) == ("granted", "always")
    assert [each.by for each in stage.engine.standing_approvals()] == ["user42 (discord 42)"]


@pytest.mark.spec("A14")
async def test_a_call_of_an_agent_is_approved_for_its_task_by_a_button(
    stage: Stage, discord: FakeDiscord
) -> None:
    agent = stage.engine.submit(Draft(prompt="go on"))
    run = f"run {agent.latest.id}"
    _, message = await stage.propose(created_by=run)
    await stage.does(discord.press, message, ADA, "Approve for this task")
    await until(lambda: "✅ approved for this task by user42" in discord.messages[message]["content"])

    again = stage.engine.submit(stage.harm(created_by=run))
    assert (again.state, again.approved_by) == ("pending", f"user42 (discord 42) (for {agent.id})")
    assert stage.engine.submit(stage.harm()).state == "proposed"


@pytest.mark.spec("A14")
async def test_the_command_takes_an_answer(stage: Stage, discord: FakeDiscord) -> None:
    task, _ = await stage.propose()
    await stage.does(discord.type, ADA, CHANNEL, "approve", task=task, answer="always")
    await until(lambda: discord.replies)

    assert discord.replies[-1]["data"]["content"] == f"✅ `{task}` is approved always"
    (known,) = [each for each in discord.commands if each["name"] == "approve"]
    choices = {each["value"]: each["name"] for each in known["options"][1]["choices"]}
    assert choices == {each.name: each.label for each in ANSWERS if each.scope}


@pytest.mark.trap(67)
async def test_an_answer_to_a_question_that_was_answered_elsewhere_changes_nothing(
    stage: Stage, discord: FakeDiscord
) -> None:
    task, message = await stage.propose()
    stage.engine.reject(task, by="bob", door="terminal")
    await stage.does(discord.react, message, ADA, "✅")
    await until(lambda: "already rejected by bob" in discord.messages[message]["content"])
    assert stage.state(task) == "rejected"


async def test_a_message_of_another_author_asks_nothing(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    discord.messages[message]["author"] = {**discord.messages[message]["author"], "id": str(EVE)}
    await stage.does(discord.react, message, ADA, "✅")
    await stage.does(discord.type, ADA, CHANNEL, "tasks")
    await until(lambda: discord.replies)
    assert stage.state(task) == "proposed"


@pytest.mark.fault("F46")
async def test_after_a_broken_connection_nothing_is_missed(stage: Stage, discord: FakeDiscord) -> None:
    task, message = await stage.propose()
    await stage.does(discord.hang_up)
    await stage.does(discord.react, message, ADA, "✅")
    await until(lambda: stage.state(task) == "pending")
    assert discord.resumed == 1


@pytest.mark.trap(16)
async def test_answers_while_the_bot_was_away_are_found(stage: Stage, discord: FakeDiscord) -> None:
    approved, first = await stage.propose()
    other, second = await stage.propose()
    await stage.leave()
    await stage.does(discord.react, first, ADA, "✅")
    await stage.does(discord.react, second, EVE, "✅")
    await stage.connect()
    await until(lambda: stage.state(approved) == "pending")
    assert stage.state(other) == "proposed"


@pytest.mark.spec("N7")
async def test_what_is_started_there_reports_there(stage: Stage, discord: FakeDiscord) -> None:
    await stage.does(discord.type, ADA, 555, "run", command="echo hello")
    await until(lambda: discord.replies)
    [view] = stage.engine.list(Query())
    assert [str(each) for each in view.channels] == ["discord:555"]
    assert view.created_by == "user42 (discord 42)"
    assert "channel discord 555" in view.wake
    assert view.id in discord.replies[0]["data"]["content"]
    assert stage.started == 1


async def test_what_may_do_harm_is_asked_about_there(stage: Stage, discord: FakeDiscord) -> None:
    await stage.does(discord.type, ADA, CHANNEL, "run", command="rm -rf build")
    await until(lambda: discord.replies)
    assert "is waiting for approval" in discord.replies[0]["data"]["content"]


async def test_tasks_are_listed_shown_answered_and_ended_by_command(
    stage: Stage, discord: FakeDiscord
) -> None:
    task, _ = await stage.propose()
    other, _ = await stage.propose()
    said: list[str] = []
    for command, options in (
        ("tasks", {}),
        ("show", {"task": task}),
        ("approve", {"task": task}),
        ("reject", {"task": other}),
        ("cancel", {"task": task}),
        ("show", {"task": "nonsense"}),
    ):
        await stage.does(discord.type, ADA, CHANNEL, command, **options)
        await until(lambda: len(discord.replies) > len(said))
        said.append(discord.replies[-1]["data"]["content"])
    assert f"`{task}` proposed" in said[0]
    assert said[1].startswith(f"`{task}` proposed\n`$ rm ")
    assert said[2:5] == [f"✅ `{task}` is approved", f"❌ `{other}` is rejected", f"`{task}` is cancelled"]
    assert "unknown task 'nonsense'" in said[5]


@pytest.mark.spec("A5", "D2")
async def test_a_rejected_task_can_be_approved_by_command(stage: Stage, discord: FakeDiscord) -> None:
    task, _ = await stage.propose()
    await stage.does(discord.type, ADA, CHANNEL, "reject", task=task)
    await until(lambda: stage.state(task) == "rejected" and discord.replies)
    await stage.does(discord.type, ADA, CHANNEL, "approve", task=task)
    await until(lambda: len(discord.replies) == 2)
    asked = discord.replies[-1]["data"]["content"]
    assert stage.state(task) == "proposed"
    assert "`$ rm " in asked
    question = int(asked.rpartition("question:")[2].rstrip("`"))
    await stage.does(discord.type, ADA, CHANNEL, "approve", task=task, question=question)
    await until(lambda: len(discord.replies) == 3)
    assert discord.replies[-1]["data"]["content"] == f"✅ `{task}` is approved"
    await until(lambda: stage.state(task) == "pending")


@pytest.mark.spec("A4", "D2")
@pytest.mark.trap(69)
async def test_a_question_that_changed_is_shown_before_it_is_approved_by_command(
    stage: Stage, discord: FakeDiscord, tmp_path: Path
) -> None:
    """What a person saw is not what would run: the script has changed since."""
    script = tmp_path / "x.sh"
    script.write_text("echo one\n")
    task = stage.engine.submit(Draft(command=("sh", str(script), "/nowhere"))).id
    script.write_text("echo two\n")
    with pytest.raises(Drifted):
        stage.engine.approve(task, by="ada", door="terminal")
    first, second = (each.id for each in stage.engine.approvals(task))
    said: list[str] = []
    for options in ({}, {"question": first}, {"question": second}):
        await stage.does(discord.type, ADA, CHANNEL, "approve", task=task, **options)
        await until(lambda: len(discord.replies) > len(said))
        said.append(discord.replies[-1]["data"]["content"])

    assert "x.sh has changed" in said[0]
    assert f"question:{second}`" in said[0]
    assert "has changed since" in said[1]
    assert said[2] == f"✅ `{task}` is approved"


async def test_commands_of_strangers_are_refused(stage: Stage, discord: FakeDiscord) -> None:
    await stage.does(discord.type, EVE, CHANNEL, "run", command="echo hello")
    await until(lambda: discord.replies)
    assert "You may not do this" in discord.replies[0]["data"]["content"]
    assert stage.engine.store.counts()["pending"] == 0


def test_run_and_ask_take_the_options_of_the_one_table() -> None:
    for kind in ("shell", "agent"):
        names = [option.name for option in offered(kind)]
        assert len(names) < MOST, "Discord refuses more"
        assert {"every", "cron", "on", "notify", "at", "name", "timeout", "max_runs", "zone"} <= set(names)
        assert {"agent", "model"} <= set(names) if kind == "agent" else "agent" not in names
        assert not any(option.repeats for option in offered(kind)), "a parameter takes one value"
    assert {each.name for kind in ("shell", "agent") for each in offered(kind)} == set(OFFERED)


async def test_a_command_shows_the_choices_and_meanings_of_its_options(
    stage: Stage, discord: FakeDiscord
) -> None:
    [run] = [each for each in discord.commands if each["name"] == "run"]
    by_name = {each["name"]: each for each in run["options"]}
    assert run["options"][0] == {**by_name["command"], "required": True}
    assert [each["value"] for each in by_name["notify"]["choices"]] == list(POLICIES)
    assert by_name["every"]["description"] == BY_NAME["every"].help
    assert not any(each.get("required") for each in run["options"][1:])
