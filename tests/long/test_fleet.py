"""A minute of chaos over four hosts: a few of the faults that `make chaos` runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.fleet.network import missing
from tests.postgres import binaries

ROOT = Path(__file__).parents[2]
LEASE = "12"  # seconds: a host that was killed is given up after 14 of them


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(missing()), reason=missing() or "never")
@pytest.mark.spec("X12", "L20", "L21", "N5")
def test_a_fleet_loses_nothing_and_runs_nothing_twice() -> None:
    words = [sys.executable, "-m", "tests.chaos.fleet", "--seeds", "1", "--tasks", "32", "--faults", "8"]
    played = subprocess.run(words, capture_output=True, text=True, timeout=590, check=False)

    assert played.returncode == 0, played.stdout + played.stderr
    assert "8 faults" in played.stdout


@pytest.mark.timeout(600)
@pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL: tools/postgres installs it")
@pytest.mark.spec("X12", "X7")
def test_the_example_starts_three_hosts_loses_one_and_leaves_nothing_behind() -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        [ROOT / "examples" / "fleet.sh", LEASE],
        capture_output=True, text=True, timeout=590, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip

    assert shown.returncode == 0, shown.stdout + shown.stderr
    base = re.search(r"/tmp/errands-fleet\.\w+", shown.stdout)
    assert base is not None
    for host in ("laptop", "red", "blue"):
        assert f"this ran in {base[0]}/{host}/runs/" in shown.stdout
    assert re.search(r"1  ✗ failed .* the host (red|blue) was not heard of", shown.stdout)
    assert re.search(r"2  ✓ completed", shown.stdout)
    assert not Path(base[0]).exists()
    assert _processes_of(base[0]) == []


def _processes_of(base: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if base.encode() in words + variables:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found
