"""Everyday lines that only read: exit codes, letters of every alphabet, directories of one repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace
from tests.judge.test_effects import run, verdict

pytestmark = [pytest.mark.spec("A2", "A3")]


@pytest.mark.parametrize(
    "line",
    [
        "ls; echo $?",
        'git status; echo "exit: $?"',
        "grep -q x y; [ $? -eq 0 ] && echo found",
        "ls missing || exit $?",
        "printf '%d\\n' $?",
        'printf "code %s\\n" "$?"',
        "grep 'a$?b' notes.txt",
        "cat größe.md",
        "grep -n Straße docs/日本.md",
        "echo Übung > /dev/null",
        "bash -n deploy.sh",
        "sh -n scripts/x.sh",
        "bash --version",
        "gcc -dumpmachine",
        "g++ -v",
        "tsc -v",
        "echo $HOME",
        'ls "$HOME"',
        "ls ${HOME}/src/*.py",
        'wc -l "$HOME/my notes/a.txt"',
        'diff "${HOME}"/a/x.py $HOME/b/x.py',
        "find src -type f -exec grep -l TODO {} +",
        "find . -type f -not -path './dist/*' -exec grep -n TODO {} ';'",
        "find . -type f -print0 | xargs -0 grep -n TODO",
    ],
)
def test_it_is_auto(line: str) -> None:
    assert judge((line,), FakeWorkspace()).verdict == "auto"


@pytest.mark.parametrize("line", ["ls $HOME/x", 'ls "$HOME/x"', "ls ${HOME}"])
def test_a_home_that_is_missing_or_more_than_a_plain_path_is_not_followed(line: str) -> None:
    assert judge((line,), FakeWorkspace(is_home_plain=False)).verdict != "auto"


@pytest.mark.parametrize(
    "line",
    [
        "cat link$?",
        "cat $HOME/.ssh/id_rsa",
        'cat "$HOME"/.ssh/id_*',
        "cat ${HOME}/.netrc",
        "grep -r x $HOME",
        "echo x > $HOME/x",
        "$HOME/bin/x",
        "cat $HOME*",
        "cat $HOME.ssh/x",
        'cat "$HOME/$x"',
        "cat a$HOME/x",
        "HOME=/etc; cat $HOME/x",
        "read HOME < x; cat $HOME/x",
        "printf -v HOME /etc; cat $HOME/x",
        "bash -c 'cat $HOME/x'",  # whoever runs the inner line can change its variables
        'cat "link$?"',
        "cd d$? && git status",
        "ls < f$?",
        "echo x > f$?",
        "$? x",
        "X=$? ls",
        "echo $?$X",
        "echo ${?}",
        'sort "-o$?" x',
        "bash -n x.sh y.sh",
        "bash -n -c 'rm x'",
        "bash -n .env",
        "zsh -n x.sh",
        "as -v",
        "ninja -v",
        "gcc -v x.c",
        "\uff43\uff41\uff54 x",
        "ps -é aux",
        "find . -type f -exec grep -n '' {} +",
        "find . -name '.env*' -exec grep -n TODO {} +",
        "find . -path '*/.git/*' -exec grep url {} +",
        "find .git -type f -exec grep url {} +",
        "find ~ -type f -exec grep TODO {} +",
        "find . -type f -exec grep -f {} +",
        "find . -type f -exec grep TODO .env {} +",
    ],
)
def test_what_only_looks_like_it_is_not(line: str) -> None:
    assert judge((line,), FakeWorkspace()).verdict != "auto"


def test_the_shells_agree_about_exit_codes_and_letters(tmp_path: Path) -> None:
    for shell in ("bash", "dash"):
        assert run("false; echo \"a$?\" b$? \\$? '$?' größe", tmp_path, shell=shell) == "a1 b1 $? $? größe\n"


def test_a_script_that_is_only_checked_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("touch ran\n: $(touch ran) ${x:=$(touch ran)} $((a[$(touch ran)]))\n")
    for shell in ("bash", "sh", "dash"):
        run(f"{shell} -n x.sh", tmp_path)

        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("line", ["git -C {} status", "cd {} && git status", "git -C {} log --oneline"])
def test_git_in_a_directory_of_the_same_repository_is_auto(line: str, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "vendor/other"):
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "link").symlink_to("vendor/other")

    assert verdict(line.format("src"), tmp_path) == "auto"
    for elsewhere in ("vendor/other", "link", "missing", "..", "/tmp", "src/../vendor/other", "'*'"):
        assert verdict(line.format(elsewhere), tmp_path) != "auto"
