"""Lines to judge, split into words as a shell does."""

from __future__ import annotations

import shlex

from errands.judge.programs import reasons_for
from errands.model.verdict import Reason
from tests.judge.fake_workspace import FakeWorkspace

PLACE = FakeWorkspace(cwd="/home/person/project", project="/home/person/project", home="/home/person")


def reasons(line: str, place: FakeWorkspace = PLACE) -> tuple[Reason, ...]:
    """Judge one simple command, written with quotes."""
    return reasons_for(tuple(shlex.split(line)), place)


def listed(text: str) -> list[str]:
    """Return the lines of a text, without empty ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]
