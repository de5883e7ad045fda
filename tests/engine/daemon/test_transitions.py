"""Transitions of a run in the store: the first final state wins, and nothing changes an ended run."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errands.model.ending import Ending
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.states import ENDED, RUN_MOVES
from errands.stores.sqlite.connection import Connection
from errands.stores.sqlite.store import SqliteStore
from tests.hand_clock import START
from tests.samples import sample_ending, sample_task

ENDINGS = {
    "exit 0": sample_ending(),
    "exit 3": sample_ending(code=3),
    "signal": sample_ending(code=None, signal=9),
    "stopped": sample_ending(code=None, signal=15, stop="cancel"),
    "time-out": sample_ending(code=None, signal=15, stop="timeout"),
    "lost": Ending(lost="its shim was killed"),
    "reboot": Ending(interrupted=True),
}
MOVES = ("claim", "withdraw", "skip", "request a stop", *ENDINGS)


@pytest.fixture(scope="module")
def store() -> Iterator[SqliteStore]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        opened = SqliteStore(Connection(f"{folder}/home/errands.db"), "/runs")
        yield opened
        opened.close()


@pytest.fixture
def run_id(store: SqliteStore) -> str:
    return queued(store)


def queued(store: SqliteStore) -> str:
    """Queue a run in an otherwise empty store."""
    with store:
        store.db.write("DELETE FROM tasks")
        run = store.add_task(sample_task("true-222222"))
    assert run is not None
    return run.id


def move(store: SqliteStore, run_id: str, name: str) -> bool:
    """Try a transition in its own transaction, and return whether it happened."""
    with store:
        match name:
            case "claim":
                return bool(store.claim("shell", limit=1, now=START))
            case "withdraw":
                return store.cancel_pending(run_id, by="ada", now=START)
            case "skip":
                return store.skip_pending(run_id, reason="dependency", error="x", now=START)
            case "request a stop":
                return store.request_stop(run_id, by="ada", now=START)
            case _:
                # The supervisor remembers the run as it was claimed, whatever happened meanwhile.
                run, ending = evolve(store.run(run_id), state="running"), ENDINGS[name]
                outcome = rollup(store.task(run.task_id), run, ending)
                return store.end(run, outcome, ending, summary=None, now=START)


@pytest.mark.spec("L7")
@pytest.mark.trap(18)
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(moves=st.lists(st.sampled_from(MOVES), max_size=12))
def test_the_first_final_state_wins_whatever_comes_after_it(store: SqliteStore, moves: list[str]) -> None:
    run_id = queued(store)
    final: str | None = None
    for name in moves:
        before, story = store.view("true-222222"), store.events("true-222222")
        happened = move(store, run_id, name)
        after = store.view("true-222222")
        if not happened:
            assert (after, store.events("true-222222")) == (before, story)
        assert not (happened and final), f"{name} moved a run that was {final}"
        assert after.state in (before.state, *RUN_MOVES[before.state].values())
        final = after.state if after.state in ENDED else None
    ends = [event.name for event in store.events("true-222222") if event.name in ENDED]
    assert ends == ([final] if final else [])


@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ("pending", ("request a stop", *ENDINGS)),
        ("running", ("claim", "withdraw", "skip")),
        ("completed", MOVES),
        ("cancelled", MOVES),
        ("skipped", MOVES),
    ],
)
def test_a_transition_that_does_not_fit_the_state_changes_nothing(
    store: SqliteStore, run_id: str, state: str, refused: tuple[str, ...]
) -> None:
    way = {
        "running": ["claim"],
        "completed": ["claim", "exit 0"],
        "cancelled": ["withdraw"],
        "skipped": ["skip"],
    }
    assert all(move(store, run_id, each) for each in way.get(state, []))
    before = store.view("true-222222")
    assert before.state == state

    assert not any(move(store, run_id, each) for each in refused)
    assert store.view("true-222222") == before
    assert store.counts()[state] == 1


@pytest.mark.spec("L7")
def test_the_database_refuses_a_second_live_run_and_an_unknown_state(store: SqliteStore, run_id: str) -> None:
    for wrong in (
        "UPDATE runs SET state = 'sleeping'",
        "UPDATE runs SET state = 'completed'",  # without a time of completion
        "INSERT INTO runs (task, number, cause, state, lane, priority, created_at) "
        "SELECT seq, 2, 'restart', 'pending', 'shell', 1, 0 FROM tasks",
    ):
        with pytest.raises(sqlite3.IntegrityError), store:
            store.db.write(wrong)
    assert store.view("true-222222").state == "pending"
