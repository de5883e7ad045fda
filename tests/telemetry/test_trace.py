"""`errands trace`: the tree of a task, drawn from the store alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.frontends.cli.person import Person

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    place = tmp_path_factory.mktemp("person")
    config = place / "home-config" / "errands" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[approval]\nallow = ["./inner"]\n')
    (place / "inner").write_text("#!/bin/sh\necho $TRACEPARENT\nexit 3\n")
    (place / "inner").chmod(0o700)
    user = Person(place / "home", place)
    yield user
    user.leaves()


@pytest.fixture(scope="module")
def outer(person: Person) -> str:
    """A task that launches another one."""
    inner = f"{sys.executable} -m errands run --name inner --wait -- ./inner"
    answer = person.types("run", "-q", "--name", "outer", inner, TRACEPARENT=CALLER)
    person.types("wait", "-q", answer.out.strip(), code=None)
    return answer.out.strip()


@pytest.mark.spec("X10")
def test_a_task_started_by_a_task_stands_below_it_in_one_tree(person: Person, outer: str) -> None:
    spans = person.types("trace", outer, "--json").objects
    above, outside, below, inside = spans

    assert [each["name"] for each in spans] == ["background_task_start", "background_task_execute"] * 2
    assert {each["trace_id"] for each in spans} == {CALLER[3:35]}
    assert above["parent_id"] == CALLER[36:52]
    assert outside["parent_id"] == above["span_id"]
    assert below["parent_id"] == outside["span_id"]
    assert inside["parent_id"] == below["span_id"]
    assert inside["attributes"]["task.exit_code"] == 3
    printed = person.types("logs", inside["attributes"]["task.id"]).out
    assert f"00-{inside['trace_id']}-{inside['span_id']}-01" in printed


@pytest.mark.spec("X10")
def test_the_tree_is_drawn_with_bars(person: Person, outer: str) -> None:
    out = person.types("trace", outer, PYTHONIOENCODING="utf-8").out.splitlines()

    assert out[0] == f"trace {CALLER[3:35]}"
    assert out[1].startswith(f"background_task_start {outer}.1 ")
    assert out[2].startswith("└─ background_task_execute ")
    assert out[3].startswith("   └─ background_task_start inner-")
    assert out[4].endswith("exit code 3")
    assert all("█" in line for line in out[1:])


@pytest.mark.spec("X10")
def test_the_span_in_the_record_finds_the_tree(person: Person, outer: str) -> None:
    span = person.sees(outer)["span_id"]
    out = person.types("trace", "--span", span).out

    assert f"background_task_start {outer}.1" in out
    assert any(f"{span} <-" in line for line in out.splitlines())


@pytest.mark.spec("X10")
def test_from_the_inner_task_the_whole_tree_is_shown(person: Person, outer: str) -> None:
    inner = person.types("trace", outer, "--json").objects[-1]["attributes"]["task.id"]

    assert f"background_task_start {outer}.1" in person.types("trace", inner).out


def test_a_later_run_is_drawn_as_a_trace_of_its_own(person: Person) -> None:
    task = person.finishes("--", "true")
    person.types("restart", task)
    person.types("wait", "-q", task)
    spans = person.types("trace", task, "--json").objects

    assert len({each["trace_id"] for each in spans}) == 2
    assert spans[2]["links"] == [{"trace_id": spans[1]["trace_id"], "span_id": spans[1]["span_id"]}]
    assert person.types("trace", task).out.count("trace ") == 2


def test_without_unicode_the_tree_is_plain(person: Person, outer: str) -> None:
    assert person.types("trace", outer, PYTHONIOENCODING="ascii").out.isascii()


def test_what_is_not_there_is_said(person: Person, outer: str) -> None:
    assert "unknown span 'no-such'" in person.types("trace", "--span", "no-such", code=3).err
    assert "give either the id of a task, or --span" in person.types("trace", code=2).err
    assert (
        "give either the id of a task, or --span" in person.types("trace", outer, "--span", "ab", code=2).err
    )
