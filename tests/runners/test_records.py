"""The run record decides: who created it, who has its lock, and what its last line says."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from errands.ports import rundir
from errands.ports.runner import Alive, Ended, NotStarted, Refused
from errands.runners.pool.pool import ShimPool
from errands.runners.shim import run_record
from errands.runners.system import linux
from tests.runners.stage import Stage, until


def forge(stage: Stage, run: str, *lines: str) -> None:
    directory = stage.directory(run)
    directory.mkdir(parents=True)
    (directory / "record.1").write_text("".join(line + "\n" for line in lines))


@pytest.mark.fault("F2")
async def test_a_recovered_attempt_that_never_began_never_will(stage: Stage) -> None:
    launch = stage.launch("echo ran >> count")

    for _ in range(2):
        found = stage.pool.recover(launch.run_id, attempt=1)
        assert found == NotStarted(run_id=launch.run_id, attempt=1)
    stage.pool.start(launch)
    await until(lambda: stage.reports, "a report")

    assert stage.reports == [Refused(run_id=launch.run_id, attempt=1)]
    assert not (stage.folder / "count").exists()


@pytest.mark.fault("F2")
async def test_the_next_attempt_runs_and_its_log_is_found(stage: Stage) -> None:
    stage.pool.recover("task-x.1", attempt=1)

    run = stage.start("echo second attempt", run_id="task-x.1", attempt=2)

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"second attempt\n"


@pytest.mark.spec("L20")
async def test_every_report_and_every_recovery_names_the_attempt(stage: Stage) -> None:
    run = stage.start("echo ready; sleep 1000", attempt=3)
    await stage.started(run)
    other = ShimPool(str(stage.runs))
    await other.open()
    heard: list[Any] = []
    other.listener = heard.append

    alive = other.recover(run, attempt=3)
    stage.pool.stop(run, grace=5)
    await stage.ended(run)
    await until(lambda: heard, "the report of the other pool")
    over = other.recover(run, attempt=3)
    await other.close()

    assert isinstance(alive, Alive)
    assert isinstance(over, Ended)
    assert {each.attempt for each in (alive, over, *stage.reports, *heard)} == {3}


@pytest.mark.fault("F3")
@pytest.mark.spec("L20")
async def test_a_start_and_a_recovery_that_race_never_both_win(stage: Stage) -> None:
    chance = random.Random(7)
    buried = 0
    for _ in range(500):
        launch = stage.launch("echo ran >> count")
        stage.pool.start(launch)
        give_up = asyncio.get_running_loop().time() + chance.random() * 0.0015
        while asyncio.get_running_loop().time() < give_up:
            await asyncio.sleep(0)
        won = run_record.write_tombstone(launch.directory, 1)
        await until(lambda: any(isinstance(each, Refused | Ended) for each in stage.reports), "a decision")
        refused = any(isinstance(each, Refused) for each in stage.reports)
        stage.reports.clear()

        assert won == refused
        buried += won

    ran = (stage.folder / "count").read_text().count("ran")
    assert ran == 500 - buried
    assert 0 < buried < 500, "the race was always won by the same side"


@pytest.mark.trap(23)
@pytest.mark.fault("F13")
async def test_a_foreign_process_with_a_reused_pid_is_neither_adopted_nor_signalled(
    stage: Stage, bystander: int
) -> None:
    forge(
        stage,
        "task-x.1",
        f"run task-x.1 attempt=1 shim={bystander} boot={linux.boot_id()} v=1 header=0 head=100",
        f"pid {bystander} since=1.00 until=1.02 step=0",
    )

    found = stage.pool.recover("task-x.1", attempt=1)
    stage.pool.stop("task-x.1", grace=0)
    ending = await stage.ended("task-x.1")

    assert isinstance(found, Alive)
    assert ending.lost is not None
    assert linux.is_alive(bystander)


@pytest.mark.spec("L20")
@pytest.mark.fault("F12")
async def test_a_run_of_another_boot_is_interrupted_and_no_process_is_signalled(
    stage: Stage, bystander: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stage.start("echo ready; sleep 1000")
    await stage.printed(run, b"ready")
    other_boot = stage.folder / "boot"
    other_boot.write_text("another-boot\n")
    monkeypatch.setenv("ERRANDS_BOOT_ID_FILE", str(other_boot))

    found = ShimPool(str(stage.runs)).recover(run, attempt=1)

    assert isinstance(found, Ended)
    assert found.ending.interrupted
    assert linux.is_alive((await stage.started(run)).pid)
    stage.pool.stop(run, grace=5)
    await stage.ended(run)


def test_a_record_whose_last_line_is_incomplete_has_no_exit_yet() -> None:
    begun = "run a.1 attempt=1 shim=1 boot=x v=1 header=0 head=5\npid 7 since=1.00 until=1.00 step=0\n"

    found = run_record.parse((begun + "exit code=0 by").encode(), 1)

    assert (found.pid, found.exit) == (7, None)


@pytest.mark.parametrize(
    "text", ["", " ", "a b=c", "100%", "%20 %", "two\nlines\r\n", "\u2028 \x85", "caf\udce9", "ß=ü"]
)
def test_any_text_survives_the_record(text: str) -> None:
    written = rundir.record_line("exit", {"error": text, "code": 3}).decode()

    assert written.count("\n") == 1
    read = rundir.fields_of(written.rstrip("\n"))
    assert read["code"] == "3"
    assert read["error"] == text.replace("\udce9", "\\udce9")


async def test_a_task_that_removes_its_record_still_has_an_ending(stage: Stage) -> None:
    run = stage.start('rm "$ERRANDS_RUN_DIR"/record.*; exit 6')

    assert (await stage.ended(run)).code == 6
    found = run_record.read(str(stage.directory(run)), 1)
    assert found is not None
    assert found.exit is not None
    assert found.exit["code"] == "6"


@pytest.mark.spec("L20")
async def test_a_run_whose_record_was_removed_is_lost_and_never_run_again(stage: Stage) -> None:
    run = stage.start('rm "$ERRANDS_RUN_DIR"/record.1; echo ran >> count; kill -9 $PPID; sleep 1000')

    assert (await stage.ended(run)).lost is not None
    assert stage.living(run) == []
    again = stage.pool.recover(run, attempt=1)
    assert isinstance(again, Ended)
    assert (stage.folder / "count").read_text() == "ran\n"


@pytest.mark.fault("F18")
@pytest.mark.parametrize(
    "garbage", ["run shim=zz head=x header=\npid zz\n", "exit code=zz ended=1e999\n", "\0\xff\n"]
)
def test_a_record_garbled_by_its_own_task_is_read_without_an_error(tmp_path: Path, garbage: str) -> None:
    (tmp_path / "record.1").write_text(garbage)
    found = run_record.read(str(tmp_path), 1)
    assert found is not None
    assert (found.shim, found.pid) == (None, None)
    if found.exit is not None:
        assert run_record.ending(found.exit).code is None
