"""Schedules with real daemons and a real clock: killed at a slot, two at once, and idle."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import pytest

from errands import bootstrap
from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.view import RecurringView
from errands.ports.home import Home
from tests.engine.daemons import Daemons, eventually, lines

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(43, 46)
@pytest.mark.fault("F2")
@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("errands.engine.triggers.scheduler.Scheduler.fire_due", "after"),  # before the commit
        ("errands.engine.daemon.bell_server.BellServer.notify", "before"),  # after it, before the claim
        ("errands.engine.daemon.supervisor.Supervisor.start", "before"),  # claimed, not started
    ],
)
def test_a_daemon_that_dies_at_a_slot_runs_it_once(
    daemons: Daemons, client: Engine, tmp_path: Path, place: str, when: str
) -> None:
    witness = tmp_path / "witness"
    daemons.start_doomed(place, when)
    task = client.submit(Draft(command=f"echo run >> {witness}", every=timedelta(seconds=1), max_runs=1))
    daemons.wait_for_doom()
    assert lines(witness) == []
    daemons.start()
    eventually(lambda: client.store.view(task.id).state == "done")

    assert lines(witness) == ["run"]
    records = client.schedules.ledger(task.id)
    assert [each.run for each in records if each.outcome in ("ran", "late")] == [1]


@pytest.mark.spec("T3", "T10")
@pytest.mark.trap(43)
@pytest.mark.fault("F37")
def test_two_daemons_run_a_slot_once_and_promptly(daemons: Daemons, client: Engine, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    first = daemons.start()
    bootstrap.start_daemon(daemons.home)  # exits at once: the first has the lock
    task = client.submit(Draft(command=f"echo run >> {witness}", every=timedelta(seconds=1), max_runs=2))
    eventually(lambda: len(lines(witness)) == 1)
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    daemons.start()
    eventually(lambda: client.store.view(task.id).state == "done")

    assert lines(witness) == ["run", "run"]
    ledger = client.schedules.ledger(task.id)
    assert {each.run for each in ledger if each.outcome in ("ran", "late")} == {1, 2}
    first_slot = min(each.slot for each in ledger)
    started = min(run.started_at for run in client.store.history(task.id) if run.started_at)
    assert started - first_slot < timedelta(seconds=15)  # half of the longest sleep between two looks


@pytest.mark.spec("T3")
@pytest.mark.trap(57)
def test_a_daemon_whose_schedules_are_far_off_stays_idle(daemons: Daemons, client: Engine) -> None:
    client.submit(Draft(command="true", every=HOUR))
    client.submit(Draft(command="true", cron="0 0 1 1 *"))
    daemons.start()
    eventually(lambda: client.bell.is_answered())

    def is_idle() -> bool:
        before = _switches(daemons.pid)
        time.sleep(0.5)
        return _switches(daemons.pid) - before < 20

    eventually(is_idle)  # on a busy machine it may still be starting


def _switches(pid: int) -> int:
    """Return how often a process has voluntarily given up the processor, as it does whenever it waits."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


@pytest.mark.spec("T8")
def test_recurring_tasks_survive_the_death_of_the_daemon_with_their_schedules(
    daemons: Daemons, home: Home
) -> None:
    daemons.start()
    before = open_engine(home, consent="yes")
    often = before.submit(Draft(command="true", every=SECOND, max_runs=1000)).id
    daily = before.submit(Draft(command="true", cron="30 9 * * 1-5", zone="Europe/Vienna")).id
    resting = before.schedules.pause(before.submit(Draft(command="true", every=SECOND)).id).id
    eventually(lambda: _standing(before, often).runs >= 1)
    daemons.kill()
    known = {each: _standing(before, each) for each in (often, daily, resting)}
    before.close()

    after = open_engine(home)
    assert {each: _standing(after, each) for each in known} == known
    daemons.start()
    eventually(lambda: _standing(after, often).runs > known[often].runs)
    assert _standing(after, daily) == known[daily]
    assert (after.get(resting).state, _standing(after, resting).runs) == ("paused", known[resting].runs)
    after.close()


def _standing(engine: Engine, task_id: str) -> RecurringView:
    standing = engine.store.view(task_id).standing
    assert standing is not None
    return standing
