"""A pytest plugin: stop at the first failed assertion, and write down which test failed and how."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import proven

REPORT = "PROOF_REPORT"
SPEC = "PROOF_SPEC"
FAILS_WITH = "PROOF_FAILS_WITH"

_failures: list[dict[str, Any]] = []
_passed = 0


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _counts(error: BaseException) -> bool:
    """Tell whether an error is the test's own verdict, and not a test that could not run or took too long."""
    if isinstance(error, pytest.fail.Exception):
        return not str(error).startswith("Timeout (") or os.environ[FAILS_WITH] == "Timeout"
    return isinstance(error, AssertionError) or type(error).__name__ == os.environ[FAILS_WITH]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep only the tests that carry the id: of a function with parameters, it may be some."""
    if spec := os.environ[SPEC]:
        items[:] = [item for item in items if spec in proven(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    global _passed
    report = yield
    if report.failed and call.excinfo:
        error = call.excinfo.value
        counts = call.when == "call" and any(_counts(each) for each in _leaves(error))
        how = f"{call.when}: {type(error).__name__}: {error}"
        _failures.append({"test": item.nodeid, "counts": counts, "how": how[:500]})
        if counts:
            item.session.shouldfail = "the breakage is caught"
    elif call.when == "call" and report.passed:
        _passed += 1
    return report


def pytest_sessionfinish() -> None:
    Path(os.environ[REPORT]).write_text(json.dumps({"failures": _failures, "passed": _passed}))
