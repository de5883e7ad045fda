"""The daemons of a round: when one dies, the next is started, often with a point armed at which it will die.

Most are started with the harness's clock and points, some as users start them, and some are programs
that embed the daemon.
"""

from __future__ import annotations

import signal
import time
from collections import Counter

from tests.chaos.plan import Fault, Plan
from tests.chaos.processes import wait_until
from tests.chaos.subject import READY_WITHIN, Subject
from tests.chaos.violation import Violation

LEAVING_WITHIN = 30.0


class Daemons:
    """`done` has the faults, by their place in the plan, that daemons have carried out on themselves."""

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self.counts: Counter[str] = Counter()
        self.recoveries: list[float] = []
        self.violations: list[Violation] = []
        self.done: set[int] = set()
        self._subject = subject
        self._plan = plan
        self._armed: tuple[int, int] | None = None

    def begin(self, index: int, *, kind: str, wait: bool) -> None:
        """Start a daemon with the next planned point armed; return how long it takes to answer."""
        self.note_end()
        began = time.monotonic()
        armed = self._next_point(index)
        if armed is not None and kind == "armed":
            fault = self._plan.faults[armed]
            self._armed = self._subject.spawn_daemon(point=fault.point, nth=fault.nth), armed
        else:
            self._subject.spawn_daemon(kind=kind)
        if not wait:
            return
        is_decided = wait_until(
            lambda: self._subject.is_ready() or not self._subject.daemons(), within=READY_WITHIN
        )
        if self._subject.is_ready():
            self.recoveries.append(time.monotonic() - began)
        elif not is_decided:
            self.violations.append(Violation("I17", f"no daemon answers after {READY_WITHIN} s"))

    def await_end(self, index: int) -> None:
        """Wait for a daemon that was armed for this fault to reach its point."""
        if self._armed is not None and self._armed[1] == index:
            pid = self._armed[0]
            wait_until(lambda: self._subject.is_over(pid), within=self._plan.faults[index].within)
            self.note_end()

    def note_end(self) -> None:
        """Record a daemon that killed itself at its point."""
        if self._armed is None:
            return
        pid, index = self._armed
        if self._subject.codes.get(pid) == -signal.SIGKILL and index not in self.done:
            self.done.add(index)
            self.counts[f"kill daemon at {self._plan.faults[index].point}"] += 1
        self._armed = None

    def begin_second_daemons(self, fault: Fault) -> None:
        """Start more daemons at once: one must remain, and the others must exit without an error."""
        self.counts["second daemon"] += 1
        rivals = [self._subject.spawn_daemon(kind="plain") for _ in range(fault.pick)]
        if not wait_until(lambda: len(self._subject.daemons()) <= 1, within=LEAVING_WITHIN, every=0.02):
            pids = [each.pid for each in self._subject.daemons()]
            self.violations.append(Violation("I16", f"several daemons live: {pids}"))
        for pid in rivals:
            if (code := self._subject.codes.get(pid, 0)) not in (0, -signal.SIGKILL):
                self.violations.append(Violation("I16", f"a daemon that was not needed left with {code}"))

    def _next_point(self, index: int) -> int | None:
        for number in range(index, len(self._plan.faults)):
            fault = self._plan.faults[number]
            if fault.kind == "daemon" and number not in self.done:
                return number if fault.point else None
        return None
