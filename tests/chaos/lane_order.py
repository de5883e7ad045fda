"""The order of a lane, checked by the witness alone.

While as many tasks as a lane is wide are between their first and last act, no other has been claimed.
Two tasks that both waited at such a moment must be claimed in their order; the first of them that still
waits at a later such moment, when the other has started, was passed over.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from tests.chaos.evidence import Evidence
from tests.chaos.plan import LANES
from tests.chaos.violation import Violation

_RANK = {"high": 0, "normal": 1, "low": 2}


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A task that waited only for its turn; places are lines of the witness file."""

    run_id: str
    rank: int
    asked: int
    known: int
    place: tuple[int, int]
    start: int

    def is_before(self, other: _Waiting) -> bool:
        """Return whether this task's turn comes first, as far as can be known from outside."""
        if self.rank != other.rank:
            return self.rank < other.rank
        is_same_call = self.place[0] == other.place[0]
        return self.place < other.place if is_same_call else self.known < other.asked


def lane_order(evidence: Evidence) -> Iterator[Violation]:
    """I7: the best and oldest of a lane's queue is claimed first."""
    for lane in LANES:
        full = _full_moments(evidence, lane)
        queue = _queue(evidence, lane)
        for each in queue:
            waited, started = bisect_left(full, each.start) - 1, bisect_left(full, each.start)
            if waited < 0 or started == len(full):
                continue
            for other in queue:
                if other.known < full[waited] and full[started] < other.start and other.is_before(each):
                    what = f"{each.run_id} was started before {other.run_id}, which stood before it in {lane}"
                    yield Violation("I7", what)


def _full_moments(evidence: Evidence, lane: str) -> list[int]:
    """List the lines of the witness after which no other run can have been claimed in a lane."""
    busy: set[str] = set()
    moments = []
    for number, (word, run_id) in enumerate(evidence.witness.lines):
        if (
            run_id in evidence.witness.ends
            and evidence.planned_tasks[evidence.witness.tokens[run_id]].lane == lane
        ):
            if word == "start":
                busy.add(run_id)
            elif word == "end":
                busy.discard(run_id)
        if len(busy) >= LANES[lane]:
            moments.append(number)
    return moments


def _queue(evidence: Evidence, lane: str) -> list[_Waiting]:
    """List the first runs of a lane that waited for nothing else, were not cancelled, and started."""
    starts = {run_id: n for n, (word, run_id) in reversed(_lines(evidence)) if word == "start"}
    cancelled = evidence.acts("cancel")
    places: dict[str, tuple[int, int]] = {}
    for number, act in enumerate(evidence.plan.acts):
        if act.verb == "submit":
            for index, token in enumerate(act.tokens):
                # A task whose launch was requested twice has no certain place.
                places[token] = (number, index) if token not in places else (-len(places), 0)
    return [
        _Waiting(
            run_id=f"{view.id}.1",
            rank=_RANK[planned.priority],
            asked=evidence.witness.asked[view.name],
            known=evidence.witness.known[view.name],
            place=places[view.name],
            start=starts[f"{view.id}.1"],
        )
        for view in evidence.views
        if (planned := evidence.planned_tasks[view.name]).lane == lane
        and not (planned.after or planned.delay or view.name in cancelled)
        and f"{view.id}.1" in starts
        and view.name in evidence.witness.known
    ]


def _lines(evidence: Evidence) -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(evidence.witness.lines))
