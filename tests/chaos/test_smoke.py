"""A round of chaos: one of the seeds that `make chaos` runs."""

from __future__ import annotations

import re

import pytest

from tests.chaos.conftest import run_harness
from tests.chaos.plan import make_plan, read


@pytest.mark.timeout(300)
@pytest.mark.spec("L20", "L21")
@pytest.mark.fault("F1", "F2", "F3", "F4", "F5", "F6", "F26", "F37")
@pytest.mark.trap(18, 21, 22)
def test_nothing_is_lost_doubled_or_left_behind() -> None:
    verdict = run_harness("--smoke")

    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert int(re.findall(r"^kills +(\d+)$", verdict.stdout, re.MULTILINE)[0]) >= 10


def test_a_seed_gives_the_same_plan_every_time() -> None:
    assert make_plan(7, tasks=100, kills=20) == make_plan(7, tasks=100, kills=20)
    assert make_plan(7, tasks=100, kills=20) != make_plan(8, tasks=100, kills=20)


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = make_plan(7, tasks=100, kills=20)

    assert read(plan.written()) == plan
