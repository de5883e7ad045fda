"""A minute of chaos over four hosts: a few of the faults that `make chaos` runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.chaos.fleet.network import missing


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(missing()), reason=missing() or "never")
@pytest.mark.spec("X12", "L20", "L21", "N5")
def test_a_fleet_loses_nothing_and_runs_nothing_twice() -> None:
    words = [sys.executable, "-m", "tests.chaos.fleet", "--seeds", "1", "--tasks", "32", "--faults", "8"]
    played = subprocess.run(words, capture_output=True, text=True, timeout=590, check=False)

    assert played.returncode == 0, played.stdout + played.stderr
    assert "8 faults" in played.stdout
