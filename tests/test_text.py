"""Text for people: aligned, within the terminal's width, with readable amounts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.text import (
    Cell,
    Column,
    Look,
    clip,
    facts,
    one_line,
    plural,
    rule,
    size,
    table,
    wants_colour,
    width,
    wrap,
)

PLAIN = Look(colour=False, unicode=True, columns=60)


class FakeStream:
    encoding = "utf-8"

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (10 << 20, "10 MiB"),
        (3 << 40, "3 TiB"),
    ],
)
def test_a_number_of_bytes_is_shown_in_its_largest_unit(count: int, words: str) -> None:
    assert size(count) == words


@given(st.text(), st.integers(min_value=1, max_value=40))
def test_clipped_text_never_exceeds_its_width(text: str, columns: int) -> None:
    text = one_line(text)
    assert width(clip(text, columns)) <= columns


def test_wide_characters_count_twice_and_combining_marks_not_at_all() -> None:
    assert width("日本") == 4
    assert width("e\u0301") == 1
    assert clip("日本語", 5) == "日本…"


def test_table_columns_align_regardless_of_colour() -> None:
    look = Look(colour=True, columns=60)
    rows: list[tuple[str | Cell, ...]] = [
        ("a", Cell(text="✓ done", colour="green"), "1"),
        ("longer", "日本", "22"),
    ]
    lines = table((Column(title="ID"), Column(title="STATE"), Column(title="N", right=True)), rows, look)
    plain = table((Column(title="ID"), Column(title="STATE"), Column(title="N", right=True)), rows, PLAIN)

    assert plain == ["ID      STATE    N", "a       ✓ done   1", "longer  日本    22"]
    assert "\x1b[32m✓ done\x1b[0m" in lines[1]
    assert lines[1].replace("\x1b[32m", "").replace("\x1b[0m", "") == plain[1]


def test_only_flexible_columns_of_a_table_are_clipped() -> None:
    look = Look(columns=30)
    lines = table(
        (Column(title="ID"), Column(title="TEXT", flex=True)), [("pytest-7k2m4x", "word " * 20)], look
    )

    assert lines[1] == "pytest-7k2m4x  word word word…"
    assert width(lines[1]) == 30


def test_a_column_without_values_is_left_out() -> None:
    lines = table((Column(title="ID"), Column(title="BATCH"), Column(title="X")), [("a", "", "1")], PLAIN)

    assert lines == ["ID  X", "a   1"]


def test_facts_have_two_columns_and_empty_facts_are_left_out() -> None:
    assert facts([("id", "a"), ("batch", ""), ("command", "x\ny")], PLAIN) == [
        "  id       a",
        "  command  x",
        "           y",
    ]


def test_a_terminal_without_unicode_gets_only_ascii() -> None:
    look = Look(unicode=False, columns=20)

    assert rule("t", look).isascii()


def test_words_are_wrapped_and_paragraphs_kept() -> None:
    assert wrap("one two three\n\nfour", 7) == ["one two", "three", "", "four"]


@pytest.mark.parametrize(
    ("setting", "environ", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"CLICOLOR_FORCE": "1"}, True, False),
    ],
)
def test_colours_follow_the_setting_then_the_environment_then_the_terminal(
    setting: str, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    assert wants_colour(FakeStream(terminal), setting=setting, environ=environ) is wanted


def test_numbers_agree_with_their_nouns() -> None:
    assert plural(1, "task") == "1 task"
    assert plural(1234, "task") == "1,234 tasks"
    assert plural(2, "entry", "entries") == "2 entries"
