"""A minute of chaos: a few of the seeds that `make chaos` runs."""

from __future__ import annotations

import re

import pytest

from tests.chaos.conftest import run_harness


@pytest.mark.timeout(300)
@pytest.mark.spec("L20", "L21")
@pytest.mark.fault("F1", "F2", "F3", "F4", "F5", "F6", "F26", "F37")
@pytest.mark.trap(18, 21, 22)
def test_nothing_is_lost_doubled_or_left_behind() -> None:
    verdict = run_harness("--seeds", "3", "--tasks", "180", "--kills", "30")

    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert int(re.findall(r"^kills +(\d+)$", verdict.stdout, re.MULTILINE)[0]) >= 30
