"""Long messages on Discord: every piece is short enough, complete in itself, and nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.text.split import FENCE, length, split


@pytest.mark.spec("N4")
def test_a_short_message_stays_whole() -> None:
    assert split("hello") == ["hello"]


@pytest.mark.spec("N4")
def test_a_message_is_cut_between_lines() -> None:
    text = "\n".join(f"line {n} " + "x" * 90 for n in range(100))
    pieces = split(text)
    assert len(pieces) == 5
    assert "\n".join(pieces) == text
    assert all(len(piece) <= 2000 for piece in pieces)


@pytest.mark.spec("N4")
@pytest.mark.timeout(30)
def test_a_character_beyond_the_first_plane_counts_as_two() -> None:
    pieces = split("🦆" * 3000)
    assert "".join(pieces) == "🦆" * 3000
    assert all(len(piece.encode("utf-16-le")) <= 2 * 2000 for piece in pieces)


@pytest.mark.spec("N4")
def test_a_code_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"print({n})  # {'x' * 60}" for n in range(100))
    pieces = split(f"Look:\n```python\n{code}\n```\nThat is all.")
    for piece in pieces:
        assert piece.count(FENCE) % 2 == 0, piece
        assert len(piece) <= 2000
    for piece in pieces[1:]:
        assert piece.startswith("```python\n")
    said = "\n".join(line for piece in pieces for line in piece.split("\n") if not line.startswith(FENCE))
    assert said == f"Look:\n{code}\nThat is all."


def test_a_fence_within_a_quotation_stays_within_it() -> None:
    pieces = split("> ```sh\n" + "\n".join("> " + "y" * 100 for _ in range(50)) + "\n> ```")
    assert len(pieces) > 2
    for piece in pieces:
        assert all(line.startswith("> ") for line in piece.split("\n"))
        assert piece.count("> ```") == 2


def test_a_fence_that_is_never_closed_is_closed_at_the_end() -> None:
    assert split("```\ncode") == ["```\ncode\n```"]


def test_a_line_without_end_is_cut_where_it_must_be() -> None:
    pieces = split("z" * 5000)
    assert "".join(pieces) == "z" * 5000
    assert max(map(len, pieces)) <= 2000


fences = st.sampled_from(["\n```py\n", "\n```\n", "\n> ```\n", "x" * 90])
words = st.text(st.sampled_from("ab \n`>😀é"), max_size=400)


@pytest.mark.spec("N4")
@given(
    st.lists(st.one_of(words, st.sampled_from(["\n```py\n", "\n```\n", "\n> ```\n", "x" * 90])), max_size=9)
)
def test_every_piece_fits_and_no_character_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    pieces = split(text, 300)
    assert all(length(piece) <= 300 for piece in pieces)
    letters = re.compile(r"[abx😀é]")
    fenced = "".join(letters.findall(text.replace("```py", "```")))
    said = "".join(letters.findall("".join(pieces).replace("```py", "```")))
    assert said == fenced
