"""What a run leaves behind: its directory, with its record and its log."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path

import pytest

from errands.ports import rundir
from errands.ports.runner import NotStarted
from errands.runners.output import log
from errands.runners.pool.pool import ShimPool
from errands.runners.shim import run_record
from errands.runners.system import linux
from tests.runners.stage import HEADER, Stage, until

LAUNCHED = b"# a header\n\n"  # as it is before the run starts


@pytest.mark.spec("O1", "O2", "O17")
@pytest.mark.parametrize("command", ["true", "echo hello", "exit 3", "kill -9 $$", "sleep 0.1"])
async def test_every_run_leaves_a_record_and_a_log_with_its_header(stage: Stage, command: str) -> None:
    runs = [stage.start(command) for _ in range(2)]
    for run in runs:
        await stage.ended(run)
        assert sorted(os.listdir(stage.directory(run))) == ["output.log", "record.1"]
        printed = b"hello\n" if "hello" in command else b""
        assert (stage.directory(run) / "output.log").read_bytes() == HEADER + printed
    assert sorted(os.listdir(stage.runs)) == sorted(runs)


@pytest.mark.spec("O2", "O3", "O17")
@pytest.mark.parametrize("launched", [LAUNCHED, b"# a header that is longer at first" + b"." * 200 + b"\n\n"])
async def test_the_header_of_a_launch_is_completed_when_the_run_starts(stage: Stage, launched: bytes) -> None:
    launch = stage.launch("echo hello")
    rundir.create(launch.directory, launched)
    before = log.read(launch.directory), log.tail(launch.directory, 5), log.header(launch.directory)
    stage.pool.start(launch)
    await stage.ended(launch.run_id)

    assert (before[0].content, before[1].content, before[2]) == (b"", b"", launched)
    assert before[0].next_offset == before[1].next_offset == 0
    assert (stage.directory(launch.run_id) / "output.log").read_bytes() == HEADER + b"hello\n"
    assert log.read(launch.directory).content == b"hello\n"


@pytest.mark.fault("F1", "F2")
async def test_a_run_with_only_a_launch_file_has_not_begun(stage: Stage) -> None:
    launch = stage.launch("true")
    rundir.create(launch.directory, LAUNCHED)

    assert not run_record.was_removed(launch.directory, 1)
    assert isinstance(stage.pool.recover(launch.run_id, attempt=1), NotStarted)
    assert not run_record.was_removed(launch.directory, 2)
    assert log.read(launch.directory).content == b""


@pytest.mark.fault("F2", "F4")
@pytest.mark.parametrize("removed", ["record.1", "record.1 output.log"])
async def test_a_run_that_removed_its_record_still_counts_as_begun(stage: Stage, removed: str) -> None:
    launch = stage.launch(f'echo ran >> count; cd "$ERRANDS_RUN_DIR"; rm {removed}; sleep 1000')
    rundir.create(launch.directory, LAUNCHED)
    stage.pool.start(launch)
    pid = (await stage.started(launch.run_id)).pid
    await until(lambda: not (stage.directory(launch.run_id) / "record.1").exists(), "its record to go")
    await until(lambda: removed == "record.1" or not os.listdir(launch.directory), "its log to go")
    os.kill(linux.ancestors(pid)[0], signal.SIGKILL)

    assert (await stage.ended(launch.run_id)).lost is not None
    assert (stage.folder / "count").read_text() == "ran\n"


def test_a_disk_that_refuses_a_log_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda file, content: 1)
    rundir.create(f"{tmp_path}/runs/x.1", LAUNCHED)

    assert os.listdir(tmp_path / "runs") == []


@pytest.mark.fault("F2")
async def test_an_abandoned_attempt_is_refused(stage: Stage) -> None:
    launch = stage.launch("echo ran >> count")
    assert isinstance(stage.pool.recover(launch.run_id, attempt=1), NotStarted)
    stage.pool.start(launch)
    await until(lambda: stage.reports, "a report")

    assert type(stage.reports[-1]).__name__ == "Refused"
    assert not (stage.folder / "count").exists()


async def test_a_directory_that_already_has_the_event_payload_is_used_for_the_run(stage: Stage) -> None:
    launch = stage.launch('cat "$ERRANDS_RUN_DIR/event.json"')
    os.mkdir(launch.directory, 0o700)
    (stage.directory(launch.run_id) / "event.json").write_text("{}\n")
    other = ShimPool(str(stage.runs))

    assert not run_record.was_removed(launch.directory, 1)
    stage.pool.start(launch)
    assert (await stage.ended(launch.run_id)).code == 0
    assert stage.output(launch.run_id) == b"{}\n"
    assert other.recover(launch.run_id, attempt=1).ending.code == 0  # type: ignore[union-attr]


@pytest.mark.fault("F8")
async def test_a_daemon_finds_running_runs_on_a_full_disk(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stage.start("echo ready; sleep 1000")
    await stage.printed(run, b"ready")

    def full(*words: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for act in ("mkdir", "makedirs", "rename"):
        monkeypatch.setattr(os, act, full)
    assert not run_record.write_tombstone(str(stage.directory(run)), 1)


async def test_a_task_that_replaces_its_record_with_a_directory_harms_no_other_task(
    stage: Stage,
) -> None:
    await stage.run('cd "$ERRANDS_RUN_DIR"; rm record.1; mkdir record.1')

    assert (await stage.run(("true",))).code == 0


async def test_tasks_have_the_usual_scheduling_policy(stage: Stage) -> None:
    run = stage.start((sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"))

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"%d\n" % os.sched_getscheduler(0)
