"""The line of output that tells why something failed."""

from __future__ import annotations

import pytest

from errands.text.error_line import error_line

pytestmark = pytest.mark.spec("X8")


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("fatal: no such remote\ncleaning up\n", "fatal: no such remote"),
        ("Traceback (most recent call last):\n  x()\nKeyError: 'id'\nbye", "KeyError: 'id'"),
        ("ld: error: no symbol f\nmake: *** [Makefile:3: all] Error 2\n", "ld: error: no symbol f"),
        ("make: *** [Makefile:3: all] Error 2\n", "make: *** [Makefile:3: all] Error 2"),
        (
            "FAILED tests/test_a.py::test_b - assert 1 == 2\n===== 1 failed in 0.1s =====\n",
            "FAILED tests/test_a.py::test_b - assert 1 == 2",
        ),
        ("FAILED test_a.py::test_b\n1 failed, 400 passed in 12.3s\n", "FAILED test_a.py::test_b"),
        ("a.py:3: error: no name b\nFound 1 error in 1 file\n", "a.py:3: error: no name b"),
        ("npm error Missing script\nnpm error A complete log is in: x", "npm error Missing script"),
        ("error: line 3\nchecked 2 files, 0 errors\n", "error: line 3"),
    ],
)
def test_the_cause_of_a_failure_is_found(output: str, cause: str) -> None:
    assert error_line(output.split("\n")) == cause
