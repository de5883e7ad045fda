"""Judging takes a moment, whatever a line says."""

from __future__ import annotations

import time

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace


def _many(pattern: str) -> str:
    return " ".join(pattern.replace("N", str(number)) for number in range(4_000 // (len(pattern) + 3)))


@pytest.mark.parametrize(
    "line",
    [
        f"cat {_many('dN*x*y*')}",
        f"cat {'/a*' * 1_300}",
        f"cat {_many('.N*')}",
        f"cat x{'[' * 3_900}",
        f"ls {_many('aN*')}",
        f"find {_many('srcN')} -name x",
        f"grep -r zqx {_many('srcN*')}",
        f"rg zqx {_many('-g *.pN')}",
        f"grep -r x . --include='*.{{{_many('aN,')}}}'",
        f"diff {_many('aN')}",
        f"diff --from-file=x {' '.join(f'a{number}' for number in range(20))}",
        f"iconv -f {'/' * 3_900}x f",
        f"bash -c 'cat {_many('aN*b?c*')}'",
    ],
)
def test_a_line_with_very_many_words_and_patterns_is_asked_about_at_once(line: str) -> None:
    started = time.perf_counter()
    verdict = judge((line,), FakeWorkspace()).verdict

    assert time.perf_counter() - started < 1  # 30 ms where nothing else runs; it was up to seconds
    assert verdict != "auto"


@pytest.mark.parametrize(
    "line",
    [
        f"wc -l {' '.join(f'src/part{number}.py' for number in range(200))}",
        "ls a* b* c* d* e* f* g* h* src/*.md src/*.py",
        "find . -name '*.py'" + "".join(f" -o -name 'x*.p{number}'" for number in range(20)),
    ],
)
def test_a_line_with_many_words_is_judged(line: str) -> None:
    assert judge((line,), FakeWorkspace()).verdict == "auto"
