"""Stopping a run reliably ends its whole process tree and reports what that took."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.runners.system import linux
from tests.runners.stage import Stage, until


@pytest.mark.spec("L9")
async def test_a_cancelled_command_gets_sigterm(stage: Stage) -> None:
    run = stage.start("trap 'echo cleaning up; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
    await stage.printed(run, b"ready")

    stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)

    assert (ending.stop, ending.code) == ("cancel", 3)
    assert b"cleaning up" in stage.output(run)


CLEANING = "trap 'echo {0} cleans up; exit' TERM; echo {0} is ready; while :; do sleep 0.01; done"


@pytest.mark.spec("L9")
async def test_every_process_of_a_cancelled_tree_gets_sigterm(stage: Stage) -> None:
    child, session = CLEANING.format("child"), CLEANING.format("session")
    run = stage.start(f'sh -c "{child}" & setsid sh -c "{session}" & trap "" TERM; wait')
    await stage.printed(run, b"child is ready")
    await stage.printed(run, b"session is ready")

    stage.pool.stop(run, grace=5)
    ending = await stage.ended(run)

    assert ending.stop == "cancel"
    assert b"child cleans up" in stage.output(run)
    assert b"session cleans up" in stage.output(run)


@pytest.mark.spec("L9")
@pytest.mark.fault("F27")
async def test_a_command_that_ignores_sigterm_is_killed_after_the_grace_period(stage: Stage) -> None:
    run = stage.start("trap '' TERM; echo ready; while :; do sleep 0.01; done")
    await stage.printed(run, b"ready")

    stage.pool.stop(run, grace=0.2)
    ending = await stage.ended(run)

    assert (ending.stop, ending.signal) == ("cancel", signal.SIGKILL)
    assert stage.living(run) == []


NASTY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def note(name):
    open(os.environ['PIDS'] + '/' + name + '.new', 'w').write(str(os.getpid()))
    os.rename(os.environ['PIDS'] + '/' + name + '.new', os.environ['PIDS'] + '/' + name)
def linger(name):
    note(name)
    while True: time.sleep(1000)
if os.fork() == 0: linger('child')
if os.fork() == 0:
    os.setsid(); linger('session')
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: linger('daemon')
    os._exit(0)
if os.fork() == 0:
    os.setpgid(0, 0); linger('group')
if os.fork() == 0:
    note('bare'); os.execve('/bin/sleep', ['sleep', '1000'], {})
if os.fork() == 0:
    os.setsid(); note('bare-session'); os.execve('/bin/sleep', ['sleep', '1000'], {})
linger('leader')
"""


async def nasty(stage: Stage) -> tuple[str, list[int]]:
    pids = stage.folder / "pids"
    pids.mkdir()
    launch = stage.launch("true")
    env = {**launch.env, "PIDS": str(pids)}
    run = stage.start(("/usr/bin/env", "python3", "-c", NASTY), env=env)
    names = {"leader", "child", "session", "daemon", "group", "bare", "bare-session"}
    await until(lambda: {path.name for path in pids.iterdir()} == names, "the whole tree")
    return run, [int(path.read_text()) for path in pids.iterdir()]


@pytest.mark.spec("L9")
@pytest.mark.trap(17)
@pytest.mark.fault("F28")
async def test_no_process_of_a_nasty_tree_survives_a_cancel(stage: Stage) -> None:
    run, pids = await nasty(stage)

    stage.pool.stop(run, grace=0.1)
    ending = await stage.ended(run)

    assert ending.stop == "cancel"
    assert ending.survivors == ()
    assert [pid for pid in pids if linux.is_alive(pid)] == []


@pytest.mark.spec("L9")
@pytest.mark.fault("F25")
async def test_a_suspended_task_can_be_cancelled(stage: Stage) -> None:
    run = stage.start("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
    await stage.printed(run, b"ready")
    pid = (await stage.started(run)).pid
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T", "the stop")

    stage.pool.stop(run, grace=5)

    assert (await stage.ended(run)).code == 9


@pytest.mark.fault("F39")
async def test_many_cancels_at_once_count_as_one(stage: Stage) -> None:
    run = stage.start("trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done")
    await stage.printed(run, b"ready")

    for _ in range(100):
        stage.pool.stop(run, grace=0.2)
    ending = await stage.ended(run)

    assert (ending.stop, ending.signal) == ("cancel", signal.SIGKILL)
    assert stage.output(run).count(b"asked") == 1


async def test_a_second_cancel_can_only_make_it_faster(stage: Stage) -> None:
    run = stage.start("trap '' TERM; echo ready; while :; do sleep 0.01; done")
    await stage.printed(run, b"ready")

    stage.pool.stop(run, grace=1000)
    stage.pool.stop(run, grace=0)

    assert (await stage.ended(run)).signal == signal.SIGKILL


@pytest.mark.spec("L9")
async def test_a_cancel_that_arrives_with_the_start_is_kept(stage: Stage) -> None:
    marker = stage.folder / "marker"
    run = stage.start(f"sleep 1000; touch {marker}")
    stage.pool.stop(run, grace=5)

    ending = await stage.ended(run)

    assert ending.stop == "cancel"
    assert not marker.exists()


@pytest.mark.trap(18)
@pytest.mark.fault("F40")
async def test_a_cancel_that_loses_against_the_exit_does_not_change_it(stage: Stage) -> None:
    outcomes = set()
    for delay in range(60):
        run = stage.start("exit 0")
        record = stage.directory(run) / "record.1"
        await until(lambda record=record: record.exists(), "the record")  # type: ignore[misc]
        await asyncio.sleep(delay / 60 * 0.003)
        stage.pool.stop(run, grace=5)
        ending = await stage.ended(run)
        outcomes.add((ending.stop, ending.code, ending.signal))

    assert outcomes <= {(None, 0, None), ("cancel", None, signal.SIGTERM), ("cancel", 0, None)}


async def test_a_cancel_of_an_unknown_run_is_ignored(stage: Stage) -> None:
    stage.pool.stop("nobody.1", grace=5)

    assert (await stage.run("exit 2")).code == 2


async def test_a_cancel_never_reaches_the_next_run_of_the_shim(stage: Stage) -> None:
    for _ in range(30):
        first = stage.start("true")
        await stage.ended(first)
        second = stage.start("exit 0")
        stage.pool.stop(first, grace=0)

        assert (await stage.ended(second)).stop is None


@pytest.mark.trap(26)
@pytest.mark.fault("F28")
async def test_processes_that_a_command_leaves_behind_are_ended_and_counted(stage: Stage) -> None:
    run = stage.start("sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &); exit 7")
    ending = await stage.ended(run)

    assert ending.code == 7
    assert ending.leftovers >= 3
    assert ending.survivors == ()
    assert stage.living(run) == []


ENOUGH = (0.3, 3.0, 30.0)  # seconds: the shell has to install its trap in time, on a busy machine too


@pytest.mark.spec("L10")
async def test_a_run_past_its_timeout_is_stopped_like_a_cancel(stage: Stage) -> None:
    for timeout in ENOUGH:
        run = stage.start(
            "trap 'echo asked; exit 1' TERM; echo ready; while :; do sleep 0.01; done", timeout=timeout
        )
        ending = await stage.ended(run)
        assert ending.stop == "timeout"
        assert ending.elapsed is not None
        assert ending.elapsed >= timeout
        if b"ready" in stage.output(run):
            break

    assert stage.output(run).endswith(b"asked\n")


@pytest.mark.spec("L10")
@pytest.mark.fault("F25")
async def test_a_suspended_task_that_ignores_sigterm_is_ended_by_its_timeout(stage: Stage) -> None:
    stubborn = "trap '' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done"
    for timeout in ENOUGH:
        run = stage.start(stubborn, timeout=timeout, grace=0.1)
        ending = await stage.ended(run)
        if b"ready" in stage.output(run):
            break

    assert (ending.stop, ending.signal) == ("timeout", signal.SIGKILL)


@pytest.mark.spec("L26")
async def test_a_run_that_is_silent_for_too_long_is_stopped(stage: Stage) -> None:
    run = stage.start("for i in 1 2 3 4 5; do echo $i; sleep 0.5; done; sleep 1000", idle=2.0)
    ending = await stage.ended(run)

    assert ending.stop == "idle"
    assert stage.output(run) == b"1\n2\n3\n4\n5\n"
    assert ending.elapsed is not None
    assert ending.elapsed >= 4.0


@pytest.mark.spec("L17")
@pytest.mark.trap(31)
@pytest.mark.fault("F31")
async def test_a_run_that_exceeds_its_memory_is_stopped_for_that(stage: Stage) -> None:
    hog = "import time; hoard = bytearray(400 << 20); print('not stopped', flush=True); time.sleep(1000)"
    ending = await stage.run(("/usr/bin/env", "python3", "-c", hog), memory=100 << 20)

    assert (ending.stop, ending.signal) == ("memory", signal.SIGKILL)
    assert ending.peak is not None
    assert ending.peak.endswith("MiB, limit 100 MiB")
    assert (await stage.run("exit 6")).code == 6


@pytest.mark.spec("L17")
async def test_shared_memory_counts_once(stage: Stage) -> None:
    shared = (
        "import os, time\n"
        "hoard = bytearray(60 << 20)\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0: time.sleep(0.3); os._exit(0)\n"
        "time.sleep(0.3)\n"
    )
    ending = await stage.run(("/usr/bin/env", "python3", "-c", shared), memory=150 << 20)

    assert (ending.stop, ending.code) == (None, 0)


@pytest.mark.spec("L17")
async def test_cpu_time_is_limited_over_the_whole_tree(stage: Stage) -> None:
    spin = "sh -c 'while :; do :; done'"
    ending = await stage.run(f"{spin} & {spin} & wait", cpu=0.5)

    assert ending.stop == "cpu"
    assert ending.peak is not None
    assert ending.peak.endswith("limit 0.5 s")
    assert ending.cpu >= 0.5


@pytest.mark.spec("L17")
async def test_the_cpu_time_of_processes_that_have_ended_counts(stage: Stage) -> None:
    """Each step stays below the limit, so only their sum exceeds it."""
    busy = ("/usr/bin/env", "python3", "-c", "import time\nwhile time.process_time() < 0.4: pass")
    ending = await stage.run(busy, busy, cpu=0.6)

    assert ending.stop == "cpu"


@pytest.fixture
def pen() -> Iterator[Path]:
    """A control group of at most 400 processes, so that a fork bomb cannot escape from its test."""
    folder = Path("/sys/fs/cgroup/pids") / f"errands-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "pids.max").write_text("400")
    except OSError as error:
        pytest.skip(f"NO PEN FOR A FORK BOMB, SO IT IS NOT TESTED: {error}")
    yield folder / "cgroup.procs"
    for pid in (folder / "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    folder.rmdir()


# Its processes exit by themselves after ten seconds, and none starts outside the pen.
BOMB = "echo $$ > {pen} || exit 99; bomb() {{ [ $SECONDS -lt 10 ] && bomb | bomb & }}; bomb; {leader}"


@pytest.mark.spec("L17")
@pytest.mark.fault("F30")
@pytest.mark.parametrize("leader", ["sleep 10", "exit 0"])
async def test_a_fork_bomb_is_stopped_and_no_process_of_it_survives(
    stage: Stage, pen: Path, leader: str
) -> None:
    other = stage.start("sleep 1; exit 8")
    bomb = stage.start(("bash", "-c", BOMB.format(pen=pen, leader=leader)), processes=20, timeout=10)
    ending = await stage.ended(bomb)

    assert ending.stop == "processes" or ending.leftovers
    assert ending.survivors == ()
    assert stage.living(bomb) == []
    assert pen.read_text() == ""
    assert (await stage.ended(other)).code == 8


@pytest.mark.trap(30)
async def test_a_task_that_kills_its_parent_harms_no_other_task(stage: Stage) -> None:
    other = stage.start("echo ready; read x < /dev/null; sleep 0.5; exit 4")
    await stage.printed(other, b"ready")
    polite = await stage.run("kill $PPID; sleep 1000")
    rude = await stage.run("kill -9 $PPID; sleep 1000")

    assert polite.stop == "cancel"
    assert rude.lost == "its supervisor (shim) was killed"
    assert (await stage.ended(other)).code == 4
    assert (await stage.run("exit 5")).code == 5


async def test_a_timeout_of_a_month_does_no_harm(stage: Stage) -> None:
    ending = await stage.run("sleep 0.1; exit 3", timeout=30 * 86_400.0)

    assert ending.code == 3
