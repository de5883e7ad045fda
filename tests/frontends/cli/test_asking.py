"""The question before something irreversible: what is shown is what would run, and only a yes is a yes."""

from __future__ import annotations

import os
import pty
import sys
import unicodedata
from collections.abc import Iterator
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.frontends.cli import asking
from errands.text import Look, width

pytestmark = [pytest.mark.spec("A4")]

# What drives, hides or reorders, and what looks like our own frame.
NASTY = (
    *"\x00\x07\x08\x0b\r\x1b\x7f\x9b\x9d\u061c\u200b\u200d\u200e\u202e\u2066\u2069\ufeff\u2028\u3164\u2800",
    *"\u0301\u20dd\ufe0f\U000e0041\u05d0\u0627\u4e2d\uff41\u00a0\u3000\t\ud800\udcff",
    *("\x1b[2J", "\x1b]52;c;YQ==\x07", "\x1b[8m", "\n│ ", "\nStart it? [y/N] y\n", "<U+001B>", "  " * 60),
)
commands = st.lists(st.one_of(st.text(), st.sampled_from(NASTY)), max_size=12).map("".join)
looks = st.builds(
    Look, colour=st.just(False), unicode=st.booleans(), columns=st.integers(min_value=1, max_value=200)
)


def unframed(lines: list[str], look: Look) -> str:
    """Take the frame off again: what is left must be the whole text, character by character."""
    bar, more = ("│ ", "┆ ") if look.unicode else ("| ", ": ")
    text = ""
    for number, line in enumerate(lines):
        assert line.startswith((bar, more))
        text += ("\n" if line.startswith(bar) and number else "") + line[2:]
    return text


@pytest.mark.fault("F35")
@given(commands, looks)
def test_nothing_of_a_command_drives_the_terminal_or_is_hidden(command: str, look: Look) -> None:
    shown = asking.framed(command, look, room=look.columns)

    for character in "".join(shown):
        assert character.isprintable()
        assert unicodedata.category(character)[0] not in "CM"
        assert unicodedata.bidirectional(character) not in ("R", "AL", "AN", "NSM", "BN")
        assert look.unicode or character.isascii()
    assert all(width(line) <= max(look.columns, 10) for line in shown)
    assert unframed(shown, look) == "\n".join(
        "".join(
            c if c in asking.visible(c) and (look.unicode or c.isascii()) else asking.spelt(c) for c in line
        )
        for line in command.split("\n")
    )


@pytest.mark.fault("F35")
def test_no_character_at_all_drives_the_terminal() -> None:
    for number in range(sys.maxunicode + 1):
        shown = asking.visible(chr(number))
        assert shown.isprintable(), hex(number)
        assert shown == chr(number) or (shown.startswith("<") and shown.isascii()), hex(number)


def test_plain_text_of_any_language_stays_readable() -> None:
    for text in ("rm -rf 'a b'", "grüße", "日本語", "ασφάλεια", "файл"):
        assert asking.visible(text) == text


def test_a_newline_cannot_pass_for_a_long_line_nor_end_the_frame() -> None:
    look = Look(columns=24)

    assert asking.framed("echo aaaaaaaaaaaaaaaaaaaaaa\nrm x", look, room=22) == [
        "│ echo aaaaaaaaaaaaaaa",
        "┆ aaaaaaa",
        "│ rm x",
    ]


class Keys:
    """A real terminal as standard input; `hits` types on it."""

    def __init__(self) -> None:
        self._keyboard, terminal = pty.openpty()
        self.stdin: IO[str] = os.fdopen(terminal, "r")

    def hits(self, keys: bytes) -> None:
        os.write(self._keyboard, keys)

    def hangs_up(self) -> None:
        os.close(self._keyboard)

    def close(self) -> None:
        self.stdin.close()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    made = Keys()
    monkeypatch.setattr(sys, "stdin", made.stdin)
    yield made
    made.close()


class Answering:
    """Standard error that types as soon as the question is there."""

    def __init__(self, keys: Keys, answer: bytes) -> None:
        self._keys, self._answer = keys, answer
        self.said = ""

    def write(self, text: str) -> int:
        if text == "Start it? [y/N] ":
            self._keys.hits(self._answer)
        self.said += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.spec("A5")
@pytest.mark.parametrize(
    ("typed", "is_yes"),
    [
        (b"y\n", True),
        (b"Y\n", True),
        (b"yes\n", True),
        (b" YES \n", True),
        (b"n\n", False),
        (b"\n", False),
        (b"yeah\n", False),
        (b"ja\n", False),
        (b"y y\n", False),
        (b"\xff\n", False),
        (b"no\ny\n", False),
        (b"y" * 2000 + b"\n", False),
        (b"y\x04\x04", False),  # the end of input after a letter, without Enter
        (b"\x04", False),
    ],
)
def test_only_a_typed_yes_is_a_yes(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, typed: bytes, is_yes: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", Answering(keys, typed))

    assert asking.answered("Start it? [y/N] ", timeout=5) is is_yes


@pytest.mark.spec("A5")
def test_no_answer_in_time_is_a_no(keys: Keys) -> None:
    assert asking.answered("Start it? [y/N] ", timeout=0.1) is False


@pytest.mark.spec("A5")
def test_a_terminal_that_hangs_up_is_a_no(keys: Keys) -> None:
    keys.hangs_up()

    assert asking.answered("Start it? [y/N] ", timeout=5) is False


@pytest.mark.spec("A5")
def test_what_was_typed_before_the_question_is_no_answer_to_it(keys: Keys) -> None:
    keys.hits(b"y\n")

    assert asking.answered("Start it? [y/N] ", timeout=0.3) is False
