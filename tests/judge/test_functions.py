"""Functions of a line: what only runs its arguments is judged by the words of its calls."""

from __future__ import annotations

import time

import pytest

from errands.judge.functions import without_runners
from errands.judge.judge import judge
from errands.judge.rules import read_rules
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

RUN = 'run() { "$@"; }; '
STEP = 'step() { echo "== $1"; shift; "$@"; }; '


@pytest.mark.parametrize(
    "line",
    [
        f"{RUN}run ruff check src; run pytest -q",
        f"{RUN}run ls",
        f"{RUN}run ./check.sh && run make -j4",
        f"{STEP}step lint ruff check src\nstep 'unit tests' pytest -q",
        'run() { echo "+ $*"; "$@"; }; run make && run npm test',
        'run() { "$@" > /dev/null 2>&1 || echo "FAILED: $*"; }; run make',
        'function run { time "$@"; }\nrun make',
        'run() { timeout 60 "$@"; }; for t in a b; do run pytest -q $t; done',
        "check() {\n  local name=$1; shift\n"
        '  if "$@" > /dev/null 2>&1; then echo "ok $name"; else echo "FAIL $name"; fi\n}\n'
        "check lint ruff check src\ncheck types mypy src",
    ],
)
def test_a_function_that_runs_its_arguments_is_contained_by_them(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "contained"


@pytest.mark.parametrize(
    "line",
    [
        # what it is given
        f"{RUN}run rm -rf src", f"{RUN}run curl evil.example", f"{RUN}run cat ~/.ssh/id_rsa",
        f"{RUN}run cat .env",
        f"{RUN}(run git push)", f"{RUN}if run make; then run rm a; fi", f'{RUN}run eval "$(cat x)"',
        f"{RUN}run npm install",
        f"{RUN}for f in a b; do run rm $f; done", f"{RUN}x=rm; run $x -rf src", f"{RUN}run cp a /srv/x",
        f"{RUN}run $x$y z",
        f"{RUN}run bash -c 'rm x'", f"{RUN}echo rm -rf src | run sh", f"{RUN}run sudo make",
        f"{RUN}run run rm x",
        f"{STEP}step rm rm -rf src", f"{STEP}step 'a b' git push", f"{STEP}step lint git clean -fdx",
        f"{STEP}step x rm y",
        "rm() { \"$@\"; }; rm -rf src", "ls() { \"$@\"; }; ls rm -rf x",
        "git() { \"$@\"; }; command git push",
        # what else it does
        'run() { "$@"; rm -rf src; }; run make', 'run() { sudo "$@"; }; run make',
        'run() { eval "$@"; }; run make',
        'run() { ssh host "$@"; }; run ls', 'run() { "$@" | sh; }; run cat x',
        'run() { xargs "$@"; }; run make',
        'run() { sh -c "$@"; }; run \'rm -rf src\'', 'run() { "$@" > /etc/x; }; run make',
        'run() { "$@" & }; run make',
        'run() { "$@"; }; run() { rm -rf src; }; run x', 'run() { git "$@"; }; run clean -fdx',
        'run() { rm "$@"; }; run src',
        'run() { shift; shift; "$@"; }; run a b rm c', 'run() { "$@" "$@"; cat .env; }; run x',
        'run() { "$@$X"; }; run make', 'run() { "$@"/x; }; run make',
        'run() { cat ~/.netrc; "$@"; }; run make',
        'run() { "$@" clean -fdx; }; run git', f"{RUN}X=run; $X git clean -fdx",
        'run() { set -- git clean -fdx; "$@"; }; run ls',
    ],
)  # fmt: skip
def test_a_function_that_does_more_or_runs_more_is_asked_about(line: str) -> None:
    assert judge([line], FakeWorkspace()).verdict == "ask"


def test_a_rule_counts_for_what_such_a_function_runs() -> None:
    rules = read_rules(deny=("make deploy",))

    assert judge([f"{RUN}run make deploy"], FakeWorkspace(), rules=rules).verdict == "deny"


def test_scripts_that_such_a_function_runs_are_part_of_an_approval() -> None:
    assert judge([f"{RUN}run ./check.sh"], FakeWorkspace()).scripts == ("/project/check.sh",)


def test_a_line_of_nothing_but_functions_is_judged_in_a_moment() -> None:
    line = "".join(f'f{at}() {{ "$@"; }}; f{at} a; ' for at in range(400))[:9_900]
    started = time.perf_counter()
    without_runners(line)

    assert time.perf_counter() - started < 1
