"""Searches show places in files, and not whole files, unless those are harmless."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.test_effects import verdict

pytestmark = pytest.mark.spec("A2")


@pytest.mark.parametrize(
    "line",
    [
        'grep -rn "class Cart" -A 30 src',
        'grep -rn "class Cart" -A 30 .',
        'rg -n "def total" -C 25 src',
        "rg --hidden -C 60 foo",
        "rg -B 50 'class Foo'",
        "grep -rn TOKEN -A 100 src",
        "grep -50 import src/*",
        "git grep --untracked -C 99 class",
    ],
)
def test_many_lines_around_what_is_found_are_shown_behind_walls(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "contained"


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn e -A 1000 .",
        "grep -rn -A 1000 = .",
        "grep -rn PORT -A 1000 .",
        "grep -rn password -A 1000 .",
        "grep -rnE 'x|class' -A 1000 .",
        "grep -rnE '(class)?' -A 1000 .",
        "rg --hidden -C 99 .",
        "rg --hidden -C 99 '\\w+'",
        "rg -uu -C 300 class .git",
        "rg -C 300 AKIA src",
        "rg -C 99 password",
        "grep -r class -A 30 ~",
        "grep -r class -A 30 ~/.ssh",
        "grep -r class -A 30 /etc",
        "grep -A 300 class .*",
        "grep -A 300 class .e*",
        "grep -A 300 class .env",
        "grep -rA300 class --include=.env .",
        "git grep --untracked -C 99 .",
    ],
)
def test_but_not_of_files_with_secrets(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "ls | rg -v test",
        "git ls-files | rg -v lock",
        "rg --files src | rg -v b | head",
        "git status --short | rg -v '^[?]' | rg -c .",
        "ls | rg -i -A 30 app",
        "git diff --name-only | rg -e app -v",
    ],
)
def test_rg_that_is_fed_searches_what_it_is_fed(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "auto"


@pytest.mark.parametrize(
    "line",
    [
        "rg -v test",
        "ls; rg -v test",
        "ls && rg -v test",
        "ls | rg -v test src",
        "ls | rg -v test .",
        "ls | rg -v test .env",
        "ls | rg -v test - .env",
        "ls | rg -e x -v src",
        "ls | rg . ~/.ssh",
        "ls | rg -v test < /dev/null",
        "ls | rg --hidden -v test 0>&2",
        "ls | rg --hidden -v test 0>&-",
        "ls | rg -v test <&3",
        "for i in a b; do rg -v x; done",
        "for i in a b; do ls | rg -v x $i; done",
        "for i in a b; do ls | rg $i -v x; done",
        "for i in a b; do ls | rg -v x src; done",
        "for i in a b; do ls | rg -v x < /dev/null; done",
        "for i in a b; do ls | rg -v x 0>&-; done",
        "for i in a b; do ls | rg -v x <&-; done",
        "for i in a b; do ls | rg -f - -v x; done",
        "for i in a b; do ls | xargs rg -v x; done",
        "for i in a b; do ls; rg -v x; done | head",
        "ls | rg -v test <&-",
        "ls | rg -f - -v",
        "ls | rg -f- x",
        "ls | rg -nf - x",
        "ls | rg --file=- x",
        "ls | rg --file - x",
        "ls | rg --files ~",
        "ls | rg AKIA",
        "git log -p | rg AKIA",
        "ls | rg --pre cat x",
        "ls | xargs rg -v x",
        "ls | rg -v x | xargs rg -v y",
        "cat .env | rg x",
    ],
)
def test_what_rg_finds_elsewhere_does_not_pass_with_that(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"


def test_the_history_that_rg_is_fed_is_searched_for_secrets_behind_walls() -> None:
    assert judge(["git log -p | rg token"], FakeWorkspace()).verdict == "contained"


@pytest.mark.parametrize(
    "line", ["git diff HEAD -- src tests", "git diff main...HEAD -- src tests", "git diff --stat src tests"]
)
def test_git_shows_what_it_follows_in_several_directories(line: str, tmp_path: Path) -> None:
    for place in (tmp_path / "src", tmp_path / "tests", tmp_path / "inner/x", tmp_path / "inner/y"):
        place.mkdir(parents=True)
    assert verdict(line, tmp_path) == "ask", "there is no repository"

    for place in (tmp_path, tmp_path / "inner"):
        subprocess.run(["git", "init", "-q"], cwd=place, check=True)

    assert verdict(line, tmp_path) == "auto"
    for other in (
        "git diff --no-index src tests",
        "git diff src tests .env",
        "git diff src /etc",
        "git diff src ..",
        "git diff src .git",
        "git diff inner/x inner/y",
        "git diff src ~",
    ):
        assert verdict(other, tmp_path) == "ask", other
