"""The observer: a reader that keeps reading everything and must never see a state go backwards.

Whenever it sees that runs have ended, it looks for living processes with their marks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from errands.engine.engine import Engine
from errands.model.errors import StoreError
from errands.model.view import RunView, View
from errands.ports.store import Query
from tests.chaos.processes import Process, with_mark
from tests.chaos.violation import Violation

PAUSE = 0.04
LOOKS_WITHIN = 30.0  # seconds for one pass, however slow the machine is
_STAGES = {"pending": 0, "running": 1}


class Observer:
    """A thread with an engine of its own."""

    def __init__(self, open_engine: Callable[[], Engine], processes: Callable[[], list[Process]]) -> None:
        self.violations: list[Violation] = []
        self.slowest = 0.0
        self.seen: dict[str, View] = {}
        self._open_engine = open_engine
        self._processes = processes
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch_to_the_end, daemon=True)

    def __enter__(self) -> Observer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(LOOKS_WITHIN)
        if self._thread.is_alive():
            self.violations.append(
                Violation("I17", f"a look at all tasks takes longer than {LOOKS_WITHIN:g} s")
            )

    def _watch_to_the_end(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001 - what ends a thread would go unseen otherwise
            self.violations.append(Violation("I14", f"looking failed: {type(error).__name__}: {error}"))

    def _watch(self) -> None:
        engine = self._open_engine()
        while not self._is_over.wait(PAUSE):
            began = time.monotonic()
            try:
                views = engine.list(Query())
            except StoreError as error:
                # Reading must work whatever happens to the writers, a full disk included.
                self.violations.append(Violation("I14", f"reading failed: {error}"))
                continue
            self.slowest = max(self.slowest, time.monotonic() - began)
            ended = [run_id for view in views if (run_id := self._compare(view)) is not None]
            if ended:
                self.violations += [
                    Violation("I8", f"{run_id} was over, but its process {each.pid} {each.words} was alive")
                    for run_id, each in with_mark(self._processes(), ended)
                ]
        engine.store.close()

    def _compare(self, view: View) -> str | None:
        """Compare a view with the previous one of the same task; return the run that has ended since."""
        before, self.seen[view.id] = self.seen.get(view.id), view
        was, now = before.latest if before is not None else None, view.latest
        if was is not None and was.number > now.number:
            self.violations.append(
                Violation("I11", f"{view.id}: run {was.number} was seen, then run {now.number}")
            )
        if was is None or was.number != now.number:
            return now.id if _stage(now) == 2 else None
        if _stage(was) > _stage(now):
            self.violations.append(Violation("I11", f"{now.id}: {was.state} was seen, then {now.state}"))
        if _stage(was) == 2 and _ending(was) != _ending(now):
            self.violations.append(
                Violation("I4", f"{now.id}: ended as {_ending(was)}, then as {_ending(now)}")
            )
        return now.id if _stage(now) == 2 > _stage(was) else None


def _stage(run: RunView) -> int:
    return _STAGES.get(run.state, 2)


def _ending(run: RunView) -> tuple[object, ...]:
    return run.state, run.exit_code, run.signal, run.failure, run.error, run.bytes
