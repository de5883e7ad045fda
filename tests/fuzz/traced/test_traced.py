"""What the judge calls harmless does nothing but read when it really runs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.fuzz.traced.__main__ import fuzz, tried
from tests.fuzz.traced.drafts import Drafts, shape
from tests.fuzz.traced.effects import effects
from tests.fuzz.traced.machine import MARK, Machine, missing
from tests.judge.fake_workspace import FakeWorkspace

SEED = 20
LINES = 1_000  # `make test-long` judges 20,000, `make fuzz` a million
HARMFUL = {
    "touch x": "openat /project/x",
    "echo a > src/x": "openat /project/src/x",
    "echo a >> /tmp/x": "openat /tmp/x",
    "mkdir d": "mkdir /project/d",
    "rm notes.txt": "unlinkat /project/notes.txt",
    "chmod 600 README.md": "fchmodat /project/README.md",
    "ln -s a b": "symlinkat /project/b",
    "mv notes.txt other": "renameat2 /project/notes.txt",
    "cat .env": "reads /project/.env",
    "grep -c . .en[v]": "reads /project/.env",
    "cat ~/.ssh/id_rsa": "reads /home/person/.ssh/id_rsa",
    "cat < /dev/tcp/127.0.0.1/9": "connect ",
    "getent hosts example.com": "connect ",
    "sed -n 's/a/b/w out' README.md": "openat /project/out",
    "perl -e 1": "starts /usr/bin/perl",
    "awk 'BEGIN { system(\"tee x\") }'": "starts /usr/bin/tee",
    "./README.md; src/main.py": "starts ./README.md",
}

pytestmark = [
    pytest.mark.spec("A2"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module", autouse=True)
def can_trace() -> None:
    if lacking := missing():
        pytest.skip(lacking)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("traced") / "machine")


def test_what_passes_neither_writes_nor_connects_nor_starts_other_programs(tmp_path: Path) -> None:
    findings = fuzz(tmp_path / "machine", count=LINES, seed=SEED, at_once=2)

    assert findings.bad == {}
    assert findings.raised == []
    assert findings.ran >= LINES // 20


@pytest.mark.parametrize(("line", "effect"), HARMFUL.items())
def test_the_tracer_sees_what_a_harmful_line_does(machine: Machine, line: str, effect: str) -> None:
    """Otherwise the lines that pass would prove nothing."""
    (seen,) = tried(machine, ["ls", line, "cat README.md"]).items()

    assert seen[0] == line
    assert any(each.startswith(effect) for each in seen[1]), seen[1]


def test_a_judge_that_lets_everything_pass_is_caught(machine: Machine) -> None:
    lines = [
        "ls -l",
        "date > stamp",
        "git status -s",
        "git log --oneline | head -1",
        "grep -rn a src",
        "sort -o x README.md",
    ]

    assert tried(machine, lines).keys() == {"date > stamp", "sort -o x README.md"}


def test_what_a_search_opens_or_a_program_only_looks_at_is_no_effect(machine: Machine) -> None:
    lines = ["git grep --untracked zz", "grep -rn zz .", "grep -Re'z,z.z' .", "df .env", "file .env"]
    lines.append("nice zsh -c 'ls'")

    assert tried(machine, lines) == {}
    assert tried(machine, ["git grep --no-index zz config/database.yml", "head .env"]).keys() == {
        "git grep --no-index zz config/database.yml",
        "head .env",
    }


def test_a_call_that_the_trace_interrupts_is_seen() -> None:
    trace = f"""\
7 chdir("{MARK}0") = -1 ENOENT (No such file or directory)
8 openat(AT_FDCWD</project>, "x", O_WRONLY|O_CREAT, 0666 <unfinished ...>
9 openat(AT_FDCWD</project>, "y", O_RDONLY) = 3</project/y>
8 <... openat resumed>) = -1 EROFS (Read-only file system)
"""
    assert [each.what for each in effects(trace)] == ["openat /project/x"]


@pytest.mark.parametrize(("words", "is_told"), [('"-uu", "a"', False), ('"a", "./.env"', True)])
def test_a_thread_counts_as_its_program_and_a_search_as_no_effect(words: str, is_told: bool) -> None:
    trace = f"""\
7 chdir("{MARK}0") = -1 ENOENT (No such file or directory)
8 execve("/usr/bin/rg", ["rg", {words}], 0x55 /* 9 vars */) = 0
8 clone3({{flags=CLONE_VM|CLONE_THREAD, exit_signal=0}} <unfinished ...>
9 openat(AT_FDCWD</project>, "./.env", O_RDONLY|O_CLOEXEC) = 3</project/.env>
8 <... clone3 resumed> => {{parent_tid=[9]}}, 88) = 9
"""
    assert [each.what for each in effects(trace)] == (["reads /project/.env"] if is_told else [])


def test_the_same_seed_draws_the_same_lines() -> None:
    assert list(islice(Drafts(3), 50)) == list(islice(Drafts(3), 50))
    assert list(islice(Drafts(3), 50)) != list(islice(Drafts(4), 50))


def test_drafts_are_of_both_kinds() -> None:
    here = FakeWorkspace()
    verdicts = [judge((line,), here).verdict for line in islice(Drafts(SEED), 500)]

    assert verdicts.count("auto") >= 50
    assert len(verdicts) - verdicts.count("auto") >= 100


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("cat README.md", "cat notes.txt", True),
        ("head -n 5 a.txt", "head -n 50 b.txt", False),
        ("sed -n 's/a/b/p' x", "sed -n 's/a/b/w' x", False),
        ("sed 's/foo/bar/' x", "sed 's/bar/foo/' y", False),
        ("awk '{print total}'", "awk '{system(total)}'", False),
        ("git log main", "git log other", True),
        ("git log main", "git show main", False),
        ("ls -l src", "ls -a src", False),
    ],
)
def test_a_shape_keeps_what_decides_and_drops_what_is_merely_named(
    one: str, other: str, is_same: bool
) -> None:
    assert (shape(one) == shape(other)) is is_same
