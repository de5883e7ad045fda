"""Text for people: aligned, within the terminal's width, with readable amounts."""

from __future__ import annotations

from time import process_time

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


@pytest.mark.spec("X21")
def test_a_narrow_table_leaves_out_the_least_important_columns_and_never_overflows() -> None:
    columns = (
        Column(title="ID", flex=2, least=6),
        Column(title="STATE"),
        Column(title="TOOK", drop=1),
        Column(title="CREATED", drop=2),
        Column(title="TEXT", flex=1, least=6),
    )
    rows = [("pytest-7k2m4x", "running", "1m 23s", "52m ago", "a long text " * 5)]

    def titles(wide: int) -> str:
        lines = table(columns, rows, Look(columns=wide))
        assert max(map(width, lines)) <= wide
        return lines[0]

    assert titles(140).split() == ["ID", "STATE", "TOOK", "CREATED", "TEXT"]
    assert titles(36).split() == ["ID", "STATE", "TOOK", "TEXT"]
    assert titles(24).split() == ["ID", "STATE", "TEXT"]
    for wide in range(10, 100):
        titles(wide)


@pytest.mark.spec("X21")
def test_a_cell_can_say_how_to_shorten_it() -> None:
    columns, look = (Column(title="N", flex=1, least=4),), Look(columns=6)

    assert table(columns, [(Cell(text="one two three", fit=lambda room: f"fit{room}"),)], look)[1] == "fit6"


@pytest.mark.spec("X21")
def test_the_text_of_the_last_column_can_wrap() -> None:
    columns = (Column(title="A"), Column(title="TEXT", flex=1, wraps=True))

    assert table(columns, [("a", "one two three four")], Look(columns=12)) == [
        "A  TEXT", "a  one two", "   three", "   four",
    ]  # fmt: skip


@pytest.mark.spec("X21")
@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("日本", 4), ("e\u0301", 1), ("\U0001f680", 2), ("\u2764\ufe0f", 2), ("\U0001f44d\U0001f3fd", 2),
        ("\U0001f469\u200d\U0001f469\u200d\U0001f467", 2), ("\U0001f1e9\U0001f1ea", 2),
        ("\u1100\u1161\u11a8", 2), ("\u200b", 0), ("\uff21", 2), ("\uff71", 1),
        ("\x1b[31mred\x1b[0m", 3), ("● ✓ …", 5),
    ],
)  # fmt: skip
def test_cells_are_counted_not_characters(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(clip(f"{text} and more", 4)) <= 4
    assert clip(text, max(cells, 1)) == text


@pytest.mark.spec("X21")
def test_what_is_drawn_as_one_is_clipped_as_one() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"

    assert clip(f"{family}{family}{family}", 5) == f"{family}{family}…"
    assert clip("cafe\u0301 au lait", 5) == "cafe\u0301…"


@pytest.mark.spec("X21")
def test_a_wrapped_line_keeps_its_indent_its_blanks_and_its_long_words() -> None:
    assert wrap("  one  two three", 10) == ["  one  two", "  three"]
    assert wrap("a remark", 20, hang=2) == ["a remark"]
    assert wrap("one two three", 9, hang=2) == ["one two", "  three"]
    path = "/home/ada/errands/runs/x.1/output.log"
    assert wrap(f"see {path}", 20) == ["see", "/home/ada/errands/", "runs/x.1/output.log"]
    assert wrap("x" * 30, 20) == ["x" * 30]
    assert wrap("created today (1h 4m ago) by ada", 20) == ["created today", "(1h 4m ago) by ada"]
    assert wrap("a remark (which is too long to stay whole)", 20)[0] == "a remark (which is"
    for columns in range(7, 24):
        assert not any(line.startswith("·") for line in wrap("75% · 4m left · epoch 3", columns))
    assert wrap("\x1b[1mone two\x1b[0m three", 7) == ["\x1b[1mone two\x1b[0m", "three"]


def test_a_long_text_is_wrapped_in_time_that_grows_with_its_length() -> None:
    begun = process_time()
    wrap("( word " * 30_000, 80)
    assert process_time() - begun < 5, "it takes minutes if every word looks at all those after it"


@pytest.mark.spec("X21")
@given(st.text(alphabet="ab /日\u0301"), st.integers(min_value=8, max_value=40))
def test_wrapping_loses_no_letter_and_overflows_only_for_a_long_word(text: str, columns: int) -> None:
    lines = wrap(text, columns)

    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line) <= columns or " " not in line.strip() for line in lines)


@pytest.mark.spec("X21")
def test_facts_wrap_beside_their_names_and_below_them_if_it_is_narrow() -> None:
    pairs = [("command", "make test and lint"), ("digest", "5eed" * 6)]

    assert facts(pairs, Look(columns=34)) == [
        "  command  make test and lint", "  digest", "    " + "5eed" * 6,
    ]  # fmt: skip
    assert facts(pairs[:1], Look(columns=24)) == ["  command", "    make test and lint"]


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
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"FORCE_COLOR": "3", "NO_COLOR": "1"}, False, False),
        ("auto", {"CLICOLOR": "0"}, True, False),
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
