"""What the doctor says about a client that has Errands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.programs import have_types
from tests.frontends.cli.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "errands", tmp_path)
    yield person
    person.leaves()


@pytest.mark.spec("X15", "X17")
def test_the_doctor_explains_why_opencode_waits_without_a_network(person: Person) -> None:
    assert "OpenCode" not in person.types("doctor").out.partition("clients")[2]
    person.types("install", "opencode", "--project", "--yes")
    folder = person.cwd / ".opencode"

    waits = person.types("doctor").out
    have_types(folder)
    ready = person.types("doctor").out

    assert f"has not installed @opencode-ai/plugin in {folder} yet: without a network" in waits
    assert "waits 70 s at each start" in waits
    assert f"OpenCode has our plugin in {folder}" in ready
