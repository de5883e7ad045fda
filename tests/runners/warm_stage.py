"""A stage with both pools: Python programs start cold at first, and are forks of the warm zygote later."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from errands.ports.runner import Launch
from errands.runners.pool.pool import ShimPool
from errands.runners.pool.router import Router
from errands.runners.warm.warm_pool import WarmPool
from tests.runners.stage import Stage, until

ROOT = Path(__file__).parents[2]


class WarmStage(Stage):
    """`library` is what the warm zygote loads; programs and modules for it are files in the folder `code`."""

    def __init__(self, folder: Path, *, library: Sequence[str] = ("json",), keep: float = 60.0) -> None:
        super().__init__(folder)
        self.plain = ShimPool(str(self.runs))
        self.warm = WarmPool(str(self.runs), library=lambda: library, cold=self.plain, keep=keep)
        self.pool: Any = Router(self.plain, self.warm)
        self.pool.listener = self.reports.append
        self.code = folder / "code"
        self.code.mkdir()

    def program(self, name: str, text: str) -> None:
        (self.code / f"{name}.py").write_text(text)

    def launch_module(self, name: str, **variables: str) -> Launch:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}/src:{self.code}", **variables}
        number = self._number + 1
        env["ERRANDS_RUN_DIR"] = str(self.directory(f"task-{number}.1"))
        env["ERRANDS_RUN_ID"] = f"task-{number}.1"
        return self.launch((sys.executable, "-P", "-m", name), env=env, may_be_warm=True)

    def begin(self, name: str, **variables: str) -> str:
        """Start a module and return the run's id."""
        launch = self.launch_module(name, **variables)
        self.pool.start(launch)
        return launch.run_id

    async def result(self, name: str, **variables: str) -> tuple[int | None, str]:
        """Run a module to its end; return its exit code and output."""
        run = self.begin(name, **variables)
        return (await self.ended(run)).code, self.output(run).decode()

    async def warm_up(self, **variables: str) -> None:
        """Load the library, by a run that is not warm yet."""
        self.program("first", "")
        run = self.begin("first", **variables)
        await self.ended(run)
        assert not self.was_warm(run)
        await until(lambda: self.warm.is_ready, "a warm zygote")

    def was_warm(self, run_id: str) -> bool:
        """Return whether a run that has just ended was forked warm; its shim is kept for a moment."""
        words = Path(f"/proc/{self.shim_of(run_id)}/cmdline").read_bytes()
        return b"errands.runners.warm.warm_zygote" in words

    @property
    def zygote(self) -> int:
        return self.plain._zygote_pid

    @property
    def warm_zygote(self) -> int:
        return self.warm._zygote_pid

    async def clear(self) -> None:
        for pool in (self.plain, self.warm):
            for run_id in list(pool._running):
                pool.stop(run_id, grace=0)
            await until(lambda pool=pool: not pool._running, "the end of what a test left")  # type: ignore[misc]
