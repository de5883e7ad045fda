"""Evidence: everything that is known about a round once it is over, gathered before it is checked."""

from __future__ import annotations

import glob
import json
from dataclasses import dataclass, field
from typing import Any

from errands.engine.engine import Engine
from errands.model.run import Event
from errands.model.view import RunView, View
from errands.ports.output import Piece
from errands.ports.store import Query
from tests.chaos import history, witness
from tests.chaos.plan import Plan
from tests.chaos.planned_task import PlannedTask
from tests.chaos.subject import Subject


@dataclass
class Evidence:
    """`lost`, `perhaps_lost` and `unfindable` are what the nemesis knows about runs whose shims it killed."""

    plan: Plan
    blob: bytes
    answers: history.Answers
    witness: witness.Witness
    views: list[View]
    runs: dict[str, RunView] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    notices: list[dict[str, Any]] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    perhaps_lost: set[str] = field(default_factory=set)
    unfindable: set[str] = field(default_factory=set)
    filled_disk: bool = False

    def __post_init__(self) -> None:
        self.planned_tasks: dict[str, PlannedTask] = {
            planned.token: planned for planned in self.plan.planned_tasks
        }

    def acts(self, verb: str, *, answered: bool = False) -> dict[str, int]:
        """Count, by token, the acts that were requested, or only those that were answered."""
        counted: dict[str, int] = {}
        for number in self.answers.answered if answered else self.answers.asked:
            act = self.plan.acts[number]
            if act.verb == verb:
                for token in act.tokens:
                    counted[token] = counted.get(token, 0) + 1
        return counted


def gather(subject: Subject, plan: Plan, engine: Engine) -> Evidence:
    """Read all evidence: histories, witness, notices, and what the engine reports in the end."""
    evidence = Evidence(
        plan=plan,
        blob=subject.blob,
        answers=history.read(subject.base),
        witness=witness.read(subject.witness),
        views=engine.list(Query()),
    )
    for view in evidence.views:
        evidence.events[view.id] = engine.events(view.id)
        for run in engine.get(view.id).history:
            evidence.runs[run.id] = run
            evidence.pieces[run.id] = _pieces(engine, run.id)
    for path in glob.glob(f"{subject.base}/notices.*"):
        with open(path) as file:
            evidence.notices += map(json.loads, file)
    return evidence


def _pieces(engine: Engine, run_id: str) -> list[Piece]:
    pieces = []
    offset = 0
    end = engine.tail(run_id, 0).next_offset
    while offset < end and (piece := engine.output(run_id, offset=offset)).content:
        pieces.append(piece)
        offset = piece.next_offset
    return pieces
