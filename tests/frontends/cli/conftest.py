"""People at the command line: `person` shares a home with the tests of a file, `newcomer` is alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("person")
    somebody = Person(place / "home", place)
    yield somebody
    somebody.leaves()


@pytest.fixture
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("newcomer")
    somebody = Person(place / "home", place)
    yield somebody
    somebody.leaves()


@pytest.fixture
def terminal(person: Person) -> Iterator[Terminal]:
    made = Terminal(person)
    yield made
    made.close()


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Something that would be missed."""
    (tmp_path / "precious").mkdir()
    return tmp_path / "precious"
