"""Questions of tests about a watch: whether it observes, what it found, and whether its records agree."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.sources.file import LAG
from tests.engine.daemons import eventually

QUICK = {"debounce": timedelta(milliseconds=50), "max_wait": timedelta(seconds=5)}


def watching(project: Path, on: str, command: str = "true", **more: Any) -> Draft:
    """Make a task in a project that waits for events, and does not wait long."""
    return Draft(command=command, cwd=str(project), on=on, **{**QUICK, **more})


def tick(project: Path) -> None:
    """Wait until the clock of files has come to what is now: it may lag behind by a few milliseconds."""
    probe, now = project.parent / "probe", time.time()

    def is_later() -> bool:
        probe.unlink(missing_ok=True)
        probe.touch()
        return probe.stat().st_ctime > now + LAG

    eventually(is_later)


def looks(client: Engine, task_id: str) -> bool:
    """Return whether the source of a task has been looked at, and is well."""
    watch = client.store.watch(task_id)
    return watch is not None and watch.health == "well"


def ran(client: Engine, task_id: str) -> int:
    """Count the runs of a task that have completed."""
    return sum(run.state == "completed" for run in client.store.history(task_id))


def has_run(client: Engine, task_id: str, count: int) -> bool:
    return ran(client, task_id) == count


def is_quiet(client: Engine, task_id: str) -> bool:
    """Return whether nothing of a task waits or runs."""
    return client.store.waiting_signals(task_id)[0] == 0 and not client.store.view(task_id).is_live


def check_books(client: Engine, task_id: str) -> None:
    """See that every signal has ended in one record, and every record that ran has its run."""
    store = client.store
    runs = {run.number for run in store.history(task_id)}
    records = store.slots(task_id)
    signals = [each for number in (0, *runs) for each in store.signals(task_id, run=number)]
    assert store.signals(task_id) == [], "signals wait"
    assert sum(each.count for each in records) == len(signals)
    for record in records:
        within = [each for each in signals if record.slot <= each.at <= record.until]
        assert len(within) == record.count, record
        assert {each.run for each in within} == {record.run or 0}, record
    started = [each.run for each in records if each.outcome == "ran"]
    assert len(started) == len(set(started)), "two records claim one run"
    assert set(started) <= runs
