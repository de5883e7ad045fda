"""Sending: the daemon starts a sender when something is to be sent, and stays small and quick itself."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from errands import connect
from errands.bootstrap import open_engine
from errands.engine.daemon.child_service import SENDER_DELAY, ChildService, notices_due
from errands.engine.engine import Engine
from errands.model.notices.notice import Address
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.runners.system import linux
from tests.channels.outbox import Outbox
from tests.channels.receiver import Receiver
from tests.engine.daemons import Daemons, eventually, finished


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def client(home: Home, receiver: Receiver, config_file: Path, tmp_path: Path) -> Iterator[Engine]:
    """The engine of a person who has a webhook."""
    (tmp_path / "secret").write_text("open sesame")
    config_file.write_text(
        f'[channels.hook]\nkind = "webhook"\nurl = "{receiver.url}"\nsecret = "file:{tmp_path}/secret"\n'
    )
    engine = open_engine(home, consent="yes")
    yield engine
    engine.close()


def sender(outbox: Outbox, start: Callable[[socket.socket], int]) -> ChildService:
    due = partial(notices_due, outbox.store, outbox.clock)
    return ChildService("sender", start, due, delay=SENDER_DELAY)


def senders(home: Home) -> list[int]:
    """Name the processes that send."""
    found = []
    for pid in linux.marked("ERRANDS_HOME", home.path):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"run_sender" in words and b"pytest" not in words:
            found.append(pid)
    return found


def told(receiver: Receiver) -> list[str]:
    return [notice["run"] for posted in receiver.posted for notice in posted.value["notices"]]


@pytest.mark.spec("N2", "N5")
def test_the_end_of_a_task_is_posted(daemons: Daemons, client: Engine, receiver: Receiver) -> None:
    daemons.start()
    draft = Draft(
        command="echo one; echo $PASSWORD; exit 3", env={"PASSWORD": "hunter2-hunter2"}, channels=("hook",)
    )
    task = client.submit(draft)
    [posted] = receiver.waits_for(1)
    [notice] = posted.value["notices"]
    assert (notice["run"], notice["state"], notice["exit_code"]) == (task.latest.id, "failed", 3)
    assert notice["result"] == "one\n[masked: PASSWORD]\n"
    assert "> one\n> [masked: PASSWORD]\n" in posted.value["text"]
    eventually(lambda: not client.store.undelivered())
    assert len(client.store.inbox("user")) == 1, "the inbox is told beside every channel"


@pytest.mark.spec("N2")
def test_a_task_reports_to_several_channels(
    daemons: Daemons, client: Engine, receiver: Receiver, config_file: Path
) -> None:
    with Receiver() as other:
        first = config_file.read_text()
        second = first.replace("[channels.hook]", "[channels.other]").replace(receiver.url, other.url)
        config_file.write_text(first + second)
        daemons.start()
        engine = open_engine(client.home, consent="yes")
        task = engine.submit(Draft(command=("true",), channels=("hook", "other")))
        engine.close()
        receiver.waits_for(1)
        other.waits_for(1)

        assert told(receiver) == told(other) == [task.latest.id]


def test_a_sender_learns_what_changed_in_the_configuration(
    daemons: Daemons, client: Engine, home: Home, receiver: Receiver, config_file: Path
) -> None:
    daemons.start()
    client.submit(Draft(command=("true",), channels=("hook",)))
    receiver.waits_for(1)
    with Receiver() as other:
        before = config_file.read_text()
        moved = before.replace(receiver.url, other.url)
        config_file.write_text(before + moved.replace("[channels.hook]", "[channels.new]"))
        engine = open_engine(client.home, consent="yes")
        engine.submit(Draft(command=("true",), channels=("new",)))
        other.waits_for(1)
        config_file.write_text(moved)
        engine.submit(Draft(command=("true",), channels=("hook",)))
        other.waits_for(2)
        engine.close()
    assert len(receiver.posted) == 1


@pytest.mark.trap(2)
def test_many_ends_at_once_are_few_deliveries_and_none_is_missing(
    daemons: Daemons, client: Engine, receiver: Receiver
) -> None:
    daemons.start()
    drafts = [Draft(command=("true",), name=f"n{number}", channels=("hook",)) for number in range(50)]
    runs = sorted(view.latest.id for view in client.submit_all(drafts))
    eventually(lambda: len(told(receiver)) >= 50)
    assert sorted(told(receiver)) == runs
    assert len(receiver.posted) < 25


@pytest.mark.fault("F6", "F7")
@pytest.mark.trap(16)
def test_a_delivery_whose_sender_was_killed_is_sent_again_under_the_same_key(
    daemons: Daemons, client: Engine, home: Home, receiver: Receiver
) -> None:
    daemons.start()
    receiver.moods = ["hang"]
    client.submit(Draft(command=("true",), channels=("hook",)))
    receiver.waits_for(1)
    [sender] = senders(home)
    os.kill(sender, signal.SIGKILL)
    first, second = receiver.waits_for(2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    eventually(lambda: not client.store.undelivered())


@pytest.mark.fault("F6")
def test_what_a_killed_daemon_left_is_sent_by_the_next(
    daemons: Daemons, client: Engine, receiver: Receiver
) -> None:
    daemons.start_doomed("errands.engine.daemon.child_service.ChildService._start")
    client.submit(Draft(command=("true",), channels=("hook",)))
    daemons.wait_for_doom()
    assert receiver.posted == []
    daemons.start()
    receiver.waits_for(1)


@pytest.mark.trap(13)
@pytest.mark.fault("F46")
def test_a_receiver_that_hangs_holds_up_no_task_and_no_other_channel(
    daemons: Daemons, client: Engine, receiver: Receiver, config_file: Path, tmp_path: Path
) -> None:
    with Receiver() as other:
        config_file.write_text(
            config_file.read_text()
            + f'[channels.other]\nkind = "webhook"\nurl = "{other.url}"\nsecret = "file:{tmp_path}/secret"\n'
        )
        receiver.mood = "hang"
        daemons.start()
        engine = open_engine(client.home, consent="yes")
        engine.submit(Draft(command=("true",), channels=("hook",)))
        receiver.waits_for(1)
        for _ in range(3):
            task = engine.submit(Draft(command=("true",), channels=("hook", "other")))
            assert finished(engine, task.id).state == "completed"
        eventually(lambda: len(told(other)) == 3)
        engine.close()


def test_the_sender_ends_with_the_daemon(
    daemons: Daemons, client: Engine, home: Home, receiver: Receiver
) -> None:
    pid = daemons.start()
    client.submit(Draft(command=("true",), channels=("hook",)))
    receiver.waits_for(1)
    assert senders(home)
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    eventually(lambda: not senders(home))


def test_a_daemon_stays_small_whatever_channels_need(
    daemons: Daemons, client: Engine, home: Home, receiver: Receiver
) -> None:
    pid = daemons.start()
    finished(client, client.submit(Draft(command=("true",))).id)
    assert senders(home) == [], "nothing is started for the inbox alone"
    client.submit(Draft(command=("true",), channels=("hook",)))
    receiver.waits_for(1)
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    [pss] = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    assert pss < 25 * 1024


async def test_what_an_embedding_program_leaves_unsent_is_sent_by_the_daemon(
    daemons: Daemons, client: Engine, home: Home, receiver: Receiver
) -> None:
    async with connect(home.path, yes=True) as engine:
        receiver.moods = [500]
        task = await engine.submit("true", channels=("hook",))
        await engine.wait(task.id)
    await asyncio.to_thread(receiver.waits_for, 1)


async def test_what_is_new_does_not_wait_for_the_next_try_of_something_else(outbox: Outbox) -> None:
    started = asyncio.Event()

    def start(line: socket.socket) -> int:
        started.set()
        raise OSError("this is only a rehearsal")

    outbox.add("mail")
    [notice] = outbox.store.queued(Address(channel="mail", target="me"), limit=1)
    with outbox.store:
        outbox.store.defer([notice.id], error="down", next_at=outbox.clock.now() + timedelta(minutes=5))
    sending = sender(outbox, start)
    sending._look()
    outbox.add("hook")
    sending.ring()
    async with asyncio.timeout(60):
        await started.wait()
    sending.close()


async def test_a_clock_that_was_put_back_does_not_keep_the_sender_from_starting(outbox: Outbox) -> None:
    started: list[int] = []

    def start(line: socket.socket) -> int:
        started.append(1)
        raise OSError("this is only a rehearsal")

    outbox.add("mail")
    [notice] = outbox.store.queued(Address(channel="mail", target="me"), limit=1)
    with outbox.store:
        outbox.store.defer([notice.id], error="down", next_at=outbox.clock.now() + timedelta(minutes=5))
    sending = sender(outbox, start)
    sending._look()
    assert started == []
    outbox.clock.turn(-timedelta(days=1))
    sending._look()
    assert started == [1]
    sending.close()
