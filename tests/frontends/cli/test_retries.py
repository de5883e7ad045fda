"""Retries at the command line: what a person sees of a task that is tried again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.cli.person import Person

pytestmark = pytest.mark.spec("L27")


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person whose retries wait until the test has looked at them."""
    yield from _person(tmp_path_factory.mktemp("patient"), "10m")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person whose retries start after a moment."""
    yield from _person(tmp_path_factory.mktemp("quick"), "50ms")


def _person(place: Path, backoff: str) -> Iterator[Person]:
    person = Person(place / "home", place)
    person.environ["ERRANDS_SCHEDULES_BACKOFF"] = backoff
    yield person
    person.leaves()


FLAKY = "echo try >> {file}; wc -l < {file}; test $(wc -l < {file}) -ge {good}"


def test_a_task_that_waits_for_its_retry_says_so(patient: Person) -> None:
    task_id = patient.starts("--retries", "2", "exit 7")
    view = patient.waits_until(task_id, "runs", 2)

    again = re.compile(r"failed, trying again in (9|10) min \(2 of 3\)")
    assert again.search(patient.types("show", task_id).out)
    assert again.search(patient.types("ls").out.partition(task_id)[2].splitlines()[0])
    assert (view["state"], view["task_state"]) == ("pending", "active")
    assert (view["retry"]["number"], view["retry"]["of"]) == (2, 3)
    assert view["next_run_at"] == view["retry"]["at"]
    assert [(run["cause"], run["state"]) for run in view["history"]] == [
        ("submit", "failed"),
        ("retry", "pending"),
    ]
    assert patient.types("wait", "--timeout", "0.2", task_id, code=124).out
    assert patient.types("notices", "--peek").out.count(task_id) == 0
    patient.types("cancel", task_id)
    assert patient.sees(task_id)["state"] == "cancelled"


def test_wait_exits_with_the_code_of_the_last_attempt(quick: Person, tmp_path: Path) -> None:
    bad = quick.starts("--retries", "1", "exit 7")
    good = quick.starts("--retries", "3", FLAKY.format(file=tmp_path / "tries", good=2))

    quick.types("wait", bad, code=7)
    quick.types("wait", good)
    assert quick.sees(good)["runs"] == 2


def test_an_attached_task_shows_every_attempt(quick: Person, tmp_path: Path) -> None:
    command = FLAKY.format(file=tmp_path / "tries", good=3)
    answer = quick.types("run", "--wait", "--retries", "5", command)

    assert answer.out.split() == ["1", "2", "3"]
    assert answer.err.count("\nfailed, ") == 2


def test_a_template_keeps_the_retries(quick: Person) -> None:
    quick.types("template", "save", "flaky", "--retries", "1", "exit 3")
    task_id = quick.types("template", "run", "flaky", "-q").out.strip()

    quick.types("wait", task_id, code=3)
    assert quick.sees(task_id)["runs"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--retries", "-1"), "--retries"),
        (("--retries", "few"), "--retries"),
        (("--retries", "2", "--every", "1h"), "--retries is for a task that runs once"),
    ],
)
def test_retries_that_make_no_sense_are_refused(quick: Person, words: tuple[str, ...], said: str) -> None:
    assert said in quick.types("run", *words, "true", code=2).err
