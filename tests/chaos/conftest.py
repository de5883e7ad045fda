"""Verdicts of the harness, three rounds at a time: a small round mostly waits, so they can share cores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AT_ONCE = 3

Verdict = subprocess.CompletedProcess[str]


def run_harness(*words: str, environ: dict[str, str] | None = None) -> Verdict:
    """Run the harness in a separate process, as `make chaos` does."""
    command = [sys.executable, "-m", "tests.chaos", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environ, text=True, capture_output=True, timeout=280, check=False
    )


@pytest.fixture(scope="module")
def verdict_of(request: pytest.FixtureRequest) -> Iterator[Callable[[str, str], Verdict]]:
    """Play the scenarios of all selected tests of a module, and return their verdicts one by one."""
    selected = [item for item in request.session.items if item.path == request.path]
    asked = [getattr(item, "callspec", None) for item in selected]
    params = [each.params for each in asked if each is not None and "scenario" in each.params]
    wanted = {(each["scenario"], each.get("mutant", "")) for each in params}
    environ = {**os.environ}  # pytest changes ours meanwhile, and a process started from it then can fail
    with ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts: dict[tuple[str, str], Future[Verdict]] = {
            (scenario, mutant): pool.submit(
                run_harness,
                *("--scenario", scenario, "--mutant", mutant),
                *(["--no-keep"] if mutant else []),
                environ=environ,
            )
            for scenario, mutant in sorted(wanted)
        }
        yield lambda scenario, mutant: verdicts[scenario, mutant].result()
