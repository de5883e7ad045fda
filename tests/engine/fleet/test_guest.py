"""The notes of a host about what it has: none is lost when a line is cut off, or all are written anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from errands.engine.fleet import guest
from errands.engine.fleet.guest import GuestNotes
from errands.ports.fleet import Taken
from errands.ports.home import Home

pytestmark = pytest.mark.spec("X12")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(path=str(tmp_path))
    os.makedirs(home.guests)
    return home


def taken(number: int, attempt: int = 1) -> Taken:
    return Taken(number=number, attempt=attempt, home="h", body={"name": "caf\u00e9\nof two lines"})


def test_what_was_noted_and_has_not_ended_is_there_after_a_kill(home: Home) -> None:
    notes = GuestNotes(home)
    notes.write([taken(n) for n in range(4)])
    notes.write([taken(3, attempt=2)])
    notes.forget(1)
    with open(f"{home.guests}/{guest.NOTES}", "ab") as file:
        file.write(b'{"number": 9, "att')  # the machine stopped here

    again = GuestNotes(home)
    again.write([taken(5)])

    assert again.read() == GuestNotes(home).read() == [taken(0), taken(2), taken(3, attempt=2), taken(5)]


def test_the_notes_of_a_host_that_is_never_idle_do_not_grow_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "MOST_NOTES", 4096)
    notes = GuestNotes(home)
    notes.write([taken(0)])
    for number in range(1, 200):
        notes.write([taken(number)])
        notes.forget(number - 1)
        assert os.stat(f"{home.guests}/{guest.NOTES}").st_size < 5000

    assert GuestNotes(home).read() == [taken(199)]
    notes.forget(199)
    assert os.listdir(home.guests) == []
