"""Rules see the plain words of one command; none of them can allow everything."""

from __future__ import annotations

import pytest

from errands.judge.rules import read_rules
from errands.judge.shell.grammar import Word
from errands.model.errors import BadValue

pytestmark = [pytest.mark.spec("A9")]


def command(line: str) -> tuple[Word, ...]:
    return tuple(Word(text=text) for text in line.split())


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("make *", "make"),
        ("make *", "make all -j4"),
        ("npm test", "npm test"),
        ("git push *", "git push --force origin"),
        ("npm run build:*", "npm run build:all"),
        ("ruff ?heck *", "ruff check ."),
    ],
)
def test_a_pattern_matches_the_words_of_a_command(pattern: str, line: str) -> None:
    assert read_rules(allow=[pattern]).allowing(command(line))
    assert read_rules(deny=[pattern]).denying(command(line))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm test", "npm test --x"),
        ("npm test", "npm"),
        ("make *", "cmake all"),
        ("git push *", "git -c x=y push"),
        ("make", "make all"),
        ("npm run build:*", "npm run build"),
    ],
)
def test_a_pattern_does_not_match_anything_else(pattern: str, line: str) -> None:
    assert not read_rules(allow=[pattern]).allowing(command(line))


def test_a_path_counts_as_its_program_when_forbidding_and_never_when_allowing() -> None:
    assert read_rules(deny=["make *"]).denying(command("/usr/bin/make all"))
    assert not read_rules(allow=["make *"]).allowing(command("./make all"))


def test_a_word_that_is_not_literal_may_be_what_is_forbidden_and_is_never_allowed() -> None:
    words = (Word(text="git"), Word(text="$x", literal=False), Word(text="origin"))

    assert read_rules(deny=["git push *"]).denying(words)
    assert not read_rules(allow=["git push *"]).allowing(words)


@pytest.mark.parametrize(
    "line", ["git -C x push", "git --no-pager -c a=b push --force", "git --git-dir=x push"]
)
def test_options_in_front_of_a_subcommand_hide_nothing_that_is_forbidden(line: str) -> None:
    assert read_rules(deny=["git push *"]).denying(command(line))
    assert not read_rules(allow=["git push *"]).allowing(command(line))


def test_a_pattern_of_the_shell_is_never_allowed() -> None:
    assert not read_rules(allow=["make *"]).allowing((Word(text="make"), Word(text="a*", pattern=True)))


@pytest.mark.parametrize(
    "pattern",
    [
        "bash *", "sh -c *", "python x.py", "python3.12 *", "env *", "xargs *", "find *", "sudo *",
        "timeout *", "node *", "*", "ma* x", "git *", "git", "git -c *", "npm", "uv run *",
        "uv run python *", "npm exec *", "npx *", "docker run *", "/usr/bin/env x", "eval *", "awk *",
    ],
)  # fmt: skip
def test_a_rule_that_would_allow_anything_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue, match="allow rule"):
        read_rules(allow=[pattern])


@pytest.mark.parametrize("pattern", ["", "  ", "make; ls", "echo 'x'", "a | b", "make $x"])
def test_a_rule_that_is_not_plain_words_is_refused(pattern: str) -> None:
    with pytest.raises(BadValue):
        read_rules(deny=[pattern])


def test_anything_can_be_forbidden() -> None:
    assert read_rules(deny=["*"]).denying(command("ls"))
    assert read_rules(deny=["python *"]).denying(command("python x.py"))
