"""Answers: exactly one answer to a question counts, and only for the question that was shown."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.errors import AlreadyResolved, Drifted, IllegalMove
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.testing.engines import TestEngine

PERSON: dict[str, Any] = {"by": "ada", "door": "terminal"}


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
def test_of_several_people_who_answer_at_once_exactly_one_wins(
    home: Home, asking: Engine, harm: Draft
) -> None:
    view = asking.submit(harm)

    def answer(number: int) -> str:
        engine = open_engine(home)
        try:
            if number % 2:
                engine.approve(view.id, by=f"p{number}", door="terminal")
            else:
                engine.reject(view.id, by=f"p{number}", door="web")
        except AlreadyResolved as error:
            return str(error)
        finally:
            engine.close()
        return f"p{number}"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(answer, range(8)))
    [winner] = [each for each in answers if each.startswith("p")]
    [approval] = asking.approvals(view.id)

    assert approval.by == winner
    assert all(f" by {winner}, " in each for each in answers if each != winner)
    assert asking.get(view.id).state == ("pending" if int(winner[1:]) % 2 else "rejected")


ANSWER = """
import sys
from errands.bootstrap import open_engine
from errands.model.errors import AlreadyResolved
engine = open_engine()
sys.stdin.read(1)
try:
    engine.approve(sys.argv[1], by=sys.argv[2], door="cli")
except AlreadyResolved as error:
    print(error)
else:
    print("won")
"""


@pytest.mark.spec("A10")
@pytest.mark.trap(67)
def test_of_several_processes_that_answer_at_once_exactly_one_wins(asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    people = [
        subprocess.Popen(
            [sys.executable, "-c", ANSWER, view.id, f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    answers = [each.communicate("y", timeout=60)[0].strip() for each in people]

    assert answers.count("won") == 1
    assert sum("was already approved by p" in each for each in answers) == 3
    assert [each.state for each in asking.approvals(view.id)] == ["granted"]


@pytest.mark.spec("A10")
def test_an_answer_counts_only_for_the_question_that_was_shown(asking: Engine, harm: Draft) -> None:
    view = asking.submit(harm)
    assert view.question is not None
    with pytest.raises(Exception, match="that you saw is void"):
        asking.approve(view.id, question=view.question.id + 1, **PERSON)
    assert asking.approve(view.id, question=view.question.id, **PERSON).state == "pending"
    with pytest.raises(IllegalMove, match="it has no open question"):
        asking.approve(asking.submit(Draft(command=("true",))).id, **PERSON)


@pytest.mark.spec("A10")
async def test_a_program_can_name_the_question_a_person_was_shown(
    engine: TestEngine, asking: Engine, harm: Draft
) -> None:
    view = asking.submit(harm)
    assert view.question is not None
    with pytest.raises(Drifted):
        await engine.reject(view.id, by="ada", question=view.question.id + 1)
    with pytest.raises(Drifted):
        await engine.approve(view.id, by="ada", question=view.question.id + 1)

    assert (await engine.approve(view.id, by="ada", question=view.question.id)).approved_by == "ada"
    await engine.wait(view.id)
    with pytest.raises(IllegalMove, match="is rejected, so it cannot be started again"):
        asking.restart(asking.reject(asking.submit(harm).id, **PERSON).id)
