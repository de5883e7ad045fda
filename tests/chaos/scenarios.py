"""Scenarios: small plans, each designed to reveal one kind of fault within seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.chaos.plan import Act, Fault, Plan
from tests.chaos.planned_task import PlannedTask
from tests.chaos.workload import FOREVER

SETTLED_WITHIN = 40.0
POINT_WITHIN = 30.0  # every point of a scenario is reached, however busy the machine is


def ends() -> Plan:
    """Tasks end in every possible way, and readers get the notices."""
    steps = ("exit:0", "exit:7", "exit:255", "signal:9", "signal:15", "signal:11")
    planned_tasks = [_task(n, "lines:5", each, owner=("ann", "bob")[n % 2]) for n, each in enumerate(steps)]
    return _plan(planned_tasks)


def ends_in_a_crash() -> Plan:
    """The daemon dies after it has recorded an end and before anyone was notified."""
    planned_tasks = [_task(n, "sleep:0.3", f"exit:{n}") for n in range(4)]
    return _plan(planned_tasks, faults=[_death_at("P10 recorded, not notified")])


def ends_half_recorded() -> Plan:
    """The daemon dies between the two steps of recording an end."""
    planned_tasks = [_task(n, "sleep:0.3", f"exit:{n}") for n in range(4)]
    return _plan(planned_tasks, faults=[_death_at("P10 ended, not announced")])


def ends_unrecorded() -> Plan:
    """The daemon dies after it has received an end and before recording it."""
    planned_tasks = [_task(n, "lines:5", "sleep:0.3", f"exit:{n}") for n in range(4)]
    return _plan(planned_tasks, faults=[_death_at("P9 ended, not recorded")])


def killed_while_running() -> Plan:
    """The daemon dies while tasks run, and comes back before they end."""
    planned_tasks = [_task(n, "lines:5", "sleep:1.2", f"exit:{n}") for n in range(3)]
    return _plan(planned_tasks, faults=[Fault(at=0.0, kind="daemon", pick=1, after="d2")])


def cancelled() -> Plan:
    """Tasks with children of every kind are cancelled."""
    families = ("tree",), ("session",), ("clean",), ("deaf", "tree", "session")
    planned_tasks = [_task(n, *each, "lines:2", FOREVER, "exit:0") for n, each in enumerate(families)]
    return _plan(
        planned_tasks, acts=[_act(0.1, "cancel", planned, when="running") for planned in planned_tasks]
    )


def cancelled_while_down() -> Plan:
    """A cancel is requested while no daemon runs."""
    planned_tasks = [_task(0, "tree", FOREVER, "exit:0")]
    faults = [Fault(at=0.0, kind="daemon", pick=1, after="d0", answered=3)]
    acts = [
        _act(0.1, "submit", planned_tasks[0], when="running"),
        _act(0.2, "cancel", planned_tasks[0], when="down"),
    ]
    return _plan(planned_tasks, acts=acts, faults=faults)


def crowded() -> Plan:
    """More tasks than their lanes are wide."""
    # So long that on a busy machine, too, all that may start have started before the first ends.
    planned_tasks = [_task(n, "sleep:3", "exit:0") for n in range(12)]
    return _plan(planned_tasks)


def queued() -> Plan:
    """Tasks of all priorities wait for a lane of one."""
    priorities = ("normal", "low", "low", "high", "normal", "high", "normal")
    planned_tasks = [
        _task(n, "sleep:0.1", "exit:0", lane="narrow", priority=each) for n, each in enumerate(priorities)
    ]
    return _plan(planned_tasks)


def repeated() -> Plan:
    """Launches are repeated with the same key."""
    planned_tasks = [_task(n, "sleep:0.1", "exit:0") for n in range(3)]
    return _plan(planned_tasks, acts=[_act(0.3, "submit", planned) for planned in planned_tasks])


def shim_killed() -> Plan:
    """A shim dies, and leaves the children of its task behind."""
    planned_tasks = [_task(0, "tree", "session", "lines:3", FOREVER, "exit:0")]
    return _plan(planned_tasks, faults=[Fault(at=0.0, kind="shim", after="d0")])


def zygotes_killed() -> Plan:
    """Zygotes die one after the other, as soon as they are ready, while tasks wait to be started."""
    planned_tasks = [_task(n, "lines:3", "sleep:0.1", f"exit:{n}", lane="broad") for n in range(24)]
    acts = [Act(at=0.0, client=0, verb="submit", tokens=(planned.token,)) for planned in planned_tasks]
    faults = [Fault(at=0.02 * n, kind="zygote") for n in range(10)]
    return _plan(planned_tasks, acts=acts, faults=faults)


def printed() -> Plan:
    """Tasks print more and less than their caps."""
    sizes = ((200_000, 20_000), (9_000, 4_096), (5_000, 65_536))
    planned_tasks = [
        _task(n, f"blob:{size}", "lines:40", "exit:0", cap=cap) for n, (size, cap) in enumerate(sizes)
    ]
    return _plan(planned_tasks)


def flooded() -> Plan:
    """Tasks print faster than viewers can read."""
    planned_tasks = [
        _task(n, f"flood:{n + 3}0000000", "sleep:5", "lines:5", "exit:0", cap=100_000) for n in range(3)
    ]
    return _plan(planned_tasks)


def rivals() -> Plan:
    """Three more daemons are started beside the first."""
    planned_tasks = [_task(n, "sleep:0.4", "exit:0") for n in range(4)]
    return _plan(planned_tasks, faults=[Fault(at=0.3, kind="second daemon", pick=3)])


def reused() -> Plan:
    """The pids of dead processes belong to foreign processes when the daemon comes back."""
    planned_tasks = [_task(n, "tree", "lines:2", FOREVER, "exit:0") for n in range(2)]
    acts = [_act(0.1, "cancel", planned, when="faults done") for planned in planned_tasks]
    return _plan(planned_tasks, acts=acts, faults=[Fault(at=0.0, kind="reused pids", after="d1")])


def clock_set_back() -> Plan:
    """The clock is twenty minutes ahead while tasks end, and is then corrected."""
    planned_tasks = [_task(n, "sleep:0.3", f"exit:{n}") for n in range(3)]
    faults = [
        Fault(at=0.0, kind="clock", span=1200.0),
        _death_at("P10 recorded, not notified"),
        Fault(at=0.2, kind="clock", span=0.0),
    ]
    return _plan(planned_tasks, faults=faults)


def disk_full() -> Plan:
    """The disk is full for a while; tasks are running, queued and launched."""
    planned_tasks = [_task(n, "lines:200", "sleep:0.4", "lines:200", f"exit:{n}") for n in range(20)]
    return _plan(planned_tasks, faults=[Fault(at=0.5, kind="disk full", span=1.0)])


def _death_at(point: str) -> Fault:
    return Fault(at=0.1, kind="daemon", point=point, within=POINT_WITHIN)


def _task(number: int, *steps: str, **more: Any) -> PlannedTask:
    token = f"d{number}"
    return PlannedTask(token=token, steps=steps, key=f"key {token}", **more)


def _act(at: float, verb: str, planned: PlannedTask, *, when: str = "") -> Act:
    return Act(at=at, client=0, verb=verb, tokens=(planned.token,), when=when)


def _plan(
    planned_tasks: list[PlannedTask], *, acts: list[Act] | None = None, faults: list[Fault] | None = None
) -> Plan:
    launch = Act(at=0.0, client=0, verb="submit", tokens=tuple(planned.token for planned in planned_tasks))
    return Plan(
        seed=0,
        planned_tasks=tuple(planned_tasks),
        acts=(launch, *(acts or ())),
        faults=tuple(faults or ()),
        clients=1,
    )


PLANS: dict[str, Callable[[], Plan]] = {
    plan.__name__: plan
    for plan in (
        ends, ends_in_a_crash, ends_half_recorded, ends_unrecorded, killed_while_running, cancelled,
        cancelled_while_down, crowded, queued, repeated, shim_killed, zygotes_killed,
        printed, flooded, rivals, reused, clock_set_back, disk_full,
    )
}  # fmt: skip
