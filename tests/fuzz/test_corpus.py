"""Lines with a known verdict: no harmful one passes, and few harmless ones are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.fuzz.lines import ADVISORIES, CORPUS, PASSED, UNSEEN, Line, read
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A1", "A2", "A3")]

RECOGNISED = 0.98  # of the harmless lines


def families(*, harmless: bool) -> list[tuple[Path, str]]:
    return [
        (place, family)
        for place in (CORPUS, UNSEEN, PASSED, ADVISORIES)
        for family in sorted({line.family for line in read(place) if line.is_harmless == harmless})
    ]


def named(place_or_family: object) -> str:
    return place_or_family.stem if isinstance(place_or_family, Path) else str(place_or_family)


def is_auto(line: Line) -> bool:
    return judge((line.command,), FakeWorkspace()).verdict == "auto"


def starts(line: Line) -> bool:
    """Return whether a line starts at once, perhaps in a sandbox."""
    return judge((line.command,), FakeWorkspace()).verdict in ("auto", "contained")


@pytest.mark.parametrize(("place", "family"), families(harmless=False), ids=named)
def test_no_line_that_must_be_asked_about_passes(place: Path, family: str) -> None:
    asked = [line for line in read(place) if line.family == family and not line.is_harmless]

    assert asked
    assert [line.command for line in asked if is_auto(line)] == []


@pytest.mark.parametrize(("place", "family"), families(harmless=False), ids=named)
def test_every_question_has_a_reason(place: Path, family: str) -> None:
    for line in read(place):
        if line.family == family and not line.is_harmless:
            reasons = judge((line.command,), FakeWorkspace()).reasons

            assert reasons, line.command
            assert all(reason.text.strip() for reason in reasons), line.command


@pytest.mark.parametrize("place", [CORPUS, UNSEEN], ids=named)
def test_few_harmless_lines_are_asked_about(place: Path) -> None:
    harmless = [line for line in read(place) if line.is_harmless]
    asked = [line.command for line in harmless if not starts(line)]

    assert len(asked) <= (1 - RECOGNISED) * len(harmless), asked


@pytest.mark.parametrize(("place", "family"), families(harmless=True), ids=named)
def test_no_family_of_harmless_lines_is_forgotten(place: Path, family: str) -> None:
    harmless = [line for line in read(place) if line.family == family]

    known = starts if family == "auto_tests" else is_auto
    assert sum(map(known, harmless)) >= 0.8 * len(harmless)


def test_both_files_have_the_same_families() -> None:
    assert {line.family for line in read(CORPUS)} == {line.family for line in read(UNSEEN)}
    assert not {line.command for line in read(CORPUS)} & {line.command for line in read(UNSEEN)}
