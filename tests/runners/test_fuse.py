"""The fuse: a run of another host ends by itself once its host is out of touch with the fleet."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from errands.model.ending import OUT_OF_TOUCH, Lost
from errands.ports.home import boottime, read_fuse, write_fuse
from errands.ports.runner import Ended
from errands.runners.shim import fuse as fuses
from errands.runners.system import linux
from tests.runners.owner import Owner
from tests.runners.stage import Stage, until

SOON = 1.0
LATER = 3600.0


@pytest.fixture
def fuse(tmp_path: Path) -> str:
    return str(tmp_path / "fuse")


@pytest.mark.spec("X12")
async def test_a_tree_without_daemon_and_host_process_is_gone_once_its_fuse_has_burnt(
    stage: Stage, start_owner: Callable[..., Owner], fuse: str
) -> None:
    write_fuse(fuse, boottime() + LATER)
    launch = stage.launch("trap '' TERM; (setsid sleep 1000 &); echo up; sleep 1000", fuse=fuse, grace=600.0)
    owner = start_owner(launch)
    await stage.printed(launch.run_id, b"up\n")
    tree = stage.living(launch.run_id)
    owner.kill()
    os.kill(owner.zygote, signal.SIGKILL)

    deadline = boottime() + SOON
    write_fuse(fuse, deadline)
    await until(lambda: not stage.living(launch.run_id), "the end of the tree")

    assert len(tree) >= 3
    assert boottime() >= deadline
    await until(lambda: not linux.is_alive(stage.shim_of(launch.run_id)), "the end of the shim")
    found = stage.pool.recover(launch.run_id, attempt=1)
    assert isinstance(found, Ended)
    assert found.ending.stop == "fuse"
    assert found.ending.how == Lost(reason=OUT_OF_TOUCH)


@pytest.mark.spec("X12")
async def test_a_deadline_that_moves_on_ends_nothing(stage: Stage, fuse: str, tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    os.mkfifo(go_on)
    first = boottime() + 5 * SOON
    write_fuse(fuse, first)
    run = stage.start(f"echo up; read x < '{go_on}'; exit 7", fuse=fuse)
    await stage.printed(run, b"up\n")

    write_fuse(fuse, boottime() + LATER)
    await until(lambda: boottime() > first + 2 * fuses.LOOK, "several looks after the first deadline")
    go_on.write_text("\n")

    ending = await stage.ended(run)
    assert (ending.code, ending.stop) == (7, None)


@pytest.mark.spec("X12")
@pytest.mark.parametrize("content", [None, "", "soon\n", "nan\n"])
async def test_a_deadline_that_cannot_be_read_has_passed(
    stage: Stage, fuse: str, content: str | None
) -> None:
    write_fuse(fuse, boottime() + LATER)
    run = stage.start("echo up; sleep 1000", fuse=fuse)
    await stage.printed(run, b"up\n")

    if content is None:
        os.unlink(fuse)
    else:
        Path(fuse).write_text(content)

    assert (await stage.ended(run)).how == Lost(reason=OUT_OF_TOUCH)
    assert not stage.living(run)


@pytest.mark.spec("X12")
@pytest.mark.parametrize("ago", [None, 60.0])
def test_a_run_that_another_host_may_have_by_now_gets_no_grace(fuse: str, ago: float | None) -> None:
    """A host that stood still was given up meanwhile; when it wakes, it may have removed the deadline."""
    if ago is not None:
        write_fuse(fuse, boottime() - ago)

    assert fuses.Fuse(fuse).wait(600.0) <= 0


@pytest.mark.spec("X12")
async def test_nothing_is_started_after_the_deadline_and_no_hook_runs(stage: Stage, fuse: str) -> None:
    write_fuse(fuse, boottime() - 1)

    ending = await stage.run("echo main > ran", lastly=["echo hook > ran"], fuse=fuse)

    assert ending.how == Lost(reason=OUT_OF_TOUCH)
    assert not (stage.folder / "ran").exists()


@pytest.mark.spec("X12")
async def test_a_paused_tree_ends_too(stage: Stage, fuse: str) -> None:
    write_fuse(fuse, boottime() + LATER)
    run = stage.start("echo up; sleep 1000 & sleep 1000", fuse=fuse)
    await stage.printed(run, b"up\n")
    assert stage.pool.pause(run, wanted=True)
    await until((stage.directory(run) / "paused").exists, "the pause")

    write_fuse(fuse, boottime())

    assert (await stage.ended(run)).how == Lost(reason=OUT_OF_TOUCH)
    assert not stage.living(run)


@pytest.mark.spec("X12")
async def test_the_grace_of_a_cancelled_run_does_not_outlast_its_fuse(stage: Stage, fuse: str) -> None:
    write_fuse(fuse, boottime() + LATER)
    run = stage.start("trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done", fuse=fuse)
    await stage.printed(run, b"up\n")
    stage.pool.stop(run, grace=LATER)
    await stage.printed(run, b"asked\n")

    write_fuse(fuse, boottime())

    assert (await stage.ended(run)).stop == "cancel"
    assert not stage.living(run)


def test_a_fuse_is_read_as_it_was_written(fuse: str) -> None:
    assert read_fuse(fuse) is None
    write_fuse(fuse, 12345.678)
    assert read_fuse(fuse) == 12345.678
