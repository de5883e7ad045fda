"""A stage for real processes: a pool in its own directory, and conditions to wait for."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errands.model.ending import Ending
from errands.ports.runner import Ended, Launch, Refused, Started, Step
from errands.runners.output import log
from errands.runners.pool.pool import ShimPool
from errands.runners.shim.limits import LIMITS
from errands.runners.system import linux

if TYPE_CHECKING:
    from errands.ports.runner import Report, Role

PATIENCE = 60.0
HEADER = b"# a header\n# started   now\n\n"


async def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait until a condition is true."""
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, f"waited {PATIENCE:g} s in vain for {what}"
        await asyncio.sleep(0.005)


class Stage:
    """Start runs on a real pool and wait for their endings."""

    def __init__(self, folder: Path, *, python: str = sys.executable) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.pool = ShimPool(str(self.runs), python=python)
        self.reports: list[Report] = []
        self.pool.listener = self.reports.append
        self._number = 0
        self._attempts: dict[str, set[int]] = {}

    def launch(self, *commands: str | tuple[str, ...], **options: Any) -> Launch:
        self._number += 1
        run_id = options.pop("run_id", f"task-{self._number}.1")
        hooks: dict[Role, list[str]] = {
            "before": options.pop("before", []),
            "finally": options.pop("lastly", []),
        }
        mains = [("/bin/sh", "-c", each) if isinstance(each, str) else each for each in commands]
        steps = [
            *(Step(role="before", argv=("/bin/sh", "-c", each), label=each) for each in hooks["before"]),
            *(Step(role="main", argv=each, label=" ".join(each[2:] or each)) for each in mains),
            *(Step(role="finally", argv=("/bin/sh", "-c", each), label=each) for each in hooks["finally"]),
        ]
        directory = str(self.runs / run_id)
        given: dict[str, Any] = {
            "run_id": run_id,
            "attempt": 1,
            "directory": directory,
            "header": HEADER,
            "steps": tuple(steps),
            "cwd": str(self.folder),
            "env": {
                "PATH": os.environ["PATH"],
                "ERRANDS_RUN_ID": run_id,
                "ERRANDS_RUN_DIR": directory,
                "ERRANDS_PROGRESS": directory + "/progress",
            },
            "cap": 10 << 20,
            "grace": 5.0,
        }
        limits = {name: options.pop(name) for name in LIMITS if name in options}
        launch = Launch(**{**given, "limits": limits, **options})
        self._attempts.setdefault(run_id, set()).add(launch.attempt)
        return launch

    def start(self, *commands: str | tuple[str, ...], **options: Any) -> str:
        """Start shell lines (or argument lists), one after the other, and return the run's id."""
        launch = self.launch(*commands, **options)
        self.pool.start(launch)
        return launch.run_id

    async def run(self, *commands: str | tuple[str, ...], **options: Any) -> Ending:
        """Start a run and wait for its ending."""
        return await self.ended(self.start(*commands, **options))

    async def started(self, run_id: str) -> Started:
        await until(lambda: self._find(run_id, Started), f"the start of {run_id}")
        found = self._find(run_id, Started)
        assert isinstance(found, Started)
        return found

    async def ended(self, run_id: str) -> Ending:
        while not (found := self._find(run_id, Ended, Refused)):
            known = len(self.reports)  # of many runs at once, each may take its time
            await until(lambda known=known: len(self.reports) > known, f"the end of {run_id}")  # type: ignore[misc]
        assert isinstance(found, Ended), found
        return found.ending

    async def printed(self, run_id: str, text: bytes) -> None:
        await until(lambda: text in self.output(run_id), f"{text!r} in the output of {run_id}")

    def output(self, run_id: str) -> bytes:
        """Return all of a run's output that is kept so far."""
        content, offset = b"", 0
        end = log.tail(str(self.runs / run_id), 0).next_offset
        while offset < end and (piece := log.read(str(self.runs / run_id), offset=offset)).content:
            content, offset = content + piece.content, piece.next_offset
        return content

    def directory(self, run_id: str) -> Path:
        return self.runs / run_id

    def shim_of(self, run_id: str, attempt: int = 1) -> int:
        first = (self.directory(run_id) / f"record.{attempt}").read_text().split("\n")[0]
        return int(dict(word.split("=") for word in first.split()[2:])["shim"])

    @property
    def zygote(self) -> int:
        return self.pool._zygote_pid

    def living(self, run_id: str) -> list[int]:
        """Return the living processes that carry the run's mark."""
        marked = linux.marked("ERRANDS_RUN_DIR", str(self.directory(run_id)))
        return [pid for pid in marked if linux.is_alive(pid)]

    async def clear(self) -> None:
        """End everything that a test left running."""
        for run_id in list(self.pool._running):
            self.pool.stop(run_id, grace=0)
        await until(lambda: not self.pool._running, "the end of what a test left")

    def _find(self, run_id: str, *kinds: type[Report]) -> Report | None:
        """Find a report of a run, which must name an attempt that was launched."""
        for each in self.reports:
            if each.run_id == run_id and isinstance(each, kinds):
                assert each.attempt in self._attempts.get(run_id, {1}), each
                return each
        return None
