"""The harness must catch every one of these broken engines, or its verdicts mean nothing."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos import mutants
from tests.chaos.conftest import Verdict
from tests.chaos.decoys import can_reuse_pids


def _params() -> list[Any]:
    params = []
    for module in pkgutil.iter_modules(mutants.__path__):
        mutant = importlib.import_module(f"{mutants.__name__}.{module.name}")
        needs_root = mutant.SCENARIO == "reused" and not can_reuse_pids()
        marks = [pytest.mark.skip(reason="only root can choose the pid of the next process")] * needs_root
        params.append(
            pytest.param(mutant.SCENARIO, module.name, mutant.CAUGHT_BY, id=module.name, marks=marks)
        )
    return params


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("scenario", "mutant", "invariant"), _params())
def test_a_broken_engine_is_caught(
    scenario: str, mutant: str, invariant: str, verdict_of: Callable[[str, str], Verdict]
) -> None:
    verdict = verdict_of(scenario, mutant)

    assert verdict.returncode == 1, verdict.stdout + verdict.stderr
    assert "has to follow" not in verdict.stderr
    assert f"\n  {invariant}: " in verdict.stdout
