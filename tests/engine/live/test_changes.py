"""Every change is heard by a watcher in another process, by name and at once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.bell_client import MOST_NAMES, BellClient
from errands.engine.daemon import loops
from errands.engine.daemon.bell_server import BellServer
from errands.engine.engine import Engine
from errands.engine.live import hub
from errands.engine.live.hub import Change, Changes
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, embedded, until
from tests.engine.daemons import Daemons, finished


@asynccontextmanager
async def listening(home: Home) -> AsyncIterator[Changes]:
    """Listen with an engine of its own, which shares nothing with the one that makes the changes."""
    engine = open_engine(home)
    try:
        async with engine.changes() as changes:
            yield changes
    finally:
        engine.close()


@asynccontextmanager
async def live(home: Home) -> AsyncIterator[Changes]:
    """Listen, and wait until a daemon reports changes."""
    async with listening(home) as changes:
        await heard(changes, lambda change: change.is_everything and changes.not_live_since is None)
        yield changes


async def heard(changes: Changes, is_it: Callable[[Change], bool]) -> Change:
    async with asyncio.timeout(WITHIN):
        async for change in changes:
            if is_it(change):
                return change
    raise AssertionError("changes never end by themselves")


async def named(changes: Changes, task_id: str) -> None:
    """Wait for a change that names a task: a ring, for a poll only says that something changed."""
    await heard(changes, lambda change: task_id in change.tasks)


@pytest.fixture
def full(client: Engine, daemons: Daemons) -> Engine:
    """The engine of a client whose tasks cannot start, so that the daemon itself changes nothing."""
    daemons.start()
    client.queue.set_lane("shell", 0, by="ada")
    return client


@pytest.mark.spec("X9")
async def test_a_submit_into_a_full_lane_and_all_verbs_of_the_queue_are_heard(
    full: Engine, home: Home
) -> None:
    async with live(home) as changes:
        first, second = (full.submit(Draft(command=("true",))) for _ in range(2))
        await heard(changes, lambda change: second.id in change.tasks)
        for act in (
            lambda: full.queue.hold(first.id),
            lambda: full.queue.release(first.id),
            lambda: full.queue.move(first.id, last=True),
            lambda: full.queue.edit(first.id, command=("true", "again")),
            lambda: full.cancel([first.id]),
            lambda: full.restart(first.id),
            lambda: full.cancel([first.id]),
            lambda: full.clear([first.id]),
        ):
            act()
            await named(changes, first.id)


@pytest.mark.spec("X9")
async def test_a_proposal_and_its_answer_are_heard(
    full: Engine, asking: Engine, harm: Draft, home: Home
) -> None:
    async with live(home) as changes:
        proposed, other = asking.submit(harm), asking.submit(harm)
        assert proposed.state == "proposed"
        await heard(changes, lambda change: other.id in change.tasks)
        asking.approve(proposed.id, by="ada", door="terminal")
        await named(changes, proposed.id)
        asking.reject(other.id, by="ada", door="terminal")
        await named(changes, other.id)


@pytest.mark.spec("X9")
async def test_a_recurring_submit_and_its_pause_unpause_and_fire_are_heard(full: Engine, home: Home) -> None:
    async with live(home) as changes:
        task = full.submit(Draft(command=("true",), every=timedelta(hours=1)))
        await named(changes, task.id)
        for act in (full.queue.pause, full.queue.unpause, full.schedules.fire):
            act(task.id)
            await named(changes, task.id)


@pytest.mark.spec("X9")
async def test_the_width_of_a_lane_is_heard(full: Engine, home: Home) -> None:
    async with live(home) as changes:
        full.queue.set_lane("agent", 3, by="ada")
        await heard(changes, lambda change: change.lanes == {"agent"})


@pytest.mark.spec("X9")
async def test_a_stop_that_is_asked_for_is_heard_before_the_end(
    client: Engine, daemons: Daemons, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    os.mkfifo(tmp_path / "end")
    async with live(home) as changes:
        task = client.submit(
            Draft(command=f"trap '' TERM; echo ready; read x < {tmp_path}/end", grace=timedelta(hours=1))
        )
        await heard(changes, lambda change: task.id in change.grown and b"ready" in _output(client, task.id))
        client.cancel([task.id])
        await named(changes, task.id)
        assert client.view(task.id).is_cancelling
        (tmp_path / "end").write_text("\n")
        finished(client, task.id)


@pytest.mark.spec("O9", "O10")
async def test_output_and_progress_of_a_running_task_are_heard(
    client: Engine, daemons: Daemons, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    os.mkfifo(tmp_path / "gate")
    lines = 'while read line; do case $line in n*) echo "$line";; *) echo "$line" > "$P";; esac; done'
    async with live(home) as changes:
        task = client.submit(Draft(command=f'P="$ERRANDS_PROGRESS"; {lines} < {tmp_path}/gate'))
        await named(changes, task.id)
        with open(tmp_path / "gate", "w", buffering=1) as gate:
            gate.write("news\n")
            await heard(changes, lambda change: task.id in change.grown and bool(_output(client, task.id)))
            for percent in (40, 41, 42):  # the first may be read when the output is heard of once more
                gate.write(f"{percent}%\n")
                await heard(changes, partial(_has_come, client, task.id, percent))
        finished(client, task.id)


async def test_more_tasks_than_are_worth_naming_are_everything(full: Engine, home: Home) -> None:
    async with live(home) as changes:
        draft = Draft(command=("true",))
        full.submit_all([draft] * (MOST_NAMES + 1))
        change = await heard(changes, lambda change: change.is_everything)
        assert not change.tasks


@pytest.mark.spec("X9")
async def test_changes_that_are_reported_do_not_become_everything(
    full: Engine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LOOK", 0.01)
    monkeypatch.setattr(hub, "GRACE", WITHIN)  # however slow the machine is, the report comes first
    monkeypatch.setattr(hub, "RESYNC", 10 * WITHIN)
    async with live(home) as changes:
        for _ in range(50):
            full.submit(Draft(command=("true",)))
            change = await heard(changes, lambda change: bool(change.tasks) or change.is_everything)
            assert not change.is_everything


@pytest.mark.spec("X9")
async def test_a_change_that_is_seen_before_its_report_does_not_become_everything(
    full: Engine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LOOK", 0.01)
    monkeypatch.setattr(hub, "GRACE", WITHIN)
    monkeypatch.setattr(hub, "RESYNC", 10 * WITHIN)
    async with live(home) as changes:
        full.save_template("tidy", Draft(command=("true",)))
        await until(lambda: changes._hub._is_doubted or changes._has_news.is_set())
        full.bell.announce(["late-222222"])
        change = await heard(changes, lambda change: bool(change.tasks) or change.is_everything)
        assert not change.is_everything


@pytest.mark.spec("X9")
async def test_a_change_that_nobody_reports_becomes_everything(
    full: Engine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LOOK", 0.01)
    monkeypatch.setattr(hub, "GRACE", 0.01)
    async with live(home) as changes:
        full.save_template("tidy", Draft(command=("true",)))
        change = await heard(changes, lambda change: change.is_everything)
        assert not change.tasks


@pytest.mark.spec("X9")
async def test_a_change_that_hides_behind_a_report_is_read_a_while_later(
    full: Engine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "LOOK", WITHIN)
    monkeypatch.setattr(hub, "RESYNC", 0.01)
    async with live(home) as changes:
        task = full.submit(Draft(command=("true",)))
        await named(changes, task.id)
        await heard(changes, lambda change: change.is_everything)


@pytest.mark.spec("X9")
async def test_a_watcher_that_reads_too_slowly_is_asked_to_read_everything(home: Home) -> None:
    os.makedirs(home.path, exist_ok=True)
    server = BellServer(home.bell, lambda _: None, lambda _: None)
    server.open()
    slow = BellClient(home.bell)
    try:
        slow.watch(["first", "later"])
        await until(lambda: slow.read() == ["watching"])
        for _ in range(100_000):
            server.notify(["first"], ended=())
        lines: list[str] = []
        await until(lambda: _grown(lines, slow)[-1:] == ["changed *"])
        assert 1 < len(lines) < 100_000
        assert set(lines[:-1]) == {"changed first"}
        server.notify(["later"], ended=())
        await until(lambda: slow.read() == ["changed later"])
    finally:
        slow.close()
        server.close()


@pytest.mark.spec("X9")
async def test_a_burst_of_changes_is_reported_in_few_lines_that_name_them_all(home: Home) -> None:
    os.makedirs(home.path, exist_ok=True)
    server = BellServer(home.bell, lambda _: None, lambda _: None)
    server.open()
    watcher, waiter = BellClient(home.bell), BellClient(home.bell)
    try:
        watcher.watch()
        waiter.wait_for("500")
        await until(lambda: watcher.read() == ["watching"])
        await until(lambda: waiter.read() == ["watching"])
        names = [str(number) for number in range(1000)]
        for name in names:
            server.notify([name], ended=[name])
        assert watcher.read() == ["changed 0"]  # the first one is not kept back
        assert waiter.read() == ["changed 500"]  # nor is what a client waits for
        lines: list[str] = []
        await until(lambda: bool(_grown(lines, watcher)))
        assert [sorted(line.split()[1:]) for line in lines] == [sorted(names[1:])]
    finally:
        watcher.close()
        waiter.close()
        server.close()


@pytest.mark.spec("X9")
def test_names_that_a_busy_daemon_could_not_be_given_are_everything(home: Home) -> None:
    os.makedirs(home.path, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(home.bell)
        busy.listen()
        client = BellClient(home.bell)
        for _ in range(1000):
            client.announce(["x" * 1000])
        line, _ = busy.accept()
        with line:
            line.setblocking(False)
            while _received(line):
                pass
            client.announce(["last"])
            assert _received(line).endswith(b"announce *\nannounce last\n")
        client.close()


async def test_what_a_run_writes_at_its_start_is_reported_without_a_name(
    client: Engine, daemons: Daemons, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    os.mkfifo(tmp_path / "end")
    watcher = BellClient(home.bell)
    watcher.watch()
    task = client.submit(Draft(command=f"read x < {tmp_path}/end"))
    lines: list[str] = []
    await until(lambda: "changed" in _grown(lines, watcher))
    assert client.view(task.id).latest.pid
    (tmp_path / "end").write_text("\n")
    finished(client, task.id)
    watcher.close()


@pytest.mark.spec("X9")
async def test_without_a_daemon_the_store_is_asked_and_a_daemon_that_comes_back_is_found(
    client: Engine, daemons: Daemons, home: Home
) -> None:
    daemons.start()
    task = client.submit(Draft(command=("true",)))
    finished(client, task.id)
    async with live(home) as changes:
        daemons.kill()
        await heard(changes, lambda change: change.is_everything and changes.not_live_since is not None)
        client.clear([task.id])
        change = await heard(changes, lambda change: change.is_everything)
        assert not change.tasks
        daemons.start()
        await heard(changes, lambda change: change.is_everything and changes.not_live_since is None)


@pytest.mark.spec("X9")
async def test_a_daemon_that_hangs_is_not_live(
    client: Engine, daemons: Daemons, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "QUIET", 0.2)
    monkeypatch.setattr(hub, "DEAD", 1.0)
    pid = daemons.start()
    async with live(home) as changes:
        os.kill(pid, signal.SIGSTOP)
        try:
            await heard(changes, lambda _: changes.not_live_since is not None)
        finally:
            os.kill(pid, signal.SIGCONT)
        await heard(changes, lambda _: changes.not_live_since is None)


async def test_all_listeners_of_a_process_share_one_line(
    client: Engine, daemons: Daemons, home: Home
) -> None:
    daemons.start()
    before = _sockets()
    watcher = open_engine(home)
    try:
        async with watcher.changes() as first, watcher.changes() as second:
            for each in (first, second):
                await heard(each, lambda change: change.is_everything)
            await until(lambda: first.not_live_since is None)
            assert _sockets() == before + 1
            task = client.submit(Draft(command=("true",)))
            for each in (first, second):
                await named(each, task.id)
            client.bell.close()
        assert _sockets() == before
    finally:
        watcher.close()


@pytest.mark.spec("X9")
async def test_what_retention_removes_is_heard(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "SWEEP", 0.05)
    async with embedded(home.path, **{"retention.keep": "1ms"}) as engine, engine.changes() as changes:
        task = await engine.submit("true")  # not waited for: it may be gone by then
        await heard(changes, lambda change: task.id in change.tasks and not _is_there(engine.engine, task.id))


def _grown(lines: list[str], bell: BellClient) -> list[str]:
    lines += bell.read() or ()
    return lines


def _received(line: socket.socket) -> bytes:
    try:
        return line.recv(1 << 20)
    except BlockingIOError:
        return b""


def _sockets() -> int:
    """Count the open sockets of this process."""
    links = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    return sum(os.path.islink(each) and os.readlink(each).startswith("socket:") for each in links)


def _is_there(engine: Engine, task_id: str) -> bool:
    return bool(engine.list(Query(ids=(task_id,))))


def _output(client: Engine, task_id: str) -> bytes:
    return client.output(task_id).content


def _has_come(client: Engine, task_id: str, percent: int, change: Change) -> bool:
    progress = client.get(task_id).progress
    return task_id in change.grown and progress is not None and progress.percent == percent
