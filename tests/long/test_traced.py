"""Thousands of commands that the judge calls harmless, run under a tracer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.traced.__main__ import fuzz
from tests.fuzz.traced.machine import missing

SEED = 20
LINES = 20_000  # 35 s of processor time, 28 of them under the tracer; `make fuzz` judges a million


@pytest.mark.spec("A2")
@pytest.mark.timeout(900)
def test_what_passes_neither_writes_nor_connects_nor_starts_other_programs(tmp_path: Path) -> None:
    if lacking := missing():
        pytest.skip(lacking)
    findings = fuzz(tmp_path / "machine", count=LINES, seed=SEED, at_once=2)

    assert findings.bad == {}
    assert findings.raised == []
    assert findings.ran >= LINES // 20
