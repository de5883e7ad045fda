"""Full, broken, read-only and missing disks: acknowledged tasks are kept, all others are refused."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import errands
from errands import config
from errands.bootstrap import open_engine, start_daemon
from errands.engine.bell_client import BellClient
from errands.engine.engine import Engine
from errands.engine.waiting import wait
from errands.model.errors import DaemonError, ErrandsError, HomeError, StoreError, StoreUnwritable
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.runners.system import linux
from errands.testing.engines import WITHIN, TestEngine
from tests.engine.daemons import Daemons, eventually, finished

WAITING = "echo ready; read line; echo more; exit 7"
TWO = [Draft(command="true", name="one"), Draft(command="true", name="two")]


@pytest.fixture
def disk(own_home: Path) -> Iterator[Path]:
    """Put the home on a separate disk of 2 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    own_home.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "errands-test", own_home], check=True)
    yield own_home
    subprocess.run(["umount", "--lazy", own_home], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk completely."""
    with open(disk / "filling", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return disk / "filling"


def submit_until_refused(client: Engine) -> tuple[list[str], str]:
    """Submit until the store is full; return the acknowledged tasks and the error."""
    ids: list[str] = []
    for _ in range(2000):
        try:
            ids.append(client.submit(Draft(command="true", lane="local")).id)
        except StoreError as error:
            return ids, str(error)
    raise AssertionError("the store never noticed that the disk is full")


@pytest.mark.fault("F15")
@pytest.mark.trap(36)
def test_on_a_full_disk_launches_are_refused_and_running_tasks_continue(
    disk: Path, home: Home, daemons: Daemons, client: Engine
) -> None:
    daemons.start()
    running = client.submit(Draft(command=WAITING, input="pipe"))
    eventually(lambda: b"ready" in client.output(running.id).content)
    filling = fill(disk)
    acknowledged, refusal = submit_until_refused(client)

    assert f"the disk of {home.store} is full; nothing was changed" in refusal
    assert {view.id for view in client.list(Query())} == {running.id, *acknowledged}
    client.send(running.id, b"\n")
    process = client.get(running.id).latest.pid
    eventually(lambda: process is None or not linux.is_alive(process))
    assert wait(client, [running.id], timeout=0.3) == [running.id]  # its end cannot be written yet
    filling.unlink()

    ended = finished(client, running.id)
    assert ended.latest.exit_code == 7
    assert {finished(client, each).state for each in acknowledged} <= {"completed"}
    assert finished(client, client.submit(Draft(command="true")).id).state == "completed"
    assert sqlite3.connect(home.store).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.fault("F15")
def test_a_daemon_killed_on_a_full_disk_loses_nothing(disk: Path, daemons: Daemons, client: Engine) -> None:
    daemons.start()
    running = client.submit(Draft(command=WAITING, input="pipe"))
    eventually(lambda: b"ready" in client.output(running.id).content)
    filling = fill(disk)
    daemons.kill()
    client.send(running.id, b"\n")
    filling.unlink()
    daemons.start()

    assert finished(client, running.id).latest.exit_code == 7


@pytest.mark.fault("F20")
def test_a_read_only_home_is_refused_with_its_path_and_running_tasks_are_left_alone(
    disk: Path, home: Home, daemons: Daemons, client: Engine
) -> None:
    daemons.start()
    running = client.submit(Draft(command=WAITING, input="pipe"))
    eventually(lambda: b"ready" in client.output(running.id).content and client.get(running.id).latest.pid)
    daemons.kill()
    subprocess.run(["mount", "--bind", disk, disk], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", disk], check=True)
    with pytest.raises((DaemonError, StoreUnwritable, OSError), match=r"[Rr]ead-only") as caught:
        start_daemon(home)
    assert home.path in str(caught.value)
    with pytest.raises(StoreUnwritable, match=home.path):
        open_engine(home, consent="yes")

    process = client.get(running.id).latest.pid
    assert process is not None
    assert linux.is_alive(process)
    subprocess.run(["umount", disk], check=True)
    daemons.start()
    client.send(running.id, b"\n")
    assert finished(client, running.id).latest.exit_code == 7


def in_a_child(act: Callable[[], str]) -> str:
    """Call a function in a child process, and return what it returns."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(theirs, act().encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    with open(ours, "rb") as file:
        said = file.read().decode()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return said


@pytest.mark.fault("F16")
def test_a_launch_is_stored_completely_or_not_at_all_whichever_write_fails(home: Home) -> None:
    open_engine(home, consent="yes").close()

    def launch_with_room_for(size: int) -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            return " ".join(view.id for view in open_engine(home, consent="yes").submit_all(TWO))
        except StoreError as error:
            return f"refused: {error}"

    refused = 0
    expected: set[str] = set()
    for size in range(0, 160_000, 4_000):
        said = in_a_child(lambda size=size: launch_with_room_for(size))  # type: ignore[misc]
        if said.startswith("refused: "):
            refused += 1
            assert home.store in said
        else:
            expected |= set(said.split())
        engine = open_engine(home, consent="yes")
        assert {view.id for view in engine.list(Query())} == expected
        engine.close()
    assert refused > 3
    assert expected
    assert sqlite3.connect(home.store).execute("PRAGMA integrity_check").fetchone() == ("ok",)


# The system call numbers of fsync and fdatasync.
SYNCS = {"x86_64": (74, 75), "aarch64": (82, 83)}


def break_syncs() -> None:
    """Make every fsync of this process fail with EIO, as on a broken disk, by a seccomp filter."""
    load, equal, give, allow = 0x20, 0x15, 0x06, 0x7FFF0000
    fail = 0x00050000 | 5
    numbers = SYNCS[platform.machine()]
    steps = [
        (load, 0, 0, 0),
        (equal, 1, 0, numbers[0]),
        (equal, 0, 1, numbers[1]),
        (give, 0, 0, fail),
        (give, 0, 0, allow),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "no_new_privs"
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.fault("F17")
@pytest.mark.skipif(platform.machine() not in SYNCS, reason="the filter knows two kinds of machines")
def test_no_launch_is_acknowledged_after_a_failed_sync(home: Home) -> None:
    def launch() -> str:
        engine = open_engine(home, config.load(overrides={"store.durability": "full"}), consent="yes")
        first = engine.submit(Draft(command="true"))
        break_syncs()
        try:
            engine.submit(Draft(command="true"))
        except StoreUnwritable as error:
            return f"{first.id} {error}"
        return "acknowledged"

    said = in_a_child(launch)
    first, _, refusal = said.partition(" ")
    assert f"reading or writing {home.store} failed" in refusal
    engine = open_engine(home, consent="yes")
    # A refused launch may have reached the disk completely: its caller only knows that it failed.
    assert first in [view.id for view in engine.list(Query())]
    engine.close()


@pytest.mark.fault("F21")
def test_a_daemon_whose_home_is_deleted_says_so_and_starts_nothing_more(
    home: Home, daemons: Daemons, client: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_DAEMON_TICK", "50ms")
    daemon = subprocess.Popen(
        [sys.executable, "-m", "errands", "daemon", "run"], stderr=subprocess.PIPE, text=True
    )
    eventually(client.bell.is_answered)
    finished(client, client.submit(Draft(command="true")).id)
    shutil.rmtree(home.path)
    client.submit(Draft(command=f"touch {tmp_path}/started"))
    _, words = daemon.communicate(timeout=WITHIN)

    assert daemon.returncode == 1
    assert f"{home.store} was removed or replaced while it was in use; nothing more is started" in words
    assert "Traceback" not in words
    assert not (tmp_path / "started").exists()
    assert not os.path.exists(home.path)


@pytest.mark.fault("F21", "F37")
def test_a_daemon_that_leaves_a_deleted_home_keeps_the_bell_of_its_successor(
    home: Home, daemons: Daemons
) -> None:
    first = subprocess.Popen([sys.executable, "-m", "errands", "daemon", "run"], stderr=subprocess.DEVNULL)
    with closing(BellClient(home.bell)) as bell:
        eventually(bell.is_answered)
    shutil.rmtree(home.path)
    daemons.start()
    first.terminate()
    first.wait(WITHIN)

    with closing(BellClient(home.bell)) as bell:
        assert bell.is_answered()


@pytest.mark.fault("F21")
@pytest.mark.spec("X11")
async def test_an_embedding_program_gets_an_error_when_its_home_is_deleted(home: Home) -> None:
    overrides: dict[str, Any] = {"daemon.tick": "20ms"}
    async with errands.connect(home.path, **overrides) as engine:
        task = await engine.submit("true")
        await engine.wait(task.id)
        shutil.rmtree(home.path)
        lost = await engine.submit("true")
        with pytest.raises(HomeError, match="was removed or replaced while it was in use"):
            await engine.wait(lost.id, timeout=WITHIN)
    assert not os.path.exists(home.path)


@pytest.mark.fault("F21")
async def test_a_task_that_deletes_its_run_directory_ends_and_harms_no_other(engine: TestEngine) -> None:
    task = await engine.finished('rm -rf "$ERRANDS_RUN_DIR"; echo gone; exit 7')

    assert (task.state, task.latest.exit_code) == ("failed", 7)
    assert (await engine.finished("true")).state == "completed"


@pytest.mark.fault("F20")
def test_a_home_that_cannot_be_created_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    place = Home(path=str(tmp_path / "file" / "home"))
    with pytest.raises(ErrandsError, match=place.path):
        open_engine(place)


async def test_a_stopped_writer_is_reported_after_a_while_and_only_delays_others(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.stores.sqlite.connection.PATIENCE", 0.1)
    async with errands.connect(home.path) as engine:
        await engine.wait((await engine.submit("true")).id)
        other = sqlite3.connect(home.store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="was locked by another process"):
            await engine.submit("true")
        other.execute("ROLLBACK")
        other.close()
        task = await engine.submit("true")
        assert (await engine.wait(task.id)).state == "completed"
