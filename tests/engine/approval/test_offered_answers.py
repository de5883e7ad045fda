"""Answers: a question offers the same ones everywhere: once, for the task, always where it can be, and no."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from errands.engine.approval.answers import answers_to
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.text.answers import ALWAYS, NO, ONCE, TASK, Answer, answer_to, keys, prompt
from errands.model.view import View
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, until
from tests.engine.agent_project import Project

HOUR = timedelta(hours=1)
PERSON: dict[str, Any] = {"by": "ada", "door": "terminal"}
pytestmark = pytest.mark.spec("A14")


def offered(engine: Engine, view: View) -> tuple[Answer, ...]:
    assert view.question is not None
    return answers_to(engine, view.question)


def proposed(engine: TestEngine) -> list[View]:
    return engine.engine.list(Query(states=("proposed",)))


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (Draft(command="rm -r x"), (ONCE, ALWAYS, NO)),
        (Draft(command="sh deploy.sh", propose=True), (ONCE, NO)),
        (Draft(command="python3 -c 'import x'", propose=True), (ONCE, NO)),
        (Draft(command=("timeout", "5", "rm", "x")), (ONCE, NO)),
        (Draft(command="for x in $y; do rm $x; done"), (ONCE, NO)),
        (Draft(command="rm -r x", every=HOUR), (TASK, ALWAYS, NO)),
        (Draft(prompt="go on", allow=("rm *.tmp",)), (TASK, NO)),
        (Draft(prompt="go on", propose=True), (ONCE, NO)),
    ],
)
def test_a_question_offers_what_its_answer_can_cover(
    asking: Engine, draft: Draft, expected: tuple[Answer, ...], tmp_path: Path
) -> None:
    fields = {name: getattr(draft, name) for name in ("command", "prompt", "every", "allow", "propose")}
    view = asking.submit(Draft(cwd=str(tmp_path), **fields))

    assert offered(asking, view) == expected


async def test_a_command_of_an_agent_can_be_approved_once_for_its_task_or_always(
    engine: TestEngine, project: Project
) -> None:
    task = await engine.ask("`rm x`", cwd=project.path)
    (child,) = await until(lambda: proposed(engine))

    assert offered(engine.engine, child) == (ONCE, TASK, ALWAYS, NO)
    engine.engine.reject(child.id, **PERSON)
    await engine.wait(task.id, timeout=WITHIN)


@pytest.mark.parametrize(
    ("command", "file"),
    [("npm test", "package.json"), ("bun test", "package.json"), (("make", "test"), "Makefile"),
     ("cargo test", "Cargo.toml"), ("go test ./...", "go.mod")],
)  # fmt: skip
def test_a_test_run_can_be_always_approved_until_what_decides_about_it_changes(
    asking: Engine, command: str | tuple[str, ...], file: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text("one")
    draft = Draft(command=command, cwd=str(tmp_path), propose=True)
    view = asking.submit(draft)
    assert view.question is not None
    said = f"an approval covers the content of {file}, but not the code that they run"
    assert view.question.reasons[-1].text == said
    asking.approve(view.id, scope="always", **PERSON)

    again = evolve(draft, propose=False)
    assert asking.submit(again).approved_by == "ada (always)"
    (tmp_path / file).write_text("two")
    assert asking.submit(again).approved_by != "ada (always)"


def test_the_least_yes_is_the_letter_y_and_only_offered_letters_count() -> None:
    every = (ONCE, TASK, ALWAYS, NO)
    assert prompt(every) == "Start it? y once, t for this task, a always, n no [y/t/a/N] "
    assert prompt((ONCE, NO)) == "Start it? [y/N] "
    assert keys((TASK, NO)) == "y/N"
    assert [answer_to(each, every) for each in ("y", "YES", "t", "a", "n", "no", "", "x")] == [
        ONCE, ONCE, TASK, ALWAYS, NO, NO, None, None,
    ]  # fmt: skip
    assert [answer_to(each, (TASK, NO)) for each in ("y", "t", "a")] == [TASK, None, None]


async def test_a_schedule_is_approved_for_all_its_runs_until_that_is_taken_back(
    engine: TestEngine, project: Project, asking: Engine
) -> None:
    (Path(project.path) / "x").touch()
    task = asking.submit(Draft(command="rm -f x", cwd=project.path, every=HOUR))
    engine.engine.approve(task.id, **PERSON)
    for number in (1, 2):
        engine.engine.schedules.fire(task.id)
        await until(partial(ended, engine, task.id, number))
    (asked,) = engine.engine.approvals(task.id)
    assert (asked.scope, asked.by) == ("task", "ada")

    assert engine.engine.withdraw_task_approvals(task.id, **PERSON) == 1
    engine.engine.schedules.fire(task.id)

    (again,) = await until(lambda: proposed(engine))
    assert again.question is not None
    assert again.question.reasons[-1].text == "its approval was withdrawn"
    engine.engine.approve(task.id, **PERSON)
    await until(lambda: ended(engine, task.id, 3))


def ended(engine: TestEngine, task_id: str, number: int) -> bool:
    run = engine.engine.store.run(f"{task_id}.{number}")
    return run.state == "completed"
