"""Streaming: what the model says is reported piece by piece on request, and stored as always."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.ports.agent import Activity
from tests.agents.builtin_stage import Stage, call, stage


@pytest.fixture
def streaming(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        made.sit_down(spec={"streams": True})
        yield made


def told(notes: list[Activity], kind: str) -> list[str]:
    return [each.text for each in notes if each.kind == kind]


@pytest.mark.spec("X6")
async def test_pieces_make_the_whole(streaming: Stage) -> None:
    answer = await streaming.ask("SAY one two three four")
    pieces = told(streaming.context.notes, "piece")

    assert len(pieces) > 2
    assert "".join(pieces) == answer.text == "one two three four"
    assert told(streaming.context.notes, "text") == [answer.text]
    assert streaming.model.asked[-1].body["stream"] is True


@pytest.mark.spec("X6", "S15")
async def test_calls_and_tokens_are_counted_as_without(streaming: Stage) -> None:
    answer = await streaming.ask("USE 700 30", call("list_files"), "SAY done")

    assert answer.usage["requests"] == 2
    assert (answer.usage["input_tokens"], answer.usage["output_tokens"]) == (1400, 60)
    assert [each.name for each in streaming.context.notes if each.kind == "tool"] == ["list_files"]


@pytest.mark.spec("X6")
async def test_an_answer_that_is_cut_off_is_said_again_from_its_beginning(streaming: Stage) -> None:
    answer = await streaming.ask("FAIL cut 1", "SAY one two three four five six seven eight")
    pieces = "".join(told(streaming.context.notes, "piece"))
    cut, _, whole = pieces.partition("\n")

    assert whole == answer.text == "one two three four five six seven eight"
    assert answer.text.startswith(cut.rstrip())
    assert told(streaming.context.notes, "text") == [answer.text]


@pytest.mark.spec("X6")
async def test_without_streaming_no_pieces_are_reported(tmp_path: Path) -> None:
    with stage(tmp_path) as quiet:
        await quiet.ask("SAY hello")

        assert told(quiet.context.notes, "piece") == []
        assert not quiet.model.asked[-1].body.get("stream")
