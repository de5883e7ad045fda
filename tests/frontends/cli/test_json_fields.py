"""--json=FIELDS: scripts get the fields that they want, and a wrong name before anything happens."""

from __future__ import annotations

import pytest

from errands.frontends.cli.verbs.notices import FIELDS
from tests.frontends.cli.person import Person


@pytest.mark.spec("X7")
def test_json_has_the_wanted_fields_alone(person: Person) -> None:
    task_id = person.types("run", "--json=id,command", "--wait", "true").object["id"]
    for words, expected in (
        (["show", task_id, "--json=state,env,answer"], {"state": "completed", "env": {}, "answer": None}),
        (["wait", "--json=exit_code,id", task_id], {"exit_code": 0, "id": task_id}),
        (["ls", "-n", "1", "--json", "id"], {"id": task_id}),
        (["lane", "shell", "--json=name,pending"], {"name": "shell", "pending": 0}),
        (["judge", "--json=verdict", "ls"], {"verdict": "auto"}),
        (["daemon", "status", "--json", "running"], {"running": True}),
        (["logs", "--json=id,output", task_id], {"id": task_id, "output": ""}),
        (["config", "show", "--json=home"], {"home": str(person.home)}),
        (["clear", "--json=id", task_id], {"id": task_id}),
    ):
        found = person.types(*words).object
        assert (list(found), found) == (list(expected), expected)


@pytest.mark.spec("X7")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["run", "--json=idd", "touch started"], "unknown field 'idd'"),
        (["cancel", "--json=,", "x"], "--json needs the names of fields"),
        (["lane", "new", "3", "--json=wide"], "unknown field 'wide'"),
        (["notices", "--json=text"], "unknown field 'text'"),
        (["ls", "--json", "env"], "unknown field 'env'"),
        (["daemon", "status", "--json", "version,up"], "unknown field 'up'"),
        (["agents", "setup", "--yes", "--json=name"], "unknown field 'name'"),
        (["config", "check", "--json=file"], "unknown field 'file'"),
        (["logs", "--json=text", "x"], "unknown field 'text'"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_an_unknown_field_is_refused_before_anything_happens(
    person: Person, words: list[str], why: str
) -> None:
    assert why in person.types(*words, code=2).err
    assert not (person.cwd / "started").exists()
    assert "new" not in person.types("lane").out


@pytest.mark.spec("X7")
def test_every_line_has_the_wanted_fields_alone(person: Person) -> None:
    kept = person.finishes("true")
    assert "unknown field 'state'" in person.types("clear", "--json=state", kept, code=2).err
    assert person.types("show", kept, "--json=id").object == {"id": kept}
    for words, names in (
        (["metrics", "--json=value,name"], ["value", "name"]),
        (["doctor", "--json=level,section"], ["level", "section"]),
        (["agents", "setup", "--json=file"], ["file"]),
    ):
        answer = person.types(*words, code=None)
        assert [list(each) for each in answer.objects] == [names] * len(answer.objects), answer
        assert answer.objects


def test_the_fields_of_a_notice_are_those_that_can_be_chosen(person: Person) -> None:
    task_id = person.finishes("exit 3")
    person.waits_until_reported(task_id)
    assert tuple(person.types("notices", "--peek", "--json").objects[-1]) == FIELDS
