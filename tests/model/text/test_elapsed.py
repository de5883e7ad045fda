"""What a run prints about how long it took: taken out, and nothing else."""

from __future__ import annotations

import pytest

from errands.model.text.elapsed import without_elapsed

TWICE = {
    "pytest": ("== 3 passed in 0.12s ==\n", "== 3 passed in 1.40s ==\n"),
    "unittest": ("Ran 3 tests in 0.001s\n\nOK\n", "Ran 3 tests in 12.5s\n\nOK\n"),
    "jest": ("✓ adds (5 ms)\nTests: 1 passed\nTime: 0.5 s\n", "✓ adds (1 ms)\nTests: 1 passed\nTime: 1 s\n"),
    "vitest": (
        "   Start at  10:43:12\n   Duration  300ms (transform 20ms, setup 0ms, tests 3ms)\n",
        "   Start at  11:43:12\n   Duration  1.2s (transform 25ms, setup 1ms, tests 4ms)\n",
    ),
    "node": ("# pass 1\n# duration_ms 43.2213\n", "# pass 1\n# duration_ms 51\n"),
    "cargo": ("test result: ok; finished in 0.00s\n", "test result: ok; finished in 0.21s\n"),
    "go": ("ok  \texample.com/x\t0.012s\n", "ok  \texample.com/x\t1.500s\n"),
    "time": ("done\nreal\t0m1.204s\nuser\t0m0.9s\n", "done\nreal\t0m1.3s\nuser\t0m1.0s\n"),
    "yarn": ("Done in 1.20s.\n", "Done in 1m 2.5s.\n"),
}  # fmt: skip


@pytest.mark.parametrize("tool", TWICE)
def test_the_same_result_is_the_same_however_long_it_took(tool: str) -> None:
    first, second = TWICE[tool]

    assert first != second
    assert without_elapsed(first) == without_elapsed(second) != ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("3 passed in 0.1s", "2 passed, 1 failed in 0.1s"),
        ("latency 5 ms", "latency 900 ms"),
        ("expires in 30 days", "expires in 3 days"),
        ("next train in 5 minutes", "next train in 2 minutes"),
        ("found in 5 files", "found in 6 files"),
        ("lag: 2s", "lag: 300s"),
        ("2026-11-20 10:00:00", "2026-11-20 10:00:01"),
        ("(5)", "(6)"),
    ],
)
def test_what_may_be_the_result_itself_is_kept(first: str, second: str) -> None:
    assert without_elapsed(first) != without_elapsed(second)
