"""A day of an agent's work: hundreds of lines as agents write them, of which few may ask a person.

The lines are written like those in public transcripts of coding agents. Those under "what a person is asked
about" are part of every such day; the harmful ones stand apart, because each of them must ask.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from errands.judge.judge import judge
from tests.judge.fake_workspace import FakeWorkspace

pytestmark = [pytest.mark.spec("A2")]

PROJECT = FakeWorkspace()
MOST_QUESTIONS = 0.05


def lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text()
    return [json.loads(each)["line"] for each in text.splitlines()]


def test_a_day_of_an_agents_work_asks_rarely() -> None:
    day = lines("agent_day.jsonl")
    verdicts = {line: judge([line], PROJECT).verdict for line in day}
    asking = [line for line, verdict in verdicts.items() if verdict not in ("auto", "contained")]

    assert len(verdicts) == len(day) >= 500, "the lines are all different"
    assert len(asking) <= MOST_QUESTIONS * len(day), asking
    # It is not quiet because everything is thrown over the walls.
    assert Counter(verdicts.values())["auto"] >= 100


@pytest.mark.parametrize("line", lines("agent_day_harmful.jsonl"))
def test_what_does_harm_asks(line: str) -> None:
    assert judge([line], PROJECT).verdict == "ask"
