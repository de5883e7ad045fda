"""The niceness of a run: its processes have it, its shim does not."""

from __future__ import annotations

import os
import subprocess
import sys

from errands.testing.engines import TestEngine

# An unprivileged process runs what a shim would.
REFUSED = """
import os
from errands.runners.shim.program import with_nice
if not os.getuid():
    os.setgid(65534)
    os.setuid(65534)
path, words = with_nice(-5, "/bin/sh", ["sh", "-c", "nice"])
os.execv(path, words)
"""


async def test_the_processes_of_a_run_have_its_niceness(engine: TestEngine) -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    shown = "ps -o ni= -p $$; sh -c 'ps -o ni= -p $$; nice'; ps -o ni= -p $PPID"
    done = await engine.finished(shown, nice=7, then=("nice",), lastly=("nice",))
    lines = [line for line in (await engine.text(done.id)).splitlines() if line.strip("- 0123456789") == ""]

    assert [int(line) for line in lines] == [7, 7, 7, usual, 7, 7]
    assert (await engine.get(done.id)).details["limits"]["nice"] == 7  # type: ignore[index]


async def test_the_niceness_is_unchanged_by_default(engine: TestEngine) -> None:
    done = await engine.finished("nice")

    assert await engine.text(done.id) == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


def test_a_priority_that_needs_privileges_is_noted_and_the_command_runs() -> None:
    said = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True)

    assert "cannot set niceness" in said.stderr
    assert said.stdout == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


async def test_a_nice_command_that_cannot_start_still_says_why(engine: TestEngine) -> None:
    failed = await engine.finished(("no-such-program", "x"), nice=5)

    assert failed.latest.error is not None
    assert "command not found: no-such-program" in failed.latest.error


async def test_an_agent_has_the_niceness_too(engine: TestEngine) -> None:
    task = await engine.answered("run `nice`", nice=3)

    assert (await engine.get(task.id)).details["limits"]["nice"] == 3  # type: ignore[index]
