"""The daemon lock: one process per home runs the loops, and every other process is its client."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import errands
from errands.bootstrap import open_engine, start_daemon
from errands.engine import waiting
from errands.engine.daemon.lock import DaemonLock, daemon_facts, is_daemon_running
from errands.engine.engine import Engine
from errands.model.errors import StoreUnreadable
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import embedded, until
from tests.engine.daemons import Daemons, end, eventually, finished, lines

WAITING = "echo ready; read line; exit 5"
EXAMPLE = Path(__file__).parents[3] / "examples" / "python_api.py"

# Another program that embeds the engine: it prints its task, and runs until its input ends.
PROGRAM = """
import asyncio, sys, errands
async def main():
    async with errands.connect(yes=True) as engine:
        task = await engine.submit("echo from the program")
        task = await engine.wait(task.id)
        print(task.id, task.state, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""
# Another process that only uses verbs.
OTHER = """
import sys
from errands.bootstrap import open_engine
from errands.engine.waiting import wait
from errands.model.options.draft import Draft
from errands.ports.store import Query
engine = open_engine()
print(*sorted(view.id for view in engine.list(Query())))
engine.cancel([sys.argv[1]])
wait(engine, [sys.argv[1]], timeout=60)
print(engine.get(sys.argv[1]).state)
print(engine.submit(Draft(command="true")).id)
"""


@pytest.mark.spec("X11")
async def test_a_program_that_embeds_the_engine_needs_no_daemon(home: Home) -> None:
    async with errands.connect(home.path, yes=True) as engine:
        task = await engine.submit("echo hello; exit 3")
        ended = await engine.wait(task.id)
        facts = daemon_facts(home)

    assert (ended.state, ended.latest.exit_code) == ("failed", 3)
    assert facts is not None
    assert (facts["role"], facts["pid"]) == ("embedded", os.getpid())
    assert not os.path.exists(home.log)
    assert not is_daemon_running(home)


@pytest.mark.spec("X11")
async def test_a_second_embedding_program_is_a_client_of_the_first(home: Home, daemons: Daemons) -> None:
    async with embedded(home.path) as engine:
        second = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert second.stdout is not None
        task_id, state = (await second.stdout.readline()).decode().split()

        assert state == "completed"
        assert await engine.text(task_id) == "from the program\n"
        assert daemons.pid == os.getpid()
        await second.communicate(b"\n")
        assert daemons.pid == os.getpid()
    assert not os.path.exists(home.log)


@pytest.mark.spec("X11")
async def test_a_program_that_exits_hands_its_live_tasks_to_the_daemon(
    home: Home, daemons: Daemons, client: Engine
) -> None:
    async with errands.connect(home.path, yes=True) as engine:
        task = await engine.submit(WAITING, input="pipe")
        await until(lambda: b"ready" in client.output(task.id).content)
        waiting_task = await engine.submit("true", after=[task.id])
        pid = client.get(task.id).latest.pid

    facts = daemon_facts(home)
    assert facts is not None
    assert facts["role"] == "daemon"
    client.send(task.id, b"\n")
    ended = finished(client, task.id)
    assert ended.latest.exit_code == 5
    assert pid is None or ended.latest.pid == pid
    assert finished(client, waiting_task.id).state == "skipped"


@pytest.mark.spec("X11")
@pytest.mark.parametrize("is_recurring", [False, True])
async def test_a_program_that_exits_hands_what_is_still_to_come_to_the_daemon(
    home: Home, daemons: Daemons, client: Engine, is_recurring: bool
) -> None:
    hour = timedelta(hours=1)
    async with errands.connect(home.path, yes=True) as engine:
        if is_recurring:
            task = await engine.submit("echo hello", every=hour)
        else:
            task = await engine.submit("echo hello", at=datetime.now(UTC) + hour)

    facts = daemon_facts(home)
    assert facts is not None
    assert facts["role"] == "daemon"
    client.schedules.fire(task.id)
    eventually(lambda: [run.state for run in client.history(task.id)] == ["completed"])


@pytest.mark.spec("X11")
async def test_closing_the_engine_is_quick_and_never_hangs(home: Home) -> None:
    async with asyncio.timeout(60):
        for _ in range(30):
            async with errands.connect(home.path, yes=True) as engine:
                task = await engine.submit("true")
                await engine.wait(task.id)
    assert not is_daemon_running(home)


@pytest.mark.spec("X11", "L20")
async def test_a_client_starts_a_daemon_when_the_embedded_one_dies(home: Home, daemons: Daemons) -> None:
    first = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()
    async with errands.connect(home.path, yes=True) as engine:
        task = await engine.submit(WAITING, input="pipe")
        await until(lambda: b"ready" in engine.engine.output(task.id).content)
        first.kill()
        first.communicate()
        waiter = asyncio.create_task(engine.wait(task.id))
        await until(lambda: is_daemon_running(home))
        await engine.send(task.id, b"\n")
        ended = await waiter

    assert ended.latest.exit_code == 5
    facts = daemon_facts(home)
    assert facts is not None
    assert facts["role"] == "daemon"


@pytest.mark.spec("X11")
async def test_a_program_that_does_not_embed_the_daemon_starts_one(home: Home, daemons: Daemons) -> None:
    async with errands.connect(home.path, embedded=False, yes=True) as engine:
        task = await engine.submit("true")
        assert (await engine.wait(task.id)).state == "completed"
    facts = daemon_facts(home)
    assert facts is not None
    assert facts["role"] == "daemon"


@pytest.mark.spec("X11")
async def test_a_program_that_cannot_open_the_engine_releases_the_lock(home: Home) -> None:
    async with embedded(home.path) as engine:
        await engine.finished("true")
    Path(home.store).write_bytes(b"no database at all" * 100)
    for suffix in ("-wal", "-shm"):
        Path(home.store + suffix).unlink(missing_ok=True)
    with pytest.raises(StoreUnreadable, match="doctor --repair"):
        async with errands.connect(home.path, yes=True):
            pass
    assert not is_daemon_running(home)


@pytest.mark.spec("X11")
def test_the_documented_example_runs_and_leaves_nothing_behind(home: Home) -> None:
    shown = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=60)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "build  completed" in shown.stdout
    assert "lint   failed     exit code 3" in shown.stdout
    assert shown.stdout.count("notice ") == 3


@pytest.mark.spec("L21")
def test_a_task_is_listed_cancelled_and_awaited_from_another_process(
    daemons: Daemons, client: Engine
) -> None:
    daemons.start()
    task = client.submit(Draft(command="echo ready; sleep 1000"))
    eventually(lambda: client.get(task.id).state == "running")
    other = subprocess.run([sys.executable, "-c", OTHER, task.id], capture_output=True, text=True, timeout=60)
    listed, state, submitted = other.stdout.splitlines()

    assert (listed, state) == (task.id, "cancelled")
    assert finished(client, submitted).state == "completed"


@pytest.mark.fault("F37")
@pytest.mark.trap(32)
def test_of_several_daemons_started_at_once_exactly_one_remains(
    home: Home, daemons: Daemons, tmp_path: Path
) -> None:
    os.makedirs(home.path, mode=0o700)
    for number in range(4):
        winner = race(4)
        assert daemons.pid == winner.pid
        client = open_engine(home, consent="yes")
        task = client.submit(Draft(command=f"echo {number} >> {tmp_path}/witness"))
        assert finished(client, task.id).state == "completed"
        client.close()
        winner.kill()
        winner.wait()
    assert lines(tmp_path / "witness") == ["0", "1", "2", "3"]


def race(count: int) -> subprocess.Popen[bytes]:
    """Start daemons at once, and return the one that is left after the others exited with success."""
    command = [sys.executable, "-m", "errands", "daemon", "run"]
    racers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(count)]
    eventually(lambda: sum(racer.poll() is not None for racer in racers) == count - 1)
    assert sorted(str(racer.returncode) for racer in racers) == ["0"] * (count - 1) + ["None"]
    return next(racer for racer in racers if racer.returncode is None)


@pytest.mark.fault("F37")
@pytest.mark.trap(32)
def test_the_lock_is_held_by_one_process_and_free_as_soon_as_it_dies(home: Home) -> None:
    os.makedirs(home.path, mode=0o700)
    for _ in range(25):
        children = [locking_child(home) for _ in range(4)]
        winners = [pid for pid, answer in children if os.read(answer, 1) == b"y"]
        assert len(winners) == 1
        facts = daemon_facts(home)
        assert facts is not None
        assert facts["pid"] == winners[0]
        for pid, answer in children:
            end(pid)
            os.close(answer)
        assert not is_daemon_running(home)


def locking_child(home: Home) -> tuple[int, int]:
    """Fork a child that tries to take the lock and stays; it answers through a pipe."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            won = DaemonLock(home).take("daemon", {})
            os.write(theirs, b"y" if won else b"n")
            signal.pause()
        finally:
            os._exit(1)
    os.close(theirs)
    return pid, ours


@pytest.mark.trap(32)
def test_a_second_daemon_leaves_the_first_alone(home: Home, daemons: Daemons) -> None:
    first = daemons.start()
    second = subprocess.run(
        [sys.executable, "-m", "errands", "daemon", "run"], capture_output=True, text=True, timeout=60
    )

    assert second.returncode == 0
    assert "another daemon runs in" in second.stderr
    assert daemons.pid == first
    start_daemon(home)
    assert daemons.pid == first


@pytest.mark.trap(32)
def test_the_home_of_a_dead_daemon_is_taken_over(home: Home, daemons: Daemons, client: Engine) -> None:
    first = daemons.start()
    daemons.kill()
    assert os.path.exists(home.bell)
    assert daemon_facts(home) is None
    client.start_daemon = lambda: start_daemon(home)
    client.ensure_daemon()

    assert daemons.pid != first
    assert finished(client, client.submit(Draft(command="true")).id).state == "completed"


@pytest.mark.fault("F26")
@pytest.mark.trap(38)
def test_a_suspended_daemon_blocks_no_client_and_loses_nothing(
    home: Home, daemons: Daemons, client: Engine, tmp_path: Path
) -> None:
    pid = daemons.start()
    running = client.submit(Draft(command=WAITING, input="pipe"))
    eventually(lambda: b"ready" in client.output(running.id).content)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    client.start_daemon = lambda: start_daemon(home)
    client.ensure_daemon()
    queued = client.submit(Draft(command=f"echo start >> {tmp_path}/witness"))
    withdrawn = client.submit(Draft(command=f"echo never >> {tmp_path}/witness"))
    client.cancel([withdrawn.id])
    client.send(running.id, b"\n")
    live = waiting.wait(client, [running.id, queued.id, withdrawn.id], timeout=0.3)

    assert live == [running.id, queued.id]
    assert len(client.list(Query())) == 3
    assert time.monotonic() - began < 20
    os.kill(pid, signal.SIGCONT)
    assert finished(client, running.id).latest.exit_code == 5
    assert finished(client, queued.id).state == "completed"
    assert lines(tmp_path / "witness") == ["start"]


@pytest.mark.spec("L20")
@pytest.mark.fault("F38")
def test_a_daemon_exits_at_once_on_sigterm_and_its_tasks_continue(
    home: Home, daemons: Daemons, client: Engine
) -> None:
    pid = daemons.start()
    task = client.submit(Draft(command=WAITING, input="pipe"))
    eventually(lambda: b"ready" in client.output(task.id).content)
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not is_daemon_running(home)
    assert not os.path.exists(home.bell)

    daemons.start()
    client.send(task.id, b"\n")
    assert finished(client, task.id).latest.exit_code == 5
