"""Breakages of work on several hosts (X12)."""

from __future__ import annotations

from tests.proof.breakage import Breakage

BREAKAGES = [
    Breakage(
        "X12",
        "a shim does not look at its fuse",
        file="runners/shim/run.py",
        old='        if now >= self._fuse.due and self._fuse.look(now):\n            return "fuse"\n',
        new="",
        test="runners/test_fuse.py::test_a_deadline_that_cannot_be_read_has_passed",
        fails_with="AssertionError",
    ),
    Breakage(
        "X12",
        "the grace of a cancelled run outlasts its fuse",
        file="runners/shim/run.py",
        old="            if (left := self._fuse.wait(left) or 0.0) <= 0:\n                break\n",
        new="",
        test="runners/test_fuse.py::test_the_grace_of_a_cancelled_run_does_not_outlast_its_fuse",
        fails_with="AssertionError",
    ),
]
