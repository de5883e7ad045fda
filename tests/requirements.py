"""The requirements and the tests that prove them.

`python -m tests.requirements` lists the requirements in docs/requirements.md that no test proves. Every
test run checks that the ids on its tests exist.
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
    """Yield the ids of the requirements that a test claims to prove."""
    for mark in item.iter_markers("spec"):
        yield from mark.args


def unknown_ids(items: list[pytest.Item], known: dict[str, str]) -> list[str]:
    """Report the tests that carry an id no requirement has."""
    return [
        f"{item.nodeid} carries {name!r}, which docs/requirements.md does not have"
        for item in items
        for name in proven(item)
        if name not in known
    ]


class _Collector:
    """Keep the tests that pytest collects."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)


def tests_by_id() -> dict[str, list[str]]:
    """Collect all tests, and map each id of a requirement to the tests that carry it, parameters left out."""
    collector = _Collector()
    with redirect_stdout(StringIO()) as output:
        code = pytest.main(["--collect-only", "-q"], plugins=[collector])
    if code != 0:
        raise SystemExit(output.getvalue())
    tests: dict[str, dict[str, None]] = defaultdict(dict)
    for item in collector.items:
        for name in proven(item):
            tests[name][item.nodeid.partition("[")[0]] = None
    return {name: list(found) for name, found in tests.items()}


def main() -> int:
    """Print which requirements have a test; fail when the ids cannot be read."""
    text = PLACE.read_text()
    known = read(text)
    tests = tests_by_id()
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
