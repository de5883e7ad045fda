"""The breakages of `make prove` still fit the source, and its verdicts can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

import tests.proof.__main__
from tests.proof.__main__ import prove, unmarked
from tests.proof.breakage import ROOT, Breakage, StaleError
from tests.proof.breakages import all_breakages
from tests.proof.tree import Outcome
from tests.requirements import PLACE, read

BREAKAGES = all_breakages()
HERE = "proof/test_breakages.py"


def name_of(breakage: Breakage) -> str:
    return f"{breakage.spec}: {breakage.what}"


@pytest.mark.parametrize("breakage", BREAKAGES, ids=name_of)
def test_a_breakage_fits_the_source(breakage: Breakage) -> None:
    broken = breakage.broken(ROOT)

    assert all(text != path.read_text() for path, text in broken.items())
    assert breakage.spec in read(PLACE.read_text())
    place, _, name = breakage.test.partition("::")
    file = ROOT / "tests" / place
    is_there = file.is_file() and (name.startswith("Test") or f"def {name}" in file.read_text())
    assert is_there, f"{breakage.test} is gone: name the test that catches the breakage now"


def test_every_requirement_is_broken() -> None:
    assert {each.spec for each in BREAKAGES} == set(read(PLACE.read_text()))
    assert len({each.what for each in BREAKAGES}) == len(BREAKAGES)


def test_a_breakage_that_does_not_fit_says_what_to_do() -> None:
    stale = Breakage("L9", "x", file="model/retry.py", old="no such text", new="", test=HERE)

    with pytest.raises(
        StaleError, match=r"occurs 0 times in src/errands/model/retry.py:\n    no such text\n"
    ):
        stale.broken(ROOT)


TEST = "model/test_retry.py"
WAIT = f"tests/{TEST}::test_the_wait_doubles_with_every_failure_until_there_are_no_tries_left"


def test_a_test_that_does_not_carry_the_id_is_named_before_anything_runs() -> None:
    wrong = Breakage("L9", "x", file="model/retry.py", old="a", new="b", test=TEST)

    assert unmarked([wrong], {"L9": [WAIT]}) == []
    assert unmarked([wrong], {"L27": [WAIT]}) == [f"L9 (x): tests/{TEST} does not carry L9"]


@pytest.mark.timeout(240)
def test_only_a_failed_assertion_counts_as_caught() -> None:
    file = "model/retry.py"
    caught = Breakage("L27", "1", file=file, old="if failures > self", new="if failures < self", test=TEST)
    survives = Breakage("L27", "2", file=file, old="DOUBLINGS = 16", new="DOUBLINGS = 17", test=TEST)
    ruins = Breakage("L27", "3", file=file, old="@record\n", new="raise ImportError\n", test=TEST)
    unproven = Breakage("L28", "4", file=file, old="hours=1", new="hours=2", test=TEST)

    verdicts = prove([caught, survives, ruins, unproven], {"L27": [WAIT]}, at_once=2)

    said = {each.breakage.what: each for each in verdicts}
    assert said["1"].caught_by.startswith(WAIT)
    assert not said["1"].problem
    assert said["2"].problem == "all 1 tests that carry L27 pass with the breakage"
    assert "ImportError" in said["3"].problem
    assert said["4"].problem == "no test carries L28"


class RecordingTree:
    """Stand in for a copy of the project: every test catches its breakage, and passes without it."""

    unbroken: ClassVar[list[list[str]]] = []

    def __init__(self, place: Path) -> None:
        pass

    def run(self, breakage: Breakage, tests: list[str]) -> Outcome:
        return Outcome(tests[0], "AssertionError", 0)

    def run_unbroken(self, tests: list[str]) -> Outcome:
        self.unbroken.append(tests)
        return Outcome("", "", len(tests))

    def end_everything(self) -> None:
        pass


def test_tests_in_a_browser_are_confirmed_in_a_process_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tests.proof.__main__, "Tree", RecordingTree)
    places = {"X8": ["tests/browser/test_pages.py::test_a"], "L27": [WAIT]}
    broken = [
        Breakage(spec, spec, file="x", old="a", new="b", test=found.removeprefix("tests/"))
        for spec, (found,) in places.items()
    ]

    assert not any(each.problem for each in prove(broken, places, at_once=1))
    assert RecordingTree.unbroken == [places["X8"], places["L27"]]
