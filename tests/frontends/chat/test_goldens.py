"""What people see of a chat in a window of 40, 80 and 140 columns, kept in `goldens/` to look at.

After a change that is meant: `make goldens`, then read the difference.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.model.text.width import width
from tests.frontends.chat.window import ENTER, Window
from tests.frontends.cli.person import Person

PLACE = Path(__file__).with_name("goldens")
WIDTHS = (40, 80, 140)
REWRITE = "GOLDENS"
LINES = 24
QUESTION = "[y/a/N]"


@pytest.fixture(scope="module")
def person() -> Iterator[Person]:
    # Always equally long, so that lines break at the same places.
    place = Path(f"/tmp/errands-{os.urandom(4).hex()}")
    (place / "shop").mkdir(parents=True)
    somebody = Person(place / "home", place / "shop")
    somebody.environ |= {"HOME": str(place), "TZ": "UTC", "LANG": "C.UTF-8", "NO_COLOR": "1"}
    yield somebody
    somebody.leaves()
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", WIDTHS)
def test_what_people_see_of_a_chat_is_as_it_was(person: Person, columns: int) -> None:
    window = Window(person, "--agent", "offline", size=(LINES, columns))
    try:
        frames = list(_frames(window))
    finally:
        window.close()
    said = (
        "\n".join(f"{f' {title} ':=^{columns}}\n{_masked(frame, person)}" for title, frame in frames) + "\n"
    )
    file = PLACE / f"{columns}.txt"
    if os.environ.get(REWRITE) == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(said)
    assert file.read_text() == said, f"{file.name} differs; if that is meant: make goldens"


@pytest.mark.spec("X21")
@pytest.mark.parametrize("columns", WIDTHS)
def test_no_line_of_a_chat_is_wider_than_its_window(columns: int) -> None:
    lines = (PLACE / f"{columns}.txt").read_text().splitlines()

    assert [line for line in lines if width(line) > columns] == []


def _frames(window: Window) -> Iterator[tuple[str, str]]:
    """Yield what the window shows whenever it waits for the person."""

    def waiting(end: str = "\n>") -> str:
        window.until(lambda: window.frame.endswith(end), f"{end!r} at the end")
        return window.frame

    yield "opened", waiting()
    window.types(f"/help{ENTER}")
    window.shows("Anything else")
    yield "/help", waiting()
    window.types(f"/background rm -r the-old-pictures-of-the-shop{ENTER}")
    window.shows("because  ")  # printed above the question, at times a moment after it
    yield "a question", waiting(QUESTION)
    window.types(f"n{ENTER}")
    window.shows("rejected rm-")
    yield "the answer no", waiting()
    window.types(f"/tsaks{ENTER}")
    window.shows("unknown command")
    yield "a wrong word", waiting()


def _masked(text: str, person: Person) -> str:
    """Replace what differs every time by something as wide."""
    text = text.replace(person.home.parent.name, "errands-examples")
    text = re.sub(r"\bchat:[a-z0-9]{6}\b", "chat:222222", text)
    return re.sub(r"\brm-[a-z0-9]{6}\b", "rm-222222", text)
