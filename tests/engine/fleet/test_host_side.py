"""The host side, stopped after each of its steps: a new one goes on, and nothing runs or counts twice."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from errands.engine.daemon.launch import LaunchBuilder
from errands.engine.fleet.guest import BEHIND
from errands.engine.fleet.placed_run import LANE
from errands.model.ending import OUT_OF_TOUCH
from errands.ports.fleet import Stop
from errands.ports.fleet.input import Input
from errands.ports.home import boottime, write_fuse
from errands.ports.store import Query
from errands.testing.engines import until
from tests.engine.fleet.hosts import HOME, HOST, Host, eventually

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.spec("X12")


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
    assert last.start + len(last.content) == int(facts["bytes"]) > 4 * BEHIND
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
