"""The supervisor: every report of the runner counts for the attempt that it names, and for no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from errands.config import Config
from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.daemon.launch import LaunchBuilder
from errands.engine.daemon.outcome import OutcomeWriter
from errands.engine.daemon.supervisor import Supervisor
from errands.model.errors import StoreError
from errands.ports.home import Home
from errands.ports.runner import Ended, Refused, Started
from errands.runners.output import log
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.store import SqliteStore
from tests.engine.daemon.quiet_runner import QuietRunner
from tests.hand_clock import START, HandClock
from tests.samples import sample_ending, sample_task

if TYPE_CHECKING:
    from errands.ports.runner import Report

RUN = "true-222222.1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(Connection(str(tmp_path / "errands.db")), str(tmp_path / "runs"))
    yield opened
    opened.close()


@pytest.fixture
def runner() -> QuietRunner:
    return QuietRunner()


@pytest.fixture
def supervisor(store: SqliteStore, runner: QuietRunner, tmp_path: Path) -> Supervisor:
    """A supervisor with one run, in its second attempt."""
    home, config = Home(path=str(tmp_path)), Config()
    made = Supervisor(
        store,
        runner,
        Dispatcher(store, config),
        LaunchBuilder(store, home, config),
        OutcomeWriter(store, log, home, backoff=config.schedules.backoff),
        home,
        clock=HandClock(),
        wake=lambda: None,
        wake_later=lambda: None,
    )
    with store:
        store.add_environment("none", "{}")
        assert store.add_task(sample_task()) is not None
        store.claim("shell", limit=1, now=START)
        assert store.new_attempt(RUN, attempt=2)
    made.start(store.task("true-222222"), store.run(RUN))
    return made


@pytest.mark.spec("L20")
@pytest.mark.parametrize(
    "late",
    [
        Started(run_id=RUN, attempt=1, pid=4711, at=START),
        Ended(run_id=RUN, attempt=1, ending=sample_ending(code=3)),
        Refused(run_id=RUN, attempt=1),
    ],
    ids=lambda late: type(late).__name__,
)
def test_a_late_report_of_an_earlier_attempt_changes_nothing(
    store: SqliteStore,
    runner: QuietRunner,
    supervisor: Supervisor,
    caplog: pytest.LogCaptureFixture,
    late: Report,
) -> None:
    before = store.run(RUN)

    runner.listener(late)
    with store:
        ended, _ = supervisor.record(now=START)

    assert (ended, supervisor.has_reports) == ([], False)
    assert store.run(RUN) == before
    assert [launch.attempt for launch in runner.launches] == [2]
    assert f"run {RUN} is in attempt 2, so this is ignored" in caplog.text


@pytest.mark.spec("L20")
@pytest.mark.parametrize("is_after_reboot", [True, False])
def test_a_run_without_a_record_is_started_again_unless_the_machine_was(
    store: SqliteStore, runner: QuietRunner, supervisor: Supervisor, is_after_reboot: bool
) -> None:
    """A file system may lose what was written last, so after a reboot a missing record proves nothing."""
    with store:
        again = supervisor.recover(store.task("true-222222"), store.run(RUN), is_after_reboot=is_after_reboot)
        ended, _ = supervisor.record(now=START)

    assert (again is None) == is_after_reboot
    assert ended == ([RUN] if is_after_reboot else [])
    assert store.view("true-222222").latest.failure == ("interrupted" if is_after_reboot else None)


def test_the_reports_of_the_latest_attempt_count(
    store: SqliteStore, runner: QuietRunner, supervisor: Supervisor
) -> None:
    runner.listener(Ended(run_id=RUN, attempt=1, ending=sample_ending(code=3)))
    runner.listener(Started(run_id=RUN, attempt=2, pid=4711, at=START))
    runner.listener(Ended(run_id=RUN, attempt=2, ending=sample_ending(code=0)))
    with store:
        ended, _ = supervisor.record(now=START)

    assert ended == [RUN]
    assert (store.run(RUN).state, store.run(RUN).attempt) == ("completed", 2)


def turn(store: SqliteStore, supervisor: Supervisor, *, is_full: bool = False) -> None:
    """Record and start again what was reported, as the loops do."""
    with store:
        ended, _ = supervisor.record(now=START)
        revived = supervisor.revive()
        if is_full:
            raise StoreError("the disk is full")
    supervisor.forget(ended, [run.id for _, run in revived])
    for task, run in revived:
        supervisor.start(task, run)


@pytest.mark.spec("L20")
def test_an_attempt_that_is_refused_and_never_ran_is_followed_by_the_next(
    store: SqliteStore, runner: QuietRunner, supervisor: Supervisor
) -> None:
    """Even if the store cannot be written at that moment: the next turn of the loops does it."""
    runner.listener(Refused(run_id=RUN, attempt=2))
    with pytest.raises(StoreError):
        turn(store, supervisor, is_full=True)
    assert (supervisor.has_reports, store.run(RUN).attempt) == (True, 2)

    turn(store, supervisor)

    assert not supervisor.has_reports
    assert [launch.attempt for launch in runner.launches] == [2, 3]
    assert store.run(RUN).attempt == 3
