"""The dispatcher: claims ready runs out of their lanes, as many as there is room for.

It only claims; the runs start after the transaction that claimed them has been committed, so a run that was
started is always known to have been.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from errands.config import Config
from errands.engine.approval.questions import ask_again, drift
from errands.engine.log_header import utc_text
from errands.model.approval import is_unasked
from errands.model.limits import UNKNOWN_LANE, lane_widths
from errands.model.run import Run
from errands.model.task import Task
from errands.model.trigger import recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store import Store

PLACED = 50  # runs for other hosts, which take no slot here, that are claimed in one transaction
LENDING = ("approval", "task")  # what an agent's run waits for without its slot


class Dispatcher:
    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._config = config
        self._widths: dict[str, int] = {}
        self._lanes: dict[str, str] = {}
        self._used: dict[str, int] = {}
        self._backlog: set[str] = set()
        # Runs that wait for others have lent their slots; those that want theirs back go first.
        self._lent: dict[str, str] = {}
        self._returning: list[str] = []
        self._asked: list[str] = []

    def look(self) -> None:
        """Read which lanes have ready runs, how wide they are, and which runs wait without their slot."""
        self._backlog = set(self._store.ready_lanes())
        self._widths = lane_widths(self._config.lanes, self._store.lane_widths())
        waiting = self._store.waiting_runs()
        for run_id, what in waiting.items():
            lane = self._lanes.get(run_id)
            # A new daemon counts every run it finds; where they are too many, one that wants a slot has none.
            if lane is not None and (what in LENDING or (what == "slot" and self._room(lane) < 0)):
                self._lent[run_id] = self._lanes.pop(run_id)
                self._used[lane] -= 1
        self._returning = [each for each, what in waiting.items() if what == "slot"]

    def expect(self, lanes: Iterable[str]) -> None:
        """Assume that these lanes have ready runs; if they have none, the next claim finds out."""
        self._backlog.update(lanes)

    @property
    def has_room(self) -> bool:
        """Return whether a ready run could be claimed now, or one that waited could continue."""
        return any(self._room(lane) > 0 for lane in self._backlog) or any(
            each in self._lanes or (each in self._lent and self._room(self._lent[each]) > 0)
            for each in self._returning
        )

    def give_back(self) -> list[str]:
        """Give slots back to runs that have waited, while there is room; return their ids."""
        given = []
        for run_id in list(self._returning):
            lane = self._lent.get(run_id)
            if lane is not None and self._room(lane) > 0:
                self._lanes[run_id] = self._lent.pop(run_id)
                self._used[lane] += 1
            if run_id in self._lanes:
                self._returning.remove(run_id)
                self._store.set_waiting(run_id, None)
                given.append(run_id)
        return given

    def claim(self, *, now: datetime) -> list[tuple[Task, Run]]:
        """Claim as many runs as the lanes have room for, and of those for other hosts a good many."""
        claimed: list[tuple[Task, Run]] = []

        def fit(task: Task, run: Run) -> bool:
            return self.is_fit(task, run, now)

        for lane in sorted(self._backlog):
            room, most = self._room(lane), len(claimed) + PLACED
            while room > 0 and len(claimed) < most and lane in self._backlog:
                found = self._store.claim(lane, limit=room, now=now, fit=fit)
                if len(found) < room:
                    self._backlog.discard(lane)
                room -= sum(1 for task, _ in found if not task.host)
                claimed += found
        return claimed

    def is_fit(self, task: Task, run: Run, now: datetime) -> bool:
        """Return whether a run may start: exactly this was approved, and recently.

        Otherwise it goes back to approval. Call it inside a transaction.
        """
        within = self._config.approval.expires
        fresh, said = drift(task)
        since = max(filter(None, (task.approved_at, task.due_at, run.created_at)))
        if not said and not is_unasked(task) and now - since > within:
            said = [f"it was approved {utc_text(since)} and did not start in time"]
        if not said and task.approved_by is None and recurring(task.trigger) is not None:
            said = ["its approval was withdrawn"]
        if said:
            ask_again(self._store, task, run, fresh, said, now=now, within=within)
            self._asked.append(task.id)
        return not said

    def asked(self) -> list[str]:
        """Return the tasks that went back to approval since the last call."""
        asked, self._asked = self._asked, []
        return asked

    def hold(self, task: Task, run: Run) -> None:
        """Count a run against its lane, once, until it is freed."""
        run_id = run.id
        if task.host:
            return  # it takes a slot on the host that has it
        if run_id not in self._lanes and run_id not in self._lent:
            self._lanes[run_id] = task.lane
            self._used[task.lane] = self._used.get(task.lane, 0) + 1

    def lend(self, run_id: str) -> None:
        """Let others use a run's slot until it is taken back."""
        lane = self._lanes.pop(run_id, None)
        if lane is not None:
            self._lent[run_id] = lane
            self._used[lane] -= 1

    def take_back(self, run_id: str) -> None:
        """Count a run against its lane again, even if the lane is full: the run continues at once."""
        lane = self._lent.pop(run_id, None)
        if lane is not None:
            self._lanes[run_id] = lane
            self._used[lane] += 1

    def free(self, run_id: str) -> None:
        self._lent.pop(run_id, None)
        lane = self._lanes.pop(run_id, None)
        if lane is not None:
            self._used[lane] -= 1

    def _room(self, lane: str) -> int:
        return self._widths.get(lane, UNKNOWN_LANE) - self._used.get(lane, 0)
