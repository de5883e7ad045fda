"""A line is analysed only as far as every shell reads it the same way."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from errands.judge.shell import tokens
from errands.judge.shell.grammar import LONGEST, MOST_STEPS, parse
from errands.model.text.regex import regex
from tests.judge import shells

pytestmark = [pytest.mark.spec("A3")]


def words(source: str) -> list[list[str]]:
    line = parse(source)
    assert line.doubts == (), line.doubts
    return [[word.text for word in step.words] for step in line.steps]


@pytest.mark.parametrize("shell", shells.SHELLS)
def test_a_shell_runs_exactly_what_was_read(shell: str, tmp_path: Path) -> None:
    source = random.Random(7)
    followed = 0
    while followed < 150:
        line = shells.line(source)
        parsed = parse(line)
        wanted = None if parsed.doubts else shells.expected(parsed)
        if wanted is None:
            continue
        followed += 1
        assert shells.ran(shell, line, tmp_path) == wanted, line


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("ls -la", ["ls", "-la"]),
        ("echo 'a b' \"c d\" e\\ f", ["echo", "a b", "c d", "e f"]),
        ("echo a\"b\"'c'd", ["echo", "abcd"]),
        ('echo "a\\"b" "c\\d"', ["echo", 'a"b', "c\\d"]),
        ('grep "foo$" x', ["grep", "foo$", "x"]),
        ('grep -E "^(a|b)$" x', ["grep", "-E", "^(a|b)$", "x"]),
        (
            "git show HEAD~2 HEAD^ HEAD@{1} stash@{0}",
            ["git", "show", "HEAD~2", "HEAD^", "HEAD@{1}", "stash@{0}"],
        ),
        ("find . -name '*.py' -exec wc {} +", ["find", ".", "-name", "*.py", "-exec", "wc", "{}", "+"]),
        ("ls \\\n  -l", ["ls", "-l"]),
        ("git log # what was it?", ["git", "log"]),
        ("echo a#b", ["echo", "a#b"]),
        ("echo ''", ["echo", ""]),
        ("echo 'ünï'", ["echo", "ünï"]),
        ("[ -f x ]", ["[", "-f", "x", "]"]),
    ],
)
def test_a_command_is_read_as_the_words_that_the_program_gets(source: str, read: list[str]) -> None:
    assert words(source) == [read]


def test_lists_and_pipes_are_cut_into_steps() -> None:
    line = parse("a | b && c || d; e\nf")

    assert [step.before for step in line.steps] == ["", "|", "&&", "||", ";", "\n"]
    assert line.doubts == ()


def test_redirections_and_assignments_belong_to_their_step() -> None:
    (step,) = parse("LANG=C ls 2>&1 >/dev/null").steps

    assert [(name, value.text) for name, value in step.assignments] == [("LANG", "C")]
    assert [(each.descriptor, each.operator, each.target.text) for each in step.redirections] == [
        ("2", ">&", "1"),
        ("", ">", "/dev/null"),
    ]


def test_a_quoted_name_in_front_of_an_equals_sign_sets_no_variable() -> None:
    assert words('"LANG"=C ls') == [["LANG=C", "ls"]]


@pytest.mark.parametrize(
    "source",
    [
        "echo $HOME", "echo ${x}", 'echo "$x"', "echo $(ls)", "echo `ls`", 'echo "`ls`"', "echo $((1+1))",
        "echo $'a'", 'echo $"a"', "cat <<EOF\nx\nEOF", "cat <<< x", "diff <(ls) x", "tee >(ls)", "ls &",
        "ls & pwd", "(ls)", "{ ls; }", "if true; then ls; fi", "for x in a; do ls; done",
        "while true; do ls; done", "case a in a) ls;; esac", "f() { ls; }", "function f { ls; }",
        "[[ -f x ]]", "((1))", "coproc ls", "echo {a,b}", "echo {1..3}", "echo x{a,b}y", "ls ~other",
        "ls a=~/x", "ls &&", "ls ||", "| ls", "; ls", "ls ;; pwd", "ls && && pwd", "echo 'a", 'echo "a',
        "echo \\", "l\\\ns", "a+=b ls", "a[0]=x ls", "ls >| x", "ls <> x", "ls |& cat", "ls {fd}>x",
        "ls 12>x", "ls >", "ls 2>", "ls =ls", "", "   ", "# only words", "ls }", "a=(1 2)",
    ],
)  # fmt: skip
def test_what_is_not_understood_leaves_a_doubt(source: str) -> None:
    assert parse(source).doubts


@pytest.mark.parametrize(
    "source",
    [
        'for f in a b; do rm -rf "$f"; done',
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        "(ls; rm -rf x)",
        "{ ls; rm -rf x; }",
        "if ls; then rm -rf x; fi",
        "f() { rm -rf x; }; f",
        "diff <(ls) <(rm -rf x)",
        "ls & rm -rf x",
        "x=$(rm -rf x)",
    ],
)
def test_commands_are_found_in_what_cannot_be_followed(source: str) -> None:
    found = [[word.text for word in step.words][:2] for step in parse(source).steps]

    assert ["rm", "-rf"] in found


def test_a_word_that_is_not_literal_says_so() -> None:
    (step,) = parse("rm -rf $x").steps

    assert [word.literal for word in step.words] == [True, True, False]


def test_patterns_and_tildes_are_marked() -> None:
    (step,) = parse("ls src/*.py ~/x 'a*' [a]").steps

    assert [word.pattern for word in step.words] == [False, True, False, False, True]
    assert [word.home for word in step.words] == [False, False, True, False, False]


def test_a_known_home_is_read_as_a_tilde() -> None:
    (step,) = parse("ls $HOME ${HOME}/x \"$HOME/a b\" '$HOME'", knows_home=True).steps

    assert [word.text for word in step.words] == ["ls", "~", "~/x", "~/a b", "$HOME"]
    assert [word.home for word in step.words] == [False, True, True, True, False]


def test_a_simple_word_is_read_as_it_would_be_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(11)
    letters = "ab1_./:+@%,-= \t\n|&;<>(){}~!#^*?[]'\"\\$`é"
    lines = ["".join(source.choices(letters, k=source.randrange(1, 12))) for _ in range(20_000)]
    lines += [shells.line(source) for _ in range(2_000)]
    quick = [parse(line) for line in lines]

    monkeypatch.setattr(tokens, "_SIMPLE", regex(r"(?!)"))

    assert [parse(line) for line in lines] == quick


def test_a_line_has_a_longest_length() -> None:
    assert parse("echo " + "a" * LONGEST).doubts
    assert parse("echo " + "a" * (LONGEST - 5)).doubts == ()


def test_a_line_has_a_greatest_number_of_commands() -> None:
    assert parse("; ".join(["ls"] * MOST_STEPS)).doubts == ()
    assert parse("; ".join(["ls"] * (MOST_STEPS + 1))).doubts


@pytest.mark.parametrize(
    "source",
    ['echo "' + "a" * 9000, "echo '" + "a" * 9000, "\\" * 9999, "(" * 9999, "$(" * 4000, "a&&" * 3300 + "a"],
)
@pytest.mark.timeout(60)
def test_no_line_takes_long(source: str) -> None:
    assert parse(source).doubts


def test_no_letter_crashes_the_grammar() -> None:
    """One that is far beyond the table of letters ended the whole process, in some of its starts."""
    lines = [
        "echo ${\U0010ffff}",
        "echo ${a\U0010ffff}",
        "cat <<\U0010ffff\nx\n\U0010ffff",
        "[[ \U0010ffff ]]",
    ]
    script = (
        "import sys; from errands.judge.shell.grammar import parse\nfor each in sys.argv[1:]: parse(each)"
    )
    for _ in range(8):
        done = subprocess.run([sys.executable, "-c", script, *lines], capture_output=True, check=False)
        assert done.returncode == 0


def test_letters_of_every_size_keep_their_places() -> None:
    line = parse("cat größe.md 日本.md 😀.md; rm $x 日本")

    assert [word.text for step in line.steps for word in step.words][-1] == "日本"
    assert parse("cat größe.md '😀' 日本.md").doubts == ()
