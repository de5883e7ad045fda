"""Patterns match what their programs would match, and whatever is not understood counts as a match."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from random import Random

import pytest

from errands.judge.programs.patterns import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.patterns import Dialect

pytestmark = pytest.mark.spec("A2")

LINE = "QZ_WXKJV=7fq3"
OPTIONS: dict[Dialect, str] = {"basic": "-G", "extended": "-E", "perl": "-P", "fixed": "-F"}
WORDS = r"""
. .* ^ $ \w \W [A-Z] = _ 7 q z | \| ( ) * + ? {1,3} {2,} \{2\} [^a] [^a-z] \S [[:upper:]] (?i) \b \B
\< \> () (|) [=] \d \D \pL \X \K \Q=\E \1 [] []=] [^]=] [\] [^\d\D] ^.*$ \A \z .+= $$ ^^ +? *+ a b \( \) \+ \?
""".split()


@pytest.mark.parametrize(
    ("pattern", "dialects"),
    [
        (".", "basic extended perl rust"),
        (r"\<", "basic extended rust"),
        (r"\`", "basic extended"),
        ("b+?", "extended"),
        (r"b\+\?", "basic"),
        (".*+=", "extended rust"),
        ("(?!|)", "extended"),
        ("|)", "extended"),
        ("^*=", "extended"),
        (r"[^\d\D]", "basic extended"),
        ("[[^a]]", "rust"),
        ("[[:<:]]", "basic extended perl rust"),
        (r"\pL", "perl rust"),
        (r"\b{start}", "rust"),
        ("(?x) # all", "perl rust"),
        ("[^a-z]=", "basic extended perl rust"),
        ("qz_", "basic extended perl rust fixed"),
        ("x" * 201, "basic extended perl rust"),
    ],
)
def test_a_pattern_that_a_program_may_find_in_secrets_counts(pattern: str, dialects: str) -> None:
    every: list[Dialect] = ["basic", "extended", "perl", "rust", "fixed"]

    assert [each for each in dialects.split() if each not in every] == []
    assert [each for each in every if each in dialects.split() and not matches(pattern, each, [LINE])] == []


@pytest.mark.parametrize(
    ("pattern", "dialects"),
    [
        ("*args", "basic extended"),
        ("^* main", "basic extended"),
        ("main(", "basic extended perl rust"),
        ("main)", "basic extended perl rust"),
        ("a[b", "basic extended perl rust"),
        ("a|b", "basic extended perl rust"),
        (r"\<main\>", "basic extended"),
        (r"class \p{Lu}\w+", "perl rust"),
        ("import .+? from", "perl rust"),
        (r"x\{2,\}[[:space:]]", "basic"),
        ("a.b", "fixed"),
    ],
)
def test_an_everyday_pattern_does_not(pattern: str, dialects: str) -> None:
    every: list[Dialect] = ["basic", "extended", "perl", "rust", "fixed"]

    assert [each for each in every if each in dialects.split() and matches(pattern, each, [LINE])] == []


@pytest.mark.parametrize("dialect", OPTIONS)
def test_what_grep_finds_is_a_match(tmp_path: Path, dialect: Dialect) -> None:
    """Patterns drawn at random, against the program itself."""
    if "GNU" not in subprocess.run(["grep", "-V"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("grep is not that of GNU")
    (tmp_path / "secret").write_text(f"{LINE}\n")
    random, found = Random(20), 0
    for pattern in {"".join(random.choices(WORDS, k=random.randint(1, 4))) for _ in range(400)}:
        if matches(pattern, dialect, [LINE]):
            continue
        done = subprocess.run(
            [shutil.which("grep") or "grep", OPTIONS[dialect], "-q", "-e", pattern, "secret"],
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        found += 1
        assert done.returncode, f"grep {OPTIONS[dialect]} {pattern!r} finds it"
    assert found >= 20


def test_a_pattern_of_several_lines_is_several_patterns() -> None:
    assert matches("nothing\n=", "basic", [LINE])
    assert not matches("nothing\nelse", "basic", [LINE])
    assert matches("[\nA-Z_]=", "rust", [LINE]), "rg reads them as one"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w+\s?)*$Q",
        r"(([a-zA-Z0-9_-]+)*)*!",
        r"(\w|\w\w)+!",
        r"(\w+){2,}!",
        ".*" * 60 + "Q!",
        "(a|.)*" * 20 + "Q!",
        r"(.?)" * 30 + "Q!",
        r"(.{1,30}){1,30}Q!",
        "(" * 20 + ".*" + ")+" * 20 + "Q!",
    ],
)
def test_loops_in_loops_do_not_take_long(pattern: str) -> None:
    started = time.perf_counter()
    matches(pattern, "rust", ["x7Zx2Vb9Kw4Jt8Qz6Xv3Bn5Mq1Wz7Kx2Vb9Kw4" * 3])

    assert time.perf_counter() - started < 5


def test_a_loop_over_choices_matches_what_it_did() -> None:
    assert matches(r"(foo|bar)+x", "rust", ["a foobarfoox"])
    assert matches(r"(\w+-)*x", "rust", ["x"])
    assert matches(r"(a+b){2,3}", "rust", ["aabab"])
    assert not matches(r"(foo|bar)+", "rust", ["baz"])


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\w*\w*\w*]",
        r"^(?!(z|)*$)",
        r"^(?!\w*\w*\w*$)",
        r"^(?!(?:a+)+$)",
        r"(?>(q|b)*)q",
        r"(q)*(.*)\2",
        "x(?#(a|b)*",
    ],
)
def test_no_pattern_matches_less_without_its_loops(pattern: str) -> None:
    assert matches(pattern, "perl", ["zq: 'xw8'"])
