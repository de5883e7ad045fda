"""Sample records for tests, which spell out only what matters to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from errands.model.action import Shell
from errands.model.ending import Ending
from errands.model.limits import Limits
from errands.model.record import evolve
from errands.model.run import Event, Run
from errands.model.task import Task
from errands.model.trigger import Now
from errands.model.view import RunView, View
from tests.hand_clock import START


def moves(events: Iterable[Event]) -> list[str]:
    """Return the names of a task's events since it was queued."""
    return [event.name for event in events if event.name not in ("approved", "variables removed")]


def sample_task(id: str = "true-222222", **changes: Any) -> Task:
    task = Task(
        id=id,
        kind="shell",
        state="active",
        name="true",
        description="true",
        action=Shell(commands=(("true",),), cwd="/", environment="none"),
        trigger=Now(),
        limits=Limits(),
        lane="shell",
        priority="normal",
        notify="always",
        owner="user",
        parent=None,
        message=None,
        batch=None,
        key=None,
        template=None,
        after=(),
        created_at=START,
        created_by="tester",
    )
    return evolve(task, **changes)


def sample_run(task_id: str = "true-222222", **changes: Any) -> Run:
    run = Run(
        task_id=task_id,
        number=1,
        cause="submit",
        state="running",
        attempt=1,
        created_at=START,
        started_at=START,
    )
    return evolve(run, **changes)


def sample_view(run: RunView, **changes: Any) -> View:
    view = View(
        id="true-222222",
        kind="shell",
        state="pending",
        task_state="active",
        name="true",
        description="true",
        command="true",
        cwd="/",
        lane="shell",
        priority="normal",
        batch=None,
        key=None,
        template=None,
        owner="user",
        notify="always",
        parent=None,
        created_at=START,
        created_by="ada",
        updated_at=START,
        runs=1,
        due_at=None,
        waits=0,
        latest=run,
    )
    return evolve(view, **changes)


def sample_ending(**changes: Any) -> Ending:
    return evolve(Ending(code=0, started_at=START, ended_at=START, pid=4711, elapsed=0.1), **changes)
