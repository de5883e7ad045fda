"""Recovery: wherever the daemon dies, nothing is lost and nothing runs twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.errors import DaemonError
from errands.model.options.draft import Draft
from errands.model.states import ENDED
from errands.model.view import View
from errands.ports import rundir
from errands.ports.home import Home
from errands.ports.store import Query
from errands.runners.shim import run_record
from errands.runners.system import linux
from errands.stores.sqlite.migrations import MIGRATIONS
from tests.engine.daemons import DOOMED, Daemons, end, eventually, finished, lines

STORE = "errands.stores.sqlite"
MOVES = f"{STORE}.transitions.TransitionRows"
SUPERVISOR = "errands.engine.daemon.supervisor.Supervisor"

# Where a daemon can die during a run, from the queue to the notice of its end.
PLACES = [
    pytest.param(f"{MOVES}.claim", "before", id="before-it-is-claimed"),
    pytest.param(f"{MOVES}.claim", "after", id="claimed-and-not-committed"),
    pytest.param(
        f"{SUPERVISOR}.start", "before", id="committed-and-not-spawned", marks=pytest.mark.fault("F2")
    ),
    pytest.param(
        "errands.runners.pool.pool.ShimPool.start", "after", id="ordered", marks=pytest.mark.fault("F3")
    ),
    pytest.param(
        f"{SUPERVISOR}._receive", "before", id="forked-and-not-reported", marks=pytest.mark.fault("F3")
    ),
    pytest.param(f"{MOVES}.end", "before", id="exited-and-not-recorded", marks=pytest.mark.fault("F5")),
    pytest.param(f"{MOVES}.end", "after", id="recorded-and-not-committed", marks=pytest.mark.fault("F5")),
    pytest.param(
        "errands.engine.daemon.child_service.ChildService.ring",
        "before",
        id="ended-and-not-notified",
        marks=pytest.mark.fault("F6"),
    ),
]


@pytest.mark.spec("L20")
@pytest.mark.trap(1)
@pytest.mark.parametrize(("place", "when"), PLACES)
def test_a_run_ends_once_and_is_reported_once_wherever_the_daemon_dies(
    daemons: Daemons, client: Engine, tmp_path: Path, place: str, when: str
) -> None:
    daemons.start_doomed(place, when)
    task = client.submit(Draft(command=f"echo start >> {tmp_path}/witness; echo output; exit 7"))
    daemons.wait_for_doom()
    daemons.start()
    ended = finished(client, task.id)

    assert lines(tmp_path / "witness") == ["start"]
    assert (ended.state, ended.latest.exit_code) == ("failed", 7)
    assert client.output(task.id).content == b"output\n"
    assert ends(client, task.id) == ["failed"]
    eventually(lambda: client.store.undelivered() == [])
    notices = client.take_notices("user", reader="test")
    assert [notice.run_id for notice in notices] == [ended.latest.id]
    assert client.take_notices("user", reader="test") == []


@pytest.mark.spec("L20")
@pytest.mark.fault("F3")
def test_a_daemon_that_dies_during_its_recovery_does_no_harm(
    daemons: Daemons, client: Engine, tmp_path: Path
) -> None:
    daemons.start_doomed(f"{SUPERVISOR}._receive")
    running = client.submit(
        Draft(command=f"echo start >> {tmp_path}/witness; echo ready; read line", input="pipe")
    )
    daemons.wait_for_doom()
    for when in ("before", "after"):
        daemons.start_doomed(f"{SUPERVISOR}.recover", when)
        daemons.wait_for_doom()
    daemons.start()
    client.send(running.id, b"\n")

    assert finished(client, running.id).state == "completed"
    assert lines(tmp_path / "witness") == ["start"]


DOOMED_CLIENT = (
    DOOMED
    + """
from errands.bootstrap import open_engine
from errands.model.options.draft import Draft
print(open_engine(consent="yes").submit(Draft(command="echo start >> $WITNESS")).id, flush=True)
"""
)


@pytest.mark.fault("F1")
@pytest.mark.parametrize(("when", "starts"), [("before", []), ("after", ["start"])])
def test_a_caller_that_dies_around_its_commit_leaves_a_complete_task_or_none(
    daemons: Daemons, client: Engine, tmp_path: Path, when: str, starts: list[str]
) -> None:
    witness = str(tmp_path / "witness")
    launcher = subprocess.run(
        [sys.executable, "-c", DOOMED_CLIENT, f"{STORE}.store.SqliteStore.__exit__", when],
        env={**os.environ, "WITNESS": witness},
        capture_output=True,
    )
    assert (launcher.returncode, launcher.stdout, launcher.stderr) == (-signal.SIGKILL, b"", b"")

    daemons.start()
    after = finished(client, client.submit(Draft(command="true")).id)
    tasks = client.list(Query())
    assert len(tasks) == 1 + len(starts)
    assert [finished(client, task.id).state for task in tasks] == ["completed"] * len(tasks)
    assert lines(witness) == starts
    assert after.state == "completed"


@pytest.mark.spec("L20")
@pytest.mark.fault("F4")
@pytest.mark.trap(22)
@pytest.mark.parametrize(
    ("ending", "code", "number"), [("exit 7", 7, None), ("exit 0", 0, None), ("kill -9 $$", None, 9)]
)
def test_a_task_continues_without_a_daemon_and_its_end_is_known_afterwards(
    daemons: Daemons, client: Engine, tmp_path: Path, ending: str, code: int | None, number: int | None
) -> None:
    daemons.start()
    task = started(client, f"echo start >> {tmp_path}/witness; echo ready; read line; echo more; {ending}")
    daemons.kill()
    client.send(task.id, b"\n")
    eventually(lambda: b"more" in client.output(task.id).content)
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.latest.exit_code, ended.latest.signal) == (code, number)
    assert client.output(task.id).content == b"ready\nmore\n"
    assert lines(tmp_path / "witness") == ["start"]
    assert ended.latest.pid == task.latest.pid


@pytest.mark.spec("L20")
@pytest.mark.fault("F4")
def test_a_running_task_is_adopted_and_keeps_its_slot(
    daemons: Daemons, client: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_LANES_SHELL", "1")
    daemons.start()
    task = started(client, "echo ready; read line; exit 5")
    queued = client.submit(Draft(command="true"))
    for _ in range(2):
        daemons.kill()
        daemons.start()
    other_lane = finished(client, client.submit(Draft(command="true", lane="local")).id)

    assert other_lane.state == "completed"
    assert [client.get(each.id).state for each in (task, queued)] == ["running", "pending"]
    client.send(task.id, b"\n")
    assert finished(client, task.id).latest.exit_code == 5
    assert finished(client, queued.id).state == "completed"


@pytest.mark.spec("L20")
def test_queued_delayed_and_dependent_tasks_start_after_the_crash(
    daemons: Daemons, client: Engine, tmp_path: Path
) -> None:
    daemons.start()
    first = started(client, "echo ready; read line")
    waiting = client.submit(Draft(command="true", after=(first.id,)))
    delayed = client.submit(Draft(command="true", at=datetime.now(UTC) + timedelta(milliseconds=300)))
    daemons.kill()
    queued = client.submit(Draft(command="true"))
    daemons.start()
    client.send(first.id, b"\n")

    assert [finished(client, task.id).state for task in (first, waiting, delayed, queued)] == [
        "completed"
    ] * 4


@pytest.mark.spec("L9", "L20")
@pytest.mark.fault("F8")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_cancel_is_finished_by_the_next_daemon(daemons: Daemons, client: Engine, when: str) -> None:
    daemons.start_doomed("errands.runners.pool.pool.ShimPool.stop", when)
    stubborn = "trap '' TERM; sleep 1000 & echo ready; while :; do wait; done"
    task = started(client, stubborn, grace=timedelta(milliseconds=300))
    client.cancel([task.id])
    daemons.wait_for_doom()
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.state, ended.latest.signal) == ("cancelled", 9)
    assert linux.marked("ERRANDS_RUN_ID", task.latest.id) == []
    assert ends(client, task.id) == ["cancelled"]


@pytest.mark.spec("L9", "L20")
def test_a_task_cancelled_while_no_daemon_runs_is_ended_by_the_next(daemons: Daemons, client: Engine) -> None:
    daemons.start()
    task = started(client, "echo ready; sleep 1000")
    daemons.kill()
    assert client.cancel([task.id])[0].is_cancelling
    daemons.start()

    assert finished(client, task.id).state == "cancelled"


@pytest.mark.spec("L9", "L20")
def test_a_task_that_is_cancelled_between_claim_and_spawn_is_never_spawned(
    daemons: Daemons, client: Engine, tmp_path: Path
) -> None:
    daemons.start_doomed(f"{SUPERVISOR}.start")
    task = client.submit(Draft(command=f"echo start >> {tmp_path}/witness"))
    daemons.wait_for_doom()
    client.cancel([task.id])
    daemons.start()

    assert finished(client, task.id).state == "cancelled"
    assert lines(tmp_path / "witness") == []


@pytest.mark.trap(21)
def test_runs_that_left_nothing_behind_are_settled_and_never_run_again(
    daemons: Daemons, client: Engine, home: Home, tmp_path: Path
) -> None:
    daemons.start()
    tasks = [started(client, f"echo start >> {tmp_path}/witness; echo ready; sleep 1000") for _ in range(3)]
    shims = [shim_of(home, task) for task in tasks]
    daemons.kill()
    for pid in (*shims, *(pid for task in tasks for pid in linux.marked("ERRANDS_RUN_ID", task.latest.id))):
        end(pid)
    daemons.start()
    ended = [finished(client, task.id) for task in tasks]

    assert {(task.state, task.latest.failure) for task in ended} == {("failed", "lost")}
    assert lines(tmp_path / "witness") == ["start"] * 3


@pytest.mark.spec("L20")
@pytest.mark.fault("F12")
def test_runs_of_an_earlier_boot_are_interrupted_and_no_process_is_touched(
    daemons: Daemons, client: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemons.start()
    task = started(client, "echo ready; sleep 1000")
    daemons.kill()
    (tmp_path / "boot_id").write_text("00000000-0000-0000-0000-000000000000\n")
    monkeypatch.setenv("ERRANDS_BOOT_ID_FILE", str(tmp_path / "boot_id"))
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.state, ended.latest.failure) == ("failed", "interrupted")
    assert ended.latest.error == "the machine restarted while this ran"
    assert ended.latest.pid is not None
    assert linux.is_alive(ended.latest.pid)


@pytest.mark.fault("F13")
@pytest.mark.trap(23)
def test_a_foreign_process_with_a_reused_pid_is_neither_adopted_nor_signalled(
    daemons: Daemons, client: Engine, home: Home
) -> None:
    daemons.start()
    task = started(client, "echo ready; sleep 1000")
    shim, pid = shim_of(home, task), linux.marked("ERRANDS_RUN_ID", task.latest.id)
    daemons.kill()
    for each in (shim, *pid):
        end(each)
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    path = Path(rundir.record_path(home.run(task.latest.id), 1))
    path.write_text(
        path.read_text()
        .replace(f"shim={shim}", f"shim={stranger.pid}")
        .replace(f"pid {pid[0]} ", f"pid {stranger.pid} ")
    )
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.state, ended.latest.failure) == ("failed", "lost")
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


@pytest.mark.fault("F38")
@pytest.mark.trap(72)
@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        ("run {run} attempt=1 shim=4711 start=1 boot={boot} v=1\nexit code=7\n", "failed", 7),
        (
            "run {run} attempt=1 shim=4711 boot={boot} v=9 mood=good\nexit code=0 colour=blue mood=\n",
            "completed",
            0,
        ),
        (
            "run {run} attempt=1 shim=4711 boot={boot}\npid 4711\nanother line\nexit signal=9 step=0\n",
            "failed",
            None,
        ),
        ("run {run} attempt=1 boot={boot}\nexit mood=good\n", "failed", None),
    ],
)
def test_the_record_of_a_shim_of_another_version_is_understood(
    daemons: Daemons, client: Engine, home: Home, text: str, state: str, code: int | None
) -> None:
    daemons.start_doomed(f"{SUPERVISOR}.start")
    task = client.submit(Draft(command="true"))
    daemons.wait_for_doom()
    os.makedirs(home.run(f"{task.id}.1"), exist_ok=True)
    Path(rundir.record_path(home.run(f"{task.id}.1"), 1)).write_text(
        text.format(run=f"{task.id}.1", boot=linux.boot_id())
    )
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.state, ended.latest.exit_code) == (state, code)


@pytest.mark.fault("F11", "F18")
def test_one_damaged_record_does_not_stop_the_daemon(daemons: Daemons, client: Engine, home: Home) -> None:
    daemons.start()
    bad, good = (started(client, "echo ready; read line") for _ in range(2))
    daemons.kill()
    with client.store as store:
        store.db.write("UPDATE tasks SET action = '{broken' WHERE id = ?", (bad.id,))  # type: ignore[attr-defined]
    daemons.start()
    client.send(good.id, b"\n")

    assert finished(client, good.id).state == "completed"
    assert finished(client, client.submit(Draft(command="true")).id).state == "completed"
    assert client.store.view(bad.id).latest.state == "running"
    assert client.store.damaged() == [bad.id]
    assert f"{bad.id}.1 cannot be watched" in Path(home.log).read_text()


@pytest.mark.fault("F11", "F19")
def test_a_daemon_that_cannot_start_says_why_and_touches_nothing(
    daemons: Daemons, client: Engine, home: Home
) -> None:
    daemons.start()
    task = started(client, "echo ready; read line; exit 5")
    daemons.kill()
    with client.store as store:
        store.db.write("PRAGMA user_version = 99")  # type: ignore[attr-defined]
    for _ in range(3):
        with pytest.raises(DaemonError, match="upgrade Errands"):
            daemons.start()
    assert task.latest.pid is not None
    assert linux.is_alive(task.latest.pid)
    with client.store as store:
        store.db.write(f"PRAGMA user_version = {len(MIGRATIONS)}")  # type: ignore[attr-defined]
    daemons.start()
    client.send(task.id, b"\n")

    assert finished(client, task.id).latest.exit_code == 5


def started(client: Engine, command: str, **options: timedelta) -> View:
    """Start a task that prints `ready`, and wait until it has and its pid is stored."""
    task = client.submit(Draft(command=command, input="pipe", **options))  # type: ignore[arg-type]
    eventually(lambda: b"ready" in client.output(task.id).content and client.get(task.id).latest.pid)
    return client.get(task.id)


def shim_of(home: Home, task: View) -> int:
    found = run_record.read(home.run(task.latest.id), task.latest.attempt)
    assert found is not None
    assert found.shim is not None
    return found.shim


def ends(client: Engine, task_id: str) -> list[str]:
    return [event.name for event in client.events(task_id) if event.name in ENDED]
