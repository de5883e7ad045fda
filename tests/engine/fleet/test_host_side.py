"""The host side, stopped after each of its steps: a new one goes on, and nothing runs or counts twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from errands.bootstrap import open_fleet
from errands.engine.daemon.launch import LaunchBuilder
from errands.engine.fleet import host_side
from errands.engine.fleet.host_side import HostSide
from errands.engine.fleet.placed_run import LANE
from errands.model.ending import OUT_OF_TOUCH
from errands.model.errors import FleetUnreachable
from errands.model.limits import LIMITS, Limits
from errands.model.record import evolve
from errands.ports.fleet import HostFacts, Placed, PlacedView, Stop, Taken
from errands.ports.fleet.input import Input
from errands.ports.home import boottime, write_fuse
from errands.ports.store import Query
from errands.runners.output.log import send_numbered
from errands.runners.output.mirror import exit_facts
from errands.testing.engines import TestEngine, embedded, until

if TYPE_CHECKING:
    from errands.ports.fleet import Fleet

pytestmark = pytest.mark.spec("X12")

HOME = "the home of the task"
HOST = HostFacts(id="h1", name="big", labels=("gpu",), slots=2, version="0", boot="b")


class Host:
    """A host with a real engine and a real fleet, whose host process the test is."""

    def __init__(self, engine: TestEngine, fleet: Fleet, epoch: int, folder: Path, url: str) -> None:
        self.url = url
        self.engine = engine
        self.fleet = fleet
        self.epoch = epoch
        self.folder = folder
        self.side = self.new_side()

    def new_side(self) -> HostSide:
        """Replace the side by one that knows nothing, as after a kill."""
        self.side = HostSide(self.engine.engine, self.fleet, HOST.id, exit_facts, send_numbered)
        self.side.epoch = self.epoch
        return self.side

    async def offer(self, line: str, **changes: Any) -> int:
        key = f"task-{len(await self.fleet.placed(limit=100))}.1:1"
        body = {
            "from": "laptop", "task": "task", "name": "task", "description": "", "commands": [line],
            "before": [], "lastly": [], "cwd": str(self.folder), "cwd_is_named": True, "env": {},
            "sandbox": "none", "limits": LIMITS.whole(Limits()), "consent": "yes", "approved_by": "ada",
            "digest": "", **changes,
        }  # fmt: skip
        return await self.fleet.offer(
            Placed(
                home=HOME, key=key, task="task", selector="gpu", lane="shell", priority=1, policy="lost",
                body=body,
            )
        )  # fmt: skip

    async def sql(self, statement: str) -> None:
        """Change what the fleet knows, behind its back."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as line:
            await line.execute(statement.encode())

    async def take(self, number: int) -> Taken:
        async with asyncio.timeout(60), aclosing(self.fleet.taken(host=HOST)) as runs:  # type: ignore[type-var]
            taken = await anext(runs)
        assert taken.number == number
        return taken

    async def view(self, number: int) -> PlacedView:
        return next(each for each in await self.fleet.placed(limit=100) if each.number == number)

    async def outcome(self, number: int) -> Mapping[str, Any]:
        """Work until the fleet has the end of a run."""

        async def has_ended() -> bool:
            await self.side.work()
            return (await self.view(number)).outcome is not None

        await eventually(has_ended)
        outcome = (await self.view(number)).outcome
        assert outcome is not None
        return outcome

    async def tasks(self) -> list[str]:
        return [view.state for view in self.engine.engine.list(Query())]


async def eventually(fact: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not await fact():
            await asyncio.sleep(0.02)


@pytest.fixture
async def host(own_home: Path, database: str, tmp_path: Path) -> AsyncIterator[Host]:
    fleet = open_fleet(database)
    await fleet.open()
    lease = await fleet.join(HOST)
    async with embedded(str(own_home)) as engine:
        engine.engine.queue.set_lane(LANE, 2)
        write_fuse(engine.engine.home.fuse, boottime() + 3600)
        folder = tmp_path / "work"
        folder.mkdir()
        yield Host(engine, fleet, lease.epoch, folder, database)
    await fleet.close()


async def test_a_run_that_was_taken_and_not_submitted_is_found_again(host: Host) -> None:
    number = await host.offer("echo it ran; exit 3")
    await host.take(number)

    await host.new_side().find_again()

    assert (await host.outcome(number))["code"] == "3"
    pieces = await host.fleet.output(number, attempt=1, start=0)
    assert b"".join(piece.content for piece in pieces) == b"it ran\n"
    assert os.listdir(host.engine.engine.home.guests) == []


async def test_a_run_that_ended_unnoticed_is_reported_and_does_not_run_again(host: Host) -> None:
    number = await host.offer("echo once >> count")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: (host.folder / "count").exists())

    for _ in range(3):
        await host.new_side().find_again()

    assert (await host.outcome(number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"
    assert await host.tasks() == ["completed"]


async def test_a_run_that_cannot_be_read_does_not_keep_those_from_starting_that_came_with_it(
    host: Host,
) -> None:
    good, bad = await host.offer("echo once >> count"), await host.offer("echo", commands=[])
    async with asyncio.timeout(60), aclosing(host.fleet.taken(host=HOST)) as taken:  # type: ignore[type-var]
        runs = [await anext(taken) for _ in range(2)]

    host.side.begin(*runs, *runs)

    assert (await host.outcome(good))["code"] == "0"
    assert "its host cannot read it" in (await host.outcome(bad))["error"]
    assert (host.folder / "count").read_text() == "once\n"


async def test_a_run_is_this_hosts_until_the_fleet_has_its_end(host: Host) -> None:
    number = await host.offer("echo once >> count")
    taken = await host.take(number)

    for _ in range(2):  # a run comes again if a reply was lost
        host.side.begin(taken)
    assert host.side.count == 1

    await host.outcome(number)
    assert host.side.count == 0
    assert (host.folder / "count").read_text() == "once\n"


async def test_a_run_that_another_host_may_have_is_ended(host: Host) -> None:
    number = await host.offer("echo up; exec sleep 1000")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: host.engine.engine.counts().get("running") == 1)

    await host.fleet.leave(HOST.id, host.epoch)  # the fleet gives the host up
    host.epoch = (await host.fleet.join(HOST)).epoch
    await host.new_side().find_again()

    await until(lambda: host.engine.engine.counts().get("running") == 0)
    assert await host.tasks() == ["cancelled"]
    assert "left the fleet" in str((await host.view(number)).outcome)
    assert os.listdir(host.engine.engine.home.guests) == []


async def test_what_a_host_says_after_it_was_given_up_is_dropped(host: Host) -> None:
    number = await host.offer("echo too late")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: host.engine.engine.counts().get("completed") == 1)
    await host.fleet.leave(HOST.id, host.epoch)

    await eventually(lambda: _worked(host))

    assert "lost" in ((await host.view(number)).outcome or {})


async def _worked(host: Host) -> bool:
    await host.side.work()
    return host.side.count == 0


async def test_a_stop_ends_the_run(host: Host) -> None:
    number = await host.offer("echo up; exec sleep 1000")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: host.engine.engine.counts().get("running") == 1)

    host.side.stop(Stop(number=number, attempt=2, grace=5.0))  # of another attempt
    host.side.stop(Stop(number=number, attempt=1, grace=5.0))

    assert (await host.outcome(number))["stop"] == "cancel"


async def test_a_run_whose_fuse_burns_is_lost(host: Host) -> None:
    number = await host.offer("echo up; exec sleep 1000")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: host.engine.engine.counts().get("running") == 1)

    write_fuse(host.engine.engine.home.fuse, boottime())

    assert "lost touch" in str(await host.outcome(number))


async def test_a_command_of_an_agent_has_the_fuse_of_the_agent(host: Host) -> None:
    agent = {"agent": "offline", "model": None, "tools": None, "resume": "", "fork": ""}
    grants: dict[str, Any] = {"allow": [], "allow_tools": [], "budget": {}}
    number = await host.offer("", prompt="run `sleep 1000`", **agent, **grants)
    await host.take(number)
    await host.side.find_again()
    engine = host.engine.engine
    await until(lambda: engine.counts().get("running") == 2)

    launches = LaunchBuilder(engine.store, engine.home, engine.config)

    fuses = [launches.build(*each).fuse for each in engine.running()]
    assert fuses == [engine.home.fuse] * 2


async def test_a_short_output_and_the_end_after_it_need_one_look(host: Host) -> None:
    number = await host.offer("echo said")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: host.engine.engine.counts().get("completed") == 1)
    await host.side.work()
    assert ((await host.view(number)).outcome or {})["bytes"] == "5"
    assert [each.content for each in await host.fleet.output(number, attempt=1, start=0)] == [b"said\n"]


async def test_of_much_output_the_beginning_and_the_end_arrive(host: Host) -> None:
    number = await host.offer("echo first; seq 1 300000; echo last")
    await host.take(number)
    await host.side.find_again()

    facts = await host.outcome(number)
    pieces = await host.fleet.output(number, attempt=1, start=0)

    last = pieces[-1]
    assert last.start + len(last.content) == int(facts["bytes"]) > 4 * host_side.BEHIND
    assert last.content.endswith(b"\nlast\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cwd": "/no/such/place"}, "/no/such/place is not a directory on this host"),
        ({"limits": {"timeout": "soon"}}, "its host cannot read it"),
        ({"commands": []}, "its host cannot read it"),
    ],
)
async def test_what_cannot_be_carried_out_fails_with_a_reason(
    host: Host, changes: dict[str, Any], said: str
) -> None:
    number = await host.offer("true", **changes)
    await host.take(number)
    await host.side.find_again()

    assert said in str((await host.outcome(number))["error"])
    assert await host.tasks() == []


async def test_a_host_that_is_given_up_while_it_sends_output_goes_on(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await host.offer("echo it runs; exec sleep 1000")
    await host.take(number)
    await host.side.find_again()
    store_output = host.fleet.store_output
    was_given_up = asyncio.Event()

    async def store(*values: Any, **named: Any) -> None:
        await store_output(*values, **named)
        await host.side.end_all()
        was_given_up.set()

    monkeypatch.setattr(host.fleet, "store_output", store)

    async def has_been_given_up() -> bool:
        await host.side.work()
        return was_given_up.is_set()

    await eventually(has_been_given_up)

    assert host.side.count == 0
    assert os.listdir(host.engine.engine.home.guests) == []


@pytest.mark.parametrize("has_started", [True, False])
async def test_a_run_that_was_given_up_is_not_cancelled_if_the_fleet_forgets_that(
    host: Host, has_started: bool
) -> None:
    if not has_started:
        host.engine.engine.queue.set_lane(LANE, 0)
    number = await host.offer("exec sleep 1000")
    await host.take(number)
    await host.side.find_again()
    await until(lambda: bool(host.engine.engine.running()) == has_started)
    await host.side.end_all()

    await host.new_side().find_again()

    assert (await host.outcome(number))["lost"] == OUT_OF_TOUCH


@pytest.mark.spec("L24")
async def test_input_arrives_in_order_and_once_although_the_host_process_dies(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await host.offer("echo ready; cat", input="pipe")
    host.side.begin(await host.take(number))
    for piece, word in enumerate((b"one\n", b"two\n", b"three\n"), 1):
        await host.fleet.send(HOME, "task-0.1:1", Input(piece=piece, content=word, is_last=piece == 3))
    answer, unanswered = host.fleet.answer_input, asyncio.Event()

    async def dies(*_: Any, **said: Any) -> bool:
        if said["piece"] == 2:
            unanswered.set()  # the run has taken it, and nobody gets to know
            await asyncio.Event().wait()
        return await answer(*_, **said)

    monkeypatch.setattr(host.fleet, "answer_input", dies)
    host.side.pass_input(number, 3)
    await asyncio.wait_for(unanswered.wait(), 60)
    monkeypatch.setattr(host.fleet, "answer_input", answer)

    await host.new_side().find_again()
    host.side.pass_input(number, 3)

    assert (await host.outcome(number))["code"] == "0"
    pieces = await host.fleet.output(number, attempt=1, start=0)
    assert b"".join(piece.content for piece in pieces) == b"ready\none\ntwo\nthree\n"
    assert await host.fleet.input_replies(number, since=0) == {1: "", 2: "", 3: ""}


@pytest.mark.spec("L28")
async def test_a_run_is_paused_and_goes_on_and_its_home_knows_which(host: Host) -> None:
    number = await host.offer("echo ready; sleep 600")
    host.side.begin(await host.take(number))
    (task,) = host.engine.engine.list(Query())
    await host.engine.printed(task.id, "ready")

    async def is_paused() -> bool:
        await host.side.work()
        return bool((await host.view(number)).view.get("paused"))

    host.side.pause(number, wanted=True)
    await eventually(is_paused)
    assert host.engine.engine.view(task.id).is_paused

    async def goes_on() -> bool:
        return not await is_paused()

    host.side.pause(number, wanted=False)
    await eventually(goes_on)
    host.side.stop(Stop(number=number, attempt=1, grace=0))
    await host.outcome(number)


async def test_the_home_learns_the_progress_that_a_command_reports(host: Host) -> None:
    number = await host.offer("echo '3/4 done' > $ERRANDS_PROGRESS; sleep 600")
    host.side.begin(await host.take(number))

    async def is_known() -> bool:
        await host.side.work()
        return (await host.view(number)).view.get("progress") == "3/4 done"

    await eventually(is_known)
    host.side.stop(Stop(number=number, attempt=1, grace=0))
    await host.outcome(number)


@pytest.mark.spec("T6")
async def test_the_event_that_led_to_a_run_reaches_it(host: Host) -> None:
    event = {"variables": {"ERRANDS_EVENT_SOURCE": "file"}, "content": '{"count": 1}\n'}
    number = await host.offer("echo $ERRANDS_EVENT_SOURCE; cat $ERRANDS_EVENT_FILE", event=event)
    host.side.begin(await host.take(number))

    assert (await host.outcome(number))["code"] == "0"

    pieces = await host.fleet.output(number, attempt=1, start=0)
    assert b"".join(piece.content for piece in pieces) == b'file\n{"count": 1}\n'
    assert os.listdir(host.engine.engine.home.guests) == []


async def ahead(host: Host, line: str) -> Taken:
    """Return a run that came ahead of its slot."""
    taken = await host.take(await host.offer(line))
    await host.sql("update fleet.runs set ahead = true")
    return evolve(taken, ahead=True)


async def test_a_run_that_came_ahead_and_waits_too_long_is_given_back(host: Host) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    await host.side.work()
    assert (await host.view(taken.number)).state == "taken"
    assert await host.tasks() == ["pending"]

    async def is_gone() -> bool:
        await host.side.work()
        return host.side.count == 0

    await eventually(is_gone)

    assert (await host.view(taken.number)).state in ("queued", "offered")
    assert await host.tasks() == []
    assert os.listdir(host.engine.engine.home.guests) == []

    host.engine.engine.queue.set_lane(LANE, 1)
    host.side.begin(again := await host.take(taken.number))
    assert again.attempt == 2
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_a_run_that_came_ahead_and_began_stays_and_its_home_is_told(host: Host) -> None:
    taken = await ahead(host, "echo up; exec sleep 1000")
    host.side.begin(taken)
    await until(lambda: host.engine.engine.counts().get("running") == 1)
    assert await host.fleet.results(HOME) == []

    async def is_known() -> bool:
        await host.side.work()
        return [each.state for each in await host.fleet.results(HOME)] == ["taken"]

    await eventually(is_known)
    await asyncio.sleep(host_side.LATE)
    await host.side.work()

    assert host.side.count == 1
    host.side.stop(Stop(number=taken.number, attempt=1, grace=0))
    await host.outcome(taken.number)


async def test_a_run_that_begins_while_it_is_given_back_stays(host: Host) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo up; exec sleep 1000")
    host.side.begin(taken)
    await host.side.work()  # it waits, as far as the host side knows
    host.engine.engine.queue.set_lane(LANE, 1)
    await until(lambda: host.engine.engine.counts().get("running") == 1)
    await asyncio.sleep(host_side.LATE)

    await host.side.work()

    assert host.side.count == 1
    assert (await host.view(taken.number)).state == "taken"
    host.side.stop(Stop(number=taken.number, attempt=1, grace=0))
    await host.outcome(taken.number)


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_run_that_is_given_back_begins_nowhere_twice_if_the_host_process_dies(
    host: Host, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    give_back = host.fleet.give_back

    async def dies(*values: Any, **named: Any) -> bool:
        if is_told:
            await give_back(*values, **named)
        raise KeyboardInterrupt

    async def gives_back() -> bool:
        await host.side.work()
        return False

    monkeypatch.setattr(host.fleet, "give_back", dies)
    with pytest.raises(KeyboardInterrupt):
        await eventually(gives_back)
    monkeypatch.setattr(host.fleet, "give_back", give_back)
    assert await host.tasks() == []

    await host.new_side().find_again()

    assert host.side.count == (0 if is_told else 1)
    if is_told:
        host.side.begin(await host.take(taken.number))
    host.engine.engine.queue.set_lane(LANE, 1)
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_what_is_given_back_is_not_affirmed_and_told_until_the_fleet_knows(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    give_back, tries = host.fleet.give_back, list[int]()

    async def cannot(number: int, **_: Any) -> bool:
        tries.append(number)
        raise FleetUnreachable("the fleet settles")

    monkeypatch.setattr(host.fleet, "give_back", cannot)

    async def has_tried_twice() -> bool:
        with suppress(FleetUnreachable):
            await host.side.work()
        return len(tries) == 2

    await eventually(has_tried_twice)
    host.engine.engine.queue.set_lane(LANE, 1)
    await host.side.affirm()
    assert await host.tasks() == []
    monkeypatch.setattr(host.fleet, "give_back", give_back)

    await host.side.work()

    assert host.side.count == 0
    assert (await host.view(taken.number)).state in ("queued", "offered")


async def test_a_late_answer_about_what_it_has_does_not_begin_what_was_given_back(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 0)
    taken = await ahead(host, "echo once >> count")
    host.side.begin(taken)
    held, is_gone = host.fleet.held, asyncio.Event()

    async def slow(*who: Any) -> list[Taken]:
        found = await held(*who)
        await is_gone.wait()
        return found

    async def has_gone() -> bool:
        await host.side.work()
        return host.side.count == 0

    monkeypatch.setattr(host.fleet, "held", slow)
    finding = asyncio.create_task(host.side.find_again())
    await eventually(has_gone)
    is_gone.set()
    await finding
    host.side.begin(taken)
    assert await host.tasks() == []

    host.engine.engine.queue.set_lane(LANE, 1)
    host.side.begin(await host.take(taken.number))
    assert (await host.outcome(taken.number))["code"] == "0"
    assert (host.folder / "count").read_text() == "once\n"


async def test_ends_are_reported_although_the_fleet_cannot_take_a_run_back_yet(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.engine.engine.queue.set_lane(LANE, 1)
    first = await host.offer("sleep 1")
    host.side.begin(await host.take(first))
    host.side.begin(late := await ahead(host, "true"))
    await host.sql(f"update fleet.runs set ahead = false where number = {first}")

    async def cannot(*_: Any, **__: Any) -> bool:
        raise FleetUnreachable("the fleet settles")

    async def has_ended() -> bool:
        with suppress(FleetUnreachable):
            await host.side.work()
        return (await host.view(first)).outcome is not None

    monkeypatch.setattr(host.fleet, "give_back", cannot)
    await eventually(has_ended)

    assert (await host.view(late.number)).state == "taken"


async def test_a_host_wants_as_many_ahead_as_short_runs_ended_lately(host: Host) -> None:
    assert host.side.most_ahead == 0
    for line in ("true", "sleep 0.3"):
        number = await host.offer(line)
        host.side.begin(await host.take(number))
        assert (await host.outcome(number))["code"] == "0"
        assert host.side.most_ahead == (line == "true")
        await asyncio.sleep(host_side.AHEAD)
        assert host.side.most_ahead == 0
