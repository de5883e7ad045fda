"""What a run leaves behind: its directory, unless it left nothing there and its end is in the store."""

from __future__ import annotations

import errno
import os
import signal
import sys

import pytest

from errands.ports.home import remove_tree
from errands.ports.runner import Alive, NotStarted
from errands.runners.pool.pool import ShimPool
from errands.runners.shim import record
from tests.runners.stage import Stage, until


async def done(stage: Stage, *commands: str | tuple[str, ...], **options: object) -> str:
    """Carry out a run that may leave nothing, and note that its end is in the store."""
    run = stage.start(*commands, **{"may_be_traceless": True, **options})
    await stage.ended(run)
    stage.pool.forget(run)
    return run


@pytest.mark.spec("O13", "L20")
async def test_a_silent_run_hands_its_directory_on_to_the_next_one(stage: Stage) -> None:
    runs = [await done(stage, ("true",)) for _ in range(20)]

    assert os.listdir(stage.runs) == [runs[-1]]
    assert os.listdir(stage.directory(runs[-1])) == ["record.1"]
    found = record.read(str(stage.directory(runs[-1])), 1)
    assert found is not None
    assert found.exit is not None
    assert found.exit["code"] == "0"
    assert stage.output(runs[0]) == stage.output(runs[-1]) == b""


@pytest.mark.spec("L20")
async def test_nothing_is_handed_on_before_its_end_is_in_the_store(stage: Stage) -> None:
    first = stage.start(("true",), may_be_traceless=True)
    await stage.ended(first)
    second = await done(stage, ("true",))

    assert sorted(os.listdir(stage.runs)) == [first, second]
    assert stage.pool.recover(first, attempt=1).ending.code == 0  # type: ignore[union-attr]


@pytest.mark.spec("O1", "O2")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("echo hello", {}),
        ("exit 3", {}),
        ("kill -9 $$", {}),
        ("sleep 0.1", {}),
        ("true", {"may_be_traceless": False}),
    ],
)
async def test_whoever_prints_fails_lasts_or_was_asked_about_has_a_log_with_its_header(
    stage: Stage, command: str, options: dict[str, bool]
) -> None:
    run = await done(stage, command, **options)
    await done(stage, ("true",))

    log = (stage.directory(run) / "output.log").read_bytes()
    assert log == b"# a header\n" + (b"hello\n" if "hello" in command else b"")


@pytest.mark.spec("O11")
@pytest.mark.parametrize(
    "command",
    [
        'echo report > "$ERRANDS_RUN_DIR/report"',
        'mkdir "$ERRANDS_RUN_DIR/folder"',
        'chmod 755 "$ERRANDS_RUN_DIR"',
        'ln "$ERRANDS_RUN_DIR/record.1" record',
        'chmod 400 "$ERRANDS_RUN_DIR/record.1"',
        'cd "$ERRANDS_RUN_DIR"; cp record.1 copy; mv copy record.1',
        'mv "$ERRANDS_RUN_DIR" aside; ln -s "$PWD/aside" "$ERRANDS_RUN_DIR"',
    ],
)
async def test_a_directory_that_a_task_has_changed_is_left_alone(stage: Stage, command: str) -> None:
    run = await done(stage, command)
    before = sorted(os.listdir(stage.directory(run)))
    second = await done(stage, ("true",))

    assert sorted(os.listdir(stage.directory(run))) == before
    assert os.listdir(stage.directory(second)) == ["record.1"]


@pytest.mark.spec("L20")
@pytest.mark.fault("F1")
async def test_a_run_with_a_record_that_was_another_s_is_found_by_the_next_holder(stage: Stage) -> None:
    await done(stage, ("true",))
    os.mkfifo(stage.folder / "go")
    run = stage.start("echo ready; read line < go; exit 7", may_be_traceless=True)
    await until(lambda: stage.output(run) == b"ready\n", "its output")
    assert (stage.directory(run) / "record.1").read_text().count("run ") == 2

    await stage.pool.close()
    next_holder = Stage(stage.folder)
    await next_holder.pool.open()
    found = next_holder.pool.recover(run, attempt=1)
    (stage.folder / "go").write_text("go\n")

    assert isinstance(found, Alive)
    assert (await next_holder.ended(run)).code == 7
    await next_holder.pool.close()


@pytest.mark.fault("F4")
async def test_a_run_whose_shim_is_killed_is_lost_whoever_had_the_record_before(stage: Stage) -> None:
    await done(stage, ("true",))
    run = stage.start("echo ready; sleep 1000", may_be_traceless=True)
    await stage.printed(run, b"ready")
    found = record.read(str(stage.directory(run)), 1)
    assert found is not None
    assert found.shim is not None
    assert found.exit is None
    os.kill(found.shim, signal.SIGKILL)

    assert (await stage.ended(run)).lost is not None
    assert stage.living(run) == []


@pytest.mark.spec("O14")
async def test_what_is_being_removed_is_never_handed_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await done(stage, ("true",))
    monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors: None)  # it has only just begun
    remove_tree(str(stage.directory(first)))
    second = await done(stage, ("true",))

    assert sorted(os.listdir(stage.runs)) == [f"{first}.gone", second]


@pytest.mark.fault("F2")
async def test_an_attempt_that_was_given_up_does_not_get_a_record_by_being_handed_one(stage: Stage) -> None:
    await done(stage, ("true",))
    launch = stage.launch("echo ran >> count", may_be_traceless=True)
    assert isinstance(stage.pool.recover(launch.run_id, attempt=1), NotStarted)
    stage.pool.start(launch)
    await until(lambda: stage.reports[-1].run_id == launch.run_id, "a report")

    assert type(stage.reports[-1]).__name__ == "Refused"
    assert not (stage.folder / "count").exists()


async def test_a_directory_that_has_what_a_run_came_of_is_kept_for_it(stage: Stage) -> None:
    await done(stage, ("true",))
    launch = stage.launch('cat "$ERRANDS_RUN_DIR/event.json"', may_be_traceless=True)
    os.mkdir(launch.directory, 0o700)
    (stage.directory(launch.run_id) / "event.json").write_text("{}\n")
    other = ShimPool(str(stage.runs))

    assert not record.was_removed(launch.directory, 1)
    stage.pool.start(launch)
    assert (await stage.ended(launch.run_id)).code == 0
    assert stage.output(launch.run_id) == b"{}\n"
    assert other.recover(launch.run_id, attempt=1).ending.code == 0  # type: ignore[union-attr]


@pytest.mark.fault("F4")
async def test_the_processes_of_a_lost_run_are_ended_whoever_had_the_record_before(stage: Stage) -> None:
    await done(stage, ("true",))
    run = stage.start("echo ready; sleep 1000 & sleep 1000", may_be_traceless=True)
    await stage.printed(run, b"ready")
    found = record.read(str(stage.directory(run)), 1)
    assert found is not None
    assert found.shim is not None
    await stage.pool.close()
    os.kill(found.shim, signal.SIGKILL)

    next_holder = Stage(stage.folder)
    await next_holder.pool.open()
    next_holder.pool.recover(run, attempt=1)
    ending = await next_holder.ended(run)
    await next_holder.pool.close()

    assert ending.lost == "its supervisor (shim) was killed"
    assert ending.leftovers >= 1
    assert stage.living(run) == []


@pytest.mark.fault("F18")
@pytest.mark.parametrize(
    "last_words",
    ["tombstone\n", "exit code=0 ended=2.0", "run other.1 attempt=1 shim=1 boot=x\nexit code=0\n"],
)
async def test_what_a_run_wrote_into_its_record_says_nothing_about_the_next_one(
    stage: Stage, last_words: str
) -> None:
    first = await done(stage, ("true",))
    written = stage.directory(first) / "record.1"
    written.write_text(last_words if last_words == "tombstone\n" else written.read_text() + last_words)
    os.mkfifo(stage.folder / "go")
    run = stage.start("echo ready; read line < go; exit 7", may_be_traceless=True)
    await stage.printed(run, b"ready")

    found = record.read(str(stage.directory(run)), 1)
    assert found is not None
    assert not found.is_tombstone
    assert found.exit is None
    assert not record.bury(str(stage.directory(run)), 1)
    (stage.folder / "go").write_text("go\n")
    assert (await stage.ended(run)).code == 7
    assert not record.bury(str(stage.directory(run)), 1)


@pytest.mark.fault("F8")
async def test_a_full_disk_keeps_no_holder_from_finding_what_runs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stage.start("echo ready; sleep 1000")
    await stage.printed(run, b"ready")

    def full(*words: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for act in ("mkdir", "makedirs", "rename"):
        monkeypatch.setattr(os, act, full)
    assert not record.bury(str(stage.directory(run)), 1)


async def test_a_task_that_puts_a_directory_in_the_place_of_its_record_harms_nobody_else(
    stage: Stage,
) -> None:
    await done(stage, 'cd "$ERRANDS_RUN_DIR"; rm record.1; mkdir record.1')

    assert (await stage.run(("true",))).code == 0


async def test_a_shim_gives_way_to_others_until_its_run_lasts(stage: Stage) -> None:
    os.mkfifo(stage.folder / "go")
    run = stage.start("echo ready; read line < go")
    await stage.started(run)
    shim = stage.shim_of(run)

    assert os.sched_getscheduler(shim) == os.SCHED_OTHER
    (stage.folder / "go").write_text("go\n")
    await stage.ended(run)
    await until(lambda: os.sched_getscheduler(shim) == os.SCHED_BATCH, "an idle shim to give way")


async def test_tasks_are_scheduled_as_usual(stage: Stage) -> None:
    run = stage.start((sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"))

    assert (await stage.ended(run)).code == 0
    assert stage.output(run) == b"%d\n" % os.sched_getscheduler(0)
