"""A process that owns a pool and can be killed: it starts the given launches and prints their reports.

Run as `python -m tests.runners.owner`; launches come pickled on standard input, reports go out as lines.
"""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from errands.model.record import fields
from errands.ports.runner import Launch, Step
from errands.runners.pool.pool import ShimPool

ROOT = Path(__file__).parent.parent.parent


class Owner:
    """The owner as the test that kills it sees it."""

    def __init__(self, runs: Path, *launches: Launch) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runners.owner", str(runs)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(pickle.dumps([_plain(launch) for launch in launches]))
        self.process.stdin.close()
        self.zygote = int(self.process.stdout.readline())

    def kill(self) -> None:
        """Kill only this process, with SIGKILL."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def _plain(launch: Launch) -> dict[str, Any]:
    values = {name: getattr(launch, name) for name in fields(launch)}
    return {
        **values,
        "steps": [{name: getattr(step, name) for name in fields(step)} for step in launch.steps],
    }


async def _own(runs: str, launches: list[dict[str, Any]]) -> None:
    pool = ShimPool(runs)
    pool.listener = lambda report: print(report, flush=True)
    await pool.open()
    print(pool._zygote_pid, flush=True)
    for values in launches:
        pool.start(Launch(**{**values, "steps": tuple(Step(**step) for step in values["steps"])}))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_own(sys.argv[1], pickle.load(sys.stdin.buffer)))
