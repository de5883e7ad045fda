"""Templates: saved once, started by name, with values that stay values."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from errands.engine.engine import Engine
from errands.model.errors import BadValue, NotFound
from errands.model.options.draft import Draft
from errands.ports.store import Query
from errands.testing.engines import TestEngine

GREET = Draft(
    command="echo hello {{who}} from {{place=here}}", batch="greetings", timeout=timedelta(minutes=1)
)


@pytest.mark.spec("L15")
async def test_a_template_is_started_by_its_name_with_its_parameters(engine: TestEngine) -> None:
    engine.engine.save_template("greet", GREET)
    task = engine.engine.submit_template("greet", {"who": "ada"})
    ended = await engine.wait(task.id)

    assert await engine.text(task.id) == "hello ada from here\n"
    assert (ended.template, ended.batch) == ("greet", "greetings")
    assert (await engine.get(task.id)).details["limits"]["timeout"] == 60  # type: ignore[index]


@pytest.mark.spec("L15")
@pytest.mark.parametrize(
    "value",
    ["'; touch pwned; '", '"; touch pwned; "', "$(touch pwned)", "`touch pwned`", "x\ntouch pwned", "*", ""],
)
async def test_a_hostile_value_is_printed_and_never_executed(
    engine: TestEngine, tmp_path: Path, value: str
) -> None:
    command = "printf '%s|' {{x}}; printf '%s|' \"{{x}}\"; printf '%s|' 'a {{x}}'"
    engine.engine.save_template("say", Draft(command=command, cwd=str(tmp_path)))
    task = engine.engine.submit_template("say", {"x": value})
    await engine.wait(task.id)

    assert await engine.text(task.id) == f"{value}|{value}|a {value}|"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("L15")
async def test_options_of_a_template_can_be_overridden_for_one_start(engine: TestEngine) -> None:
    engine.engine.save_template("greet", GREET)
    task = engine.engine.submit_template("greet", {"who": "ada"}, batch="other", key="once")
    again = engine.engine.submit_template("greet", {"who": "bob"}, key="once")

    assert task.batch == "other"
    assert again.id == task.id


@pytest.mark.spec("L15")
def test_templates_are_listed_replaced_and_removed(client: Engine) -> None:
    client.save_template("greet", GREET)
    client.save_template("build", Draft(command=("make", "{{target=all}}"), priority="low"))
    client.save_template("greet", Draft(command="echo hi"))

    assert client.templates() == {
        "build": Draft(command=("make", "{{target=all}}"), priority="low"),
        "greet": Draft(command="echo hi"),
    }
    client.remove_template("build")
    assert list(client.templates()) == ["greet"]


@pytest.mark.spec("L15")
def test_a_template_that_cannot_be_started_is_refused_and_creates_nothing(client: Engine) -> None:
    client.save_template("greet", GREET)
    with pytest.raises(NotFound, match="unknown template 'greeet'"):
        client.submit_template("greeet", {})
    with pytest.raises(BadValue, match="needs a value for: who"):
        client.submit_template("greet", {})
    with pytest.raises(BadValue, match="could run its value as code"):
        client.save_template("trap", Draft(command="echo `{{x}}`"))
    with pytest.raises(BadValue, match="command is empty"):
        client.save_template("empty", Draft(command=" "))
    with pytest.raises(NotFound, match="unknown template 'empty'"):
        client.remove_template("empty")
    assert client.list(Query()) == []


@pytest.mark.spec("L15")
async def test_a_value_that_makes_the_command_invalid_is_refused(engine: TestEngine) -> None:
    engine.engine.save_template("run", Draft(command=("{{program}}", "x")))
    with pytest.raises(BadValue, match="command is empty"):
        engine.engine.submit_template("run", {"program": " "})
