"""A forked conversation is short enough, recent, and never torn between a call and its result."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.agent.fork import LONGEST_RESULT, MOST_TOKENS, PREAMBLE, clipped, newest, tokens
from errands.model.record import record


@record
class Message:
    size: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def cut(messages: list[Message], limit: int = MOST_TOKENS) -> list[Message]:
    return list(
        newest(
            messages,
            size=lambda each: each.size,
            calls=lambda each: each.calls,
            results=lambda each: each.results,
            limit=limit,
        )
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Texts, and calls whose results come in any order, several in one message, some not at all."""
    messages: list[Message] = []
    open_calls: list[str] = []
    for number in range(draw(st.integers(0, 30))):
        answered = [each for each in open_calls if draw(st.booleans())]
        open_calls = [each for each in open_calls if each not in answered]
        made = [f"{number}.{i}" for i in range(draw(st.integers(0, 3)))]
        open_calls += made
        size = draw(st.integers(0, 50))
        messages.append(Message(size=size, calls=tuple(made), results=tuple(answered)))
    return messages


@pytest.mark.spec("S10")
@given(conversations(), st.integers(0, 400))
def test_a_call_is_never_separated_from_its_result(messages: list[Message], limit: int) -> None:
    kept = cut(messages, limit)
    calls = {each for message in kept for each in message.calls}
    results = {each for message in kept for each in message.results}
    every = {each for message in messages for each in message.results}
    assert results <= calls
    assert calls & every <= results


@pytest.mark.spec("S10")
@given(conversations(), st.integers(0, 400))
def test_the_newest_stay_and_as_many_as_fit(messages: list[Message], limit: int) -> None:
    kept = cut(messages, limit)
    assert kept == messages[len(messages) - len(kept) :]
    assert sum(each.size for each in kept) <= limit
    for more in range(len(kept) + 1, len(messages) + 1):
        longer = messages[-more:]
        fits = sum(each.size for each in longer) <= limit
        calls = {each for message in longer for each in message.calls}
        whole = all(each in calls for message in longer for each in message.results)
        assert not (fits and whole)


@pytest.mark.spec("S10")
def test_a_short_conversation_stays_whole() -> None:
    messages = [Message(size=10), Message(size=MOST_TOKENS - 10)]
    assert cut(messages) == messages
    assert cut([*messages, Message(size=1)]) == [messages[1], Message(size=1)]


@pytest.mark.spec("S9")
def test_a_long_result_is_shortened_and_says_how_long_it_was() -> None:
    assert clipped("x" * LONGEST_RESULT) == "x" * LONGEST_RESULT
    short = clipped("x" * 1501)
    assert short.startswith("x" * 1500 + "\n")
    assert "1,501" in short
    assert clipped("y" * 123_456).count("y") == 1500
    assert "123,456" in clipped("y" * 123_456)


def test_tokens_are_rather_too_many_than_too_few() -> None:
    assert tokens("") == 0
    assert tokens("a") == 1
    assert tokens("漢字") == 2
    assert tokens("\ud800") == 1


@pytest.mark.spec("S10")
def test_a_history_far_over_the_limit_is_cut_in_no_time() -> None:
    call, result = "word " * 80, "line\n" * 80
    messages = [
        Message(size=tokens(call), calls=(f"{i}",))
        if i % 2
        else Message(size=tokens(result), results=(f"{i - 1}",))
        for i in range(1, 10_001)
    ]
    began = time.process_time()
    kept = cut(messages)
    assert time.process_time() - began < 1  # a cut in quadratic time takes many
    assert len(kept) == 1000


@pytest.mark.spec("S11")
def test_the_preamble_says_what_a_fork_must_know() -> None:
    assert "may be truncated" in PREAMBLE
    assert "Re-read files" in PREAMBLE
