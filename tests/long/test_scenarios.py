"""Each scenario with the unbroken engine: nothing is lost, doubled, wrong or left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.chaos import scenarios
from tests.chaos.conftest import Verdict
from tests.chaos.decoys import can_reuse_pids
from tests.chaos.subject import can_have_small_disk

spec, fault, trap = pytest.mark.spec, pytest.mark.fault, pytest.mark.trap

PROOFS = {
    "ends": [spec("L8"), trap(20)],
    "ends_in_a_crash": [fault("F6")],
    "ends_half_recorded": [fault("F6")],
    "ends_unrecorded": [spec("L20"), fault("F5")],
    "killed_while_running": [spec("L20"), fault("F4"), trap(22)],
    "cancelled": [spec("L9"), fault("F27", "F28"), trap(17)],
    "cancelled_while_down": [fault("F8")],
    "crowded": [spec("L5")],
    "queued": [spec("L6")],
    "repeated": [spec("L23")],
    "shim_killed": [fault("F10")],
    "zygotes_killed": [spec("L20")],
    "printed": [],
    "flooded": [spec("O3", "O6")],
    "rivals": [fault("F37"), trap(32)],
    "reused": [
        fault("F13"),
        trap(23),
        pytest.mark.skipif(not can_reuse_pids(), reason="only root can choose the pid of the next process"),
    ],
    "clock_set_back": [fault("F22")],
    "disk_full": [
        fault("F15"),
        pytest.mark.skipif(not can_have_small_disk(), reason="only root can mount a small disk"),
    ],
}


def test_every_scenario_is_played() -> None:
    assert PROOFS.keys() == scenarios.PLANS.keys()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [pytest.param(name, marks=marks) for name, marks in PROOFS.items()])
def test_no_invariant_is_broken(scenario: str, verdict_of: Callable[[str, str], Verdict]) -> None:
    verdict = verdict_of(scenario, "")

    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
