"""The requirements and the tests that prove them.

`python -m tests.requirements` tells which lines of docs/requirements.md no test carries the id of. Every
run of the tests checks that the ids they carry exist.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import shorten

import pytest

PLACE = Path(__file__).parents[1] / "docs" / "requirements.md"
_SECTION = re.compile(r"^## ([A-Z])\. (.+)$")
_LINE = re.compile(r"^- ([A-Z]\d+) (.+)$")


class DuplicateError(Exception):
    """Two requirements have the same id."""


def read(text: str) -> dict[str, str]:
    """Map the id of every requirement to its sentence."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            if match[1] in found:
                raise DuplicateError(f"docs/requirements.md has two requirements {match[1]}")
            found[match[1]] = match[2]
    return found


def sections(text: str) -> dict[str, str]:
    """Map the letter of every section to its title."""
    return {match[1]: match[2] for line in text.splitlines() if (match := _SECTION.match(line))}


def proven(item: pytest.Item) -> Iterator[str]:
    """Name the requirements that a test says it proves."""
    for mark in item.iter_markers("spec"):
        yield from mark.args


def complaints(items: list[pytest.Item], known: dict[str, str]) -> list[str]:
    """Name the tests that say they prove what no requirement asks for."""
    return [
        f"{item.nodeid} carries {name!r}, which docs/requirements.md does not have"
        for item in items
        for name in proven(item)
        if name not in known
    ]


class _Collector:
    """Keep the tests that pytest finds."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)


def main() -> int:
    """Print what is proven and what is not; fail when the ids are not in order."""
    text = PLACE.read_text()
    known = read(text)
    collector = _Collector()
    with redirect_stdout(StringIO()) as said:
        code = pytest.main(["--collect-only", "-q"], plugins=[collector])
    if code != 0:
        print(said.getvalue())
        return int(code)
    tests: dict[str, set[str]] = defaultdict(set)
    for item in collector.items:
        for name in proven(item):
            tests[name].add(item.nodeid)
    for letter, title in sections(text).items():
        ids = [name for name in known if name[0] == letter]
        missing = [name for name in ids if name not in tests]
        print(f"{letter}. {title}: {len(ids) - len(missing)} of {len(ids)} have a test")
        for name in missing:
            print(f"   {name:4} {shorten(known[name], 100, placeholder=' ...')}")
    print(f"\n{len(tests)} of {len(known)} requirements have a test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
