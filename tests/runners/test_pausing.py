"""A paused run stands still: every process of its tree, and all of its time-outs."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from errands.ports import rundir
from errands.ports.runner import Alive
from errands.runners.system import linux
from tests.runners.owner import Owner
from tests.runners.stage import Stage, until
from tests.runners.test_crashes import LOST
from tests.runners.test_stopping import nasty

# Prints a number again and again, so that it is seen to stand still or to go on.
COUNTING = "n=0; while :; do n=$((n+1)); echo $n; sleep 0.01; done"


def states(stage: Stage, run: str) -> set[str]:
    """Return the letters with which the kernel shows the states of a run's processes."""
    found = linux.descendants(stage.shim_of(run))
    # D: a shell that waits for the child with which it shares its memory, which has stopped.
    return {letter.replace("D", "T") for pid in found if (letter := letter_of(pid)) not in "ZX"}


def letter_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return "X"


async def paused(stage: Stage, run: str) -> None:
    directory = str(stage.directory(run))
    await until(lambda: rundir.is_paused(directory), f"the pause of {run}")


async def continued(stage: Stage, run: str) -> None:
    directory = str(stage.directory(run))
    await until(lambda: not rundir.is_paused(directory), f"the end of the pause of {run}")


async def test_a_paused_run_prints_nothing_until_it_continues(stage: Stage) -> None:
    run = stage.start(COUNTING)
    await stage.printed(run, b"3\n")

    assert stage.pool.pause(run, wanted=True)
    await paused(stage, run)
    assert states(stage, run) == {"T"}
    before = stage.output(run)
    for _ in range(20):
        assert states(stage, run) == {"T"}
        await asyncio.sleep(0.01)
    assert len(stage.output(run)) - len(before) < 100  # what was in the pipe

    last = int(stage.output(run).split()[-1])
    assert stage.pool.pause(run, wanted=False)
    await stage.printed(run, b"\n%d\n" % (last + 10))
    assert not rundir.is_paused(str(stage.directory(run)))


@pytest.mark.spec("L28")
async def test_every_process_of_a_nasty_tree_stops_and_continues(stage: Stage) -> None:
    run, pids = await nasty(stage)

    stage.pool.pause(run, wanted=True)
    await paused(stage, run)
    assert {letter_of(pid) for pid in pids} == {"T"}

    stage.pool.pause(run, wanted=False)
    await until(lambda: "T" not in {letter_of(pid) for pid in pids}, "the tree to continue")


@pytest.mark.spec("L28")
async def test_a_tree_that_forks_all_the_time_stops_as_a_whole(stage: Stage) -> None:
    run = stage.start("echo ready; while :; do (sleep 0.001 & (sleep 0.001) & ); done")
    await stage.printed(run, b"ready")
    for _ in range(5):
        stage.pool.pause(run, wanted=True)
        await paused(stage, run)
        assert states(stage, run) == {"T"}
        stage.pool.pause(run, wanted=False)
        await continued(stage, run)


@pytest.mark.spec("L28")
async def test_time_outs_stand_still_during_a_pause(stage: Stage, pause: Path) -> None:
    limit = 6.0
    run = stage.start(f"echo ready; read x < {pause}; exit 5", timeout=limit, idle=limit)
    await stage.printed(run, b"ready")
    stage.pool.pause(run, wanted=True)
    await paused(stage, run)
    await asyncio.sleep(limit + 0.5)

    stage.pool.pause(run, wanted=False)
    await continued(stage, run)
    pause.write_text("go on\n")
    assert (await stage.ended(run)).code == 5


@pytest.mark.spec("L28")
async def test_a_pause_before_the_first_step_does_not_count(stage: Stage) -> None:
    launch = stage.launch("sleep 1000", timeout=0.5)
    os.makedirs(launch.directory)
    rundir.want_pause(launch.directory, True)
    stage.pool.start(launch)
    await paused(stage, launch.run_id)
    await asyncio.sleep(1.0)

    stage.pool.pause(launch.run_id, wanted=False)
    ending = await stage.ended(launch.run_id)

    assert ending.stop == "timeout"
    assert ending.elapsed is not None
    assert ending.elapsed > 1.2  # the pause, and the time-out after it


@pytest.mark.spec("L28")
async def test_a_time_out_passes_after_a_pause(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000", timeout=1.0)
    await stage.printed(run, b"ready")
    stage.pool.pause(run, wanted=True)
    await paused(stage, run)
    stage.pool.pause(run, wanted=False)

    assert (await stage.ended(run)).stop == "timeout"


@pytest.mark.spec("L28")
async def test_a_paused_run_can_be_cancelled_and_cleans_up(stage: Stage) -> None:
    run = stage.start(
        "trap 'echo cleaning up; exit 3' TERM; echo ready; while :; do sleep 0.01; done",
        lastly=["echo finally"],
    )
    await stage.printed(run, b"\nready")  # the first line of the log is the command itself
    stage.pool.pause(run, wanted=True)
    await paused(stage, run)

    stage.pool.stop(run, grace=30)
    ending = await stage.ended(run)

    assert (ending.stop, ending.code) == ("cancel", 3)
    assert b"cleaning up" in stage.output(run)
    assert b"finally\n" in stage.output(run)
    assert not rundir.is_paused(str(stage.directory(run)))


@pytest.mark.spec("L28")
async def test_the_next_step_does_not_start_during_a_pause(stage: Stage) -> None:
    # The first command ends while it is paused: only its last process is left, which has stopped.
    run = stage.start("echo $$; while :; do sleep 0.01; done", "echo next", lastly=["echo finally"])
    await stage.printed(run, b"\n")
    pid = (await stage.started(run)).pid
    stage.pool.pause(run, wanted=True)
    await paused(stage, run)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: letter_of(pid) == "X", "its end")
    await asyncio.sleep(0.1)
    assert b"finally\n" not in stage.output(run).replace(b"$ echo finally\n", b"")

    stage.pool.pause(run, wanted=False)
    assert (await stage.ended(run)).signal == signal.SIGKILL
    assert stage.output(run).endswith(b"finally\n")


@pytest.mark.spec("L28")
async def test_a_run_whose_pause_was_wanted_before_it_began_waits(stage: Stage) -> None:
    launch = stage.launch("echo begun")
    os.makedirs(launch.directory)
    rundir.want_pause(launch.directory, True)
    stage.pool.start(launch)
    record = stage.directory(launch.run_id) / "record.1"
    await until(lambda: record.exists() and record.read_text(), "its record")
    assert b"begun" not in stage.output(launch.run_id)

    stage.pool.pause(launch.run_id, wanted=False)
    assert (await stage.ended(launch.run_id)).code == 0
    assert stage.output(launch.run_id) == b"begun\n"


@pytest.mark.spec("L28")
@pytest.mark.parametrize("also_the_zygote", [False, True])
async def test_a_paused_run_outlives_its_pool_and_the_next_one_continues_it(
    stage: Stage, start_owner: Callable[..., Owner], pause: Path, also_the_zygote: bool
) -> None:
    launch = stage.launch(f"echo ready; read x < {pause}; exit 7", timeout=60.0)
    owner = start_owner(launch)
    await stage.printed(launch.run_id, b"ready")
    # The shim has a pool of its own; another one may ask for the pause after that is gone.
    if also_the_zygote:
        os.kill(owner.zygote, signal.SIGKILL)
    owner.kill()
    assert isinstance(stage.pool.recover(launch.run_id, attempt=1), Alive)
    assert stage.pool.pause(launch.run_id, wanted=True)
    await paused(stage, launch.run_id)
    await stage.pool.close()

    other = Stage(stage.folder)
    await other.pool.open()
    try:
        assert isinstance(other.pool.recover(launch.run_id, attempt=1), Alive)
        assert states(other, launch.run_id) == {"T"}
        assert other.pool.pause(launch.run_id, wanted=False)
        await continued(other, launch.run_id)
        pause.write_text("go on\n")
        assert (await other.ended(launch.run_id)).code == 7
    finally:
        await other.pool.close()


@pytest.mark.spec("L28")
async def test_the_processes_of_a_paused_run_are_ended_if_its_shim_is_killed(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000 & sleep 1000")
    await stage.printed(run, b"ready")
    stage.pool.pause(run, wanted=True)
    await paused(stage, run)

    os.kill(stage.shim_of(run), signal.SIGKILL)
    ending = await stage.ended(run)

    assert ending.lost == LOST
    assert stage.living(run) == []


async def test_an_older_shim_is_left_alone(
    stage: Stage, start_owner: Callable[..., Owner], pause: Path
) -> None:
    launch = stage.launch(f"echo ready; read x < {pause}; exit 7")
    owner = start_owner(launch)
    await stage.printed(launch.run_id, b"ready")
    owner.kill()
    record = stage.directory(launch.run_id) / "record.1"
    text = record.read_text()
    assert " v=2 " in text
    with record.open("r+") as file:
        file.write(text.replace(" v=2 ", " v=1 "))
    assert isinstance(stage.pool.recover(launch.run_id, attempt=1), Alive)

    assert not stage.pool.pause(launch.run_id, wanted=True)
    pause.write_text("go on\n")
    assert (await stage.ended(launch.run_id)).code == 7
