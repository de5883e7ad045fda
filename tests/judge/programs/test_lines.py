"""Every family of programs: lines that are harmless, and lines a person must be asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.programs.lines import PLACE, reasons

pytestmark = pytest.mark.spec("A1", "A2")

HERE = Path(__file__).parent
FAMILIES = sorted(place.name for place in (HERE / "harmless").iterdir())


def _lines(folder: str, family: str) -> list[str]:
    found = (HERE / folder / family).read_text().splitlines()
    assert found
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_harmless_line_needs_no_approval(family: str) -> None:
    assert {line: why for line in _lines("harmless", family) if (why := reasons(line))} == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_person_is_asked_about_every_other_line(family: str) -> None:
    assert [line for line in _lines("asked", family) if not reasons(line)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reason_is_a_short_sentence(family: str) -> None:
    wrong = [
        (line, reason.text)
        for line in _lines("asked", family)
        for reason in reasons(line)
        if not 5 < len(reason.text) < 250 or "\n" in reason.text.replace(line, "")
    ]
    assert wrong == []


def test_every_family_has_lines_of_both_kinds() -> None:
    assert {place.name for place in (HERE / "harmless").iterdir()} == {
        place.name for place in (HERE / "asked").iterdir()
    }


@pytest.mark.parametrize("line", ["git status", "git log -p", "git diff", "git show HEAD", "git grep foo"])
def test_git_is_harmless_only_where_the_repository_runs_no_program(line: str) -> None:
    dangerous = FakeWorkspace(
        cwd=PLACE.cwd, project=PLACE.project, home=PLACE.home, dangers={PLACE.cwd: ("core.fsmonitor is ./x",)}
    )

    (reason,) = reasons(line, dangerous)

    assert "core.fsmonitor is ./x" in reason.text


@pytest.mark.parametrize("line", ["pytest", "python -m pytest", "python3 -m unittest", "uv run pytest"])
def test_tests_run_only_inside_the_project(line: str) -> None:
    assert reasons(line, PLACE.at("/home/person/project/tests")) == ()
    assert reasons(line, PLACE.at("/home/person/other"))


def test_a_test_behind_a_link_that_leads_out_of_the_project_is_asked_about() -> None:
    linked = FakeWorkspace(
        cwd=PLACE.cwd,
        project=PLACE.project,
        home=PLACE.home,
        links={"/home/person/project/tests/evil": "/tmp/evil"},
    )

    assert reasons("pytest tests/evil", linked)
    assert reasons("pytest tests/good", linked) == ()
