"""A plan: everything that will be done in one round, fixed before the round begins.

It is made only from a seed, so the same seed always leads to the same tasks, acts and faults.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Set
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.chaos.planned_task import PlannedTask

# Lanes of the engine under test: one that keeps strict order, one that is crowded, one that is not.
LANES = {"narrow": 1, "wide": 6, "broad": 12}
OWNERS = ("ann", "bob")
FAULTS_DONE = "faults.done"  # the file that says that all faults have been carried out


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something a client does to tasks, at a time counted from the beginning of the round.

    It waits until the tasks run (`when` is "running"), until there is no daemon ("down"), or until all faults
    have been carried out ("faults done").
    """

    at: float
    client: int
    verb: str  # submit, cancel, restart, clear, ensure
    tokens: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something the nemesis does, at a time counted from the beginning of the round.

    `point` and `nth` name where a daemon or client kills itself; a daemon that does not get there `within` so
    many seconds is killed anyway; `span` is how long the fault lasts; `pick` chooses among several victims;
    `after` names a task that must have started before; a daemon gets a successor when so many acts were
    `answered`; `then` is the kind of the next daemon: `armed` with
    points and clock, `plain` as users start it, `embedded` in a program.
    """

    at: float
    kind: str
    point: str = ""
    nth: int = 1
    within: float = 1.0
    span: float = 0.0
    pick: int = 0
    then: str = "armed"
    after: str = ""
    answered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    seed: int
    planned_tasks: tuple[PlannedTask, ...]
    acts: tuple[Act, ...]
    faults: tuple[Fault, ...]
    clients: int

    @property
    def needs_small_disk(self) -> bool:
        return any(fault.kind == "disk full" for fault in self.faults)

    def written(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def read(text: str) -> Plan:
    """Read a plan back as it was written."""
    raw: dict[str, Any] = json.loads(text)
    return Plan(
        seed=raw["seed"],
        planned_tasks=tuple(
            PlannedTask(**{**each, "steps": tuple(each["steps"]), "after": tuple(each["after"])})
            for each in raw["planned_tasks"]
        ),
        acts=tuple(Act(**{**each, "tokens": tuple(each["tokens"])}) for each in raw["acts"]),
        faults=tuple(Fault(**each) for each in raw["faults"]),
        clients=raw["clients"],
    )


def make_plan(seed: int, *, tasks: int, kills: int, without: Set[str] = frozenset()) -> Plan:
    """Plan a round with a number of tasks, and a number of kills among the faults."""
    from tests.chaos.faults import plan_faults
    from tests.chaos.workload import CLIENTS, plan_workload

    dice = Random(seed)
    span = kills * 0.42 + 1.0
    planned_tasks, acts = plan_workload(dice, tasks=tasks, span=span)
    faults = plan_faults(dice, kills=kills, span=span, without=without)
    return Plan(seed=seed, planned_tasks=planned_tasks, acts=acts, faults=faults, clients=CLIENTS)
