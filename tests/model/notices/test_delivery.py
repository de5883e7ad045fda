"""Deliveries are bounded, and nothing in them can pass for our own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.errors import BadValue
from errands.model.notices.delivery import (
    FEW,
    AnswerToken,
    delivery_of,
    read_answer_token,
    share,
    text,
    title,
)
from errands.model.notices.notice import Address, parse_address
from errands.model.notices.result import Hints, quoted, quoted_result, result
from errands.model.text.answers import ANSWERS, Answer
from tests.channels.deliveries import delivery, digest, notice, question

words = st.text(max_size=3000)


def test_a_letter_says_how_it_ended_and_where_more_is() -> None:
    told = delivery(state="failed", error="exit code 1", summary="2 failed, 87 passed")
    assert title(told) == "pytest-222222 failed in 2.5s"
    assert text(told, 4000).split("\n") == [
        "run the tests",
        "$ pytest -q",
        "error: exit code 1",
        "2 failed, 87 passed",
        "More: errands show pytest-222222",
    ]


def test_a_prompt_is_not_shown_as_a_command() -> None:
    told = delivery(kind="agent", command="when is high tide?", answer="At noon.")
    assert text(told, 4000).split("\n")[:3] == ["run the tests", "prompt: when is high tide?", "> At noon."]


def test_nothing_is_said_twice() -> None:
    told = delivery(description="pytest -q", answer="All is well.\nReally.", summary="All is well.")
    assert text(told, 4000).split("\n") == [
        "$ pytest -q",
        "> All is well.",
        "> Really.",
        "More: errands show pytest-222222",
    ]
    assert text(delivery(description="pytest"), 4000).startswith("$ pytest -q\n")


def test_a_question_says_how_to_answer_it() -> None:
    asked = question("me")
    assert asked.question == ("deploy-222222", 1)
    assert title(asked) == "Proposed task: deploy-222222"
    assert "errands approve deploy-222222 or errands reject deploy-222222" in text(asked, 4000)
    assert "\nreason: writes to production\n" in text(asked, 4000)


def test_a_body_that_is_not_an_object_is_reported_as_it_is() -> None:
    from errands.model.record import evolve

    told = delivery_of([evolve(notice(), body="something happened")])
    assert title(told) == "pytest-222222 completed"
    assert text(told, 4000).startswith("something happened\n")


@pytest.mark.spec("N9")
@pytest.mark.trap(10)
@given(words, words, words, st.integers(300, 5000))
def test_a_letter_keeps_its_budget(error: str, summary: str, answer: str, budget: int) -> None:
    for told in (delivery(error=error, summary=summary), delivery(answer=answer), digest("me", 3)):
        assert len(text(told, budget).encode()) <= budget


@pytest.mark.spec("N9")
@pytest.mark.trap(9)
@given(words)
def test_nothing_leaves_its_margin(said: str) -> None:
    assert all(line.startswith("> ") for line in quoted(said, 10_000).split("\n"))
    assert all(line.startswith("> ") for line in quoted(said, 200).split("\n"))


@pytest.mark.spec("N6", "N10")
@given(words, words, st.integers(200, 3000))
def test_a_result_keeps_its_room(first: str, last: str, room: int) -> None:
    for facts in ({"answer": first}, {"result": first}, {"result": first, "result_end": last}):
        told = {"task": "pytest-222222", **facts}
        assert len(result(told, room).encode()) <= room
        assert len(quoted_result(told, room).encode()) <= room


@pytest.mark.spec("N6", "N10")
def test_a_long_answer_is_told_by_its_beginning_and_where_to_read_the_rest() -> None:
    told = delivery(answer="First of all: it works.\n" + "and so on\n" * 2000 + "the last words")

    said = text(told, 2000)

    assert "> First of all: it works.\n> and so on\n" in said
    assert "the last words" not in said
    assert "\n> [... the rest: errands show pytest-222222]\n" in said


@pytest.mark.spec("N10")
def test_a_long_output_is_told_by_its_beginning_its_end_and_where_to_read_the_rest() -> None:
    told = delivery(result="the first line\n" + "a\n" * 2000, result_end="b\n" * 2000 + "the last line\n")

    said = text(told, 2000)

    assert "> the first line\n" in said
    assert "\n> [... the whole output: errands logs pytest-222222 ...]\n" in said
    assert "\n> the last line\n" in said


@pytest.mark.spec("N10")
@pytest.mark.parametrize("facts", [{"answer": ""}, {"result": ""}, {"result": "", "result_end": "b\n" * 50}])
def test_a_result_of_many_lines_is_told_by_as_many_as_its_reader_is_shown(facts: dict[str, str]) -> None:
    counted = "\n".join(f"line {number}" for number in range(1, 21))
    known: dict[str, Any] = {name: value or counted for name, value in facts.items()}
    told = delivery(**known)

    for lines in (8, 20):
        said = text(told, 4000, Hints(lines=lines)).split("\n")[2:-1]
        is_whole = lines == 20 and "result_end" not in facts
        assert len(said) == lines + (not is_whole)
        assert sum("[... the" in each for each in said) == (not is_whole)
        assert said[0] == "> line 1"
        assert "answer" in facts or said[-1] == ("> b" if "result_end" in facts else "> line 20")


@given(st.integers(1, 300), st.integers(500, 8000))
def test_a_digest_has_room_for_all_it_takes(count: int, budget: int) -> None:
    notices = [notice(number=number, summary="x" * 500) for number in range(1, count + 1)]
    taken = share(notices, budget)
    assert 1 <= taken <= count
    assert taken == 1 or taken > FEW
    said = text(delivery_of(notices[:taken]), budget)
    assert len(said.encode()) <= budget
    assert said.count("pytest-222222") >= taken


def test_the_key_of_a_letter_depends_on_what_it_is_and_not_on_when_it_is_sent() -> None:
    assert delivery(number=1).key == delivery(number=1, summary="other words").key
    keys = {delivery(number=1).key, delivery(number=2).key, delivery("you", number=1).key, question("me").key}
    assert len(keys) == 4


@given(st.sampled_from(ANSWERS), st.integers(0, 10**9))
def test_a_ballot_is_read_as_it_was_written(answer: Answer, number: int) -> None:
    token = AnswerToken(answer=answer, task_id="deploy-222222", question=number)
    assert read_answer_token(str(token)) == token
    assert len(str(AnswerToken(answer=answer, task_id="x" * 32 + "-222222", question=number))) <= 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "errands:approve:deploy-222222",
        "errands:yes:deploy-222222:1",
        "errands:once:deploy-222222:1",
        "errands:approve:../x:1",
        "x:approve:deploy-222222:1",
    ],
)
def test_other_texts_are_not_answer_tokens(text: str) -> None:
    assert read_answer_token(text) is None


def test_an_address_is_read_and_written_the_same() -> None:
    assert parse_address("discord:1234") == Address(channel="discord", target="1234")
    for written in ("terminal", "discord:user/12", "session:ses_1:2"):
        assert str(parse_address(written)) == written


@pytest.mark.parametrize("text", ["", ":x", "Discord", "a b", "1st", "mail:\x1b[2J", "mail:a\nb"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(BadValue):
        parse_address(text)
