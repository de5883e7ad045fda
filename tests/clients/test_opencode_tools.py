"""The real OpenCode with the tools of Errands, after `errands install opencode` and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.opencode_session import Session, calling, installed, is_saying, launched_in, waited_for
from tests.frontends.cli.person import Person
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(600)  # OpenCode starts slowly on a busy machine
TOOLS = {
    "background_task",
    "background_shell",
    "background_output",
    "background_list",
    "background_cancel",
    "background_clear",
    "background_resume",
}


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for OpenCode, in a project."""
    place = tmp_path_factory.mktemp("opencode-project")
    with installed(place) as person:
        yield person


@pytest.fixture
def session(opencode: str, person: Person) -> Session:
    return Session(opencode, person.cwd)


@pytest.mark.spec("X1", "X17", "N6", "N8", "N10", "S12")
@pytest.mark.trap(7)
def test_the_model_starts_a_command_is_told_its_end_and_quotes_the_result(
    session: Session, person: Person, model: ModelServer
) -> None:
    gate = Gate(person.cwd / "gate")
    (reply,) = session.prompts(calling("background_shell", command="cat gate", description="tests"))

    task = person.sees(launched_in(reply))
    assert reply.startswith(f"Background command launched.\nTask ID: {task['id']}\n")
    assert "You will be told when it ends; do not poll." in reply
    assert task["parent"] == task["owner"] == session.owner
    assert task["cwd"] == str(person.cwd)
    # The batch is the message whose calls belong together.
    (called,) = [
        each["info"]["id"] for each in session.messages() if "background_shell" in str(each["parts"][1:])
    ]
    assert task["batch"] == f"{session.owner}:{called}"

    assert session.prompts("SAY meanwhile") == []  # the model goes on with something else
    gate.opens("SAY I read 12 passed")
    told = session.is_told(f"{task['id']} completed")
    session.is_answered("I read 12 passed")

    assert told["parts"][0]["synthetic"] is True
    assert "approves nothing" in json.dumps(told)
    asked = next(each for each in model.asked_for("I read 12 passed") if each.offers)
    assert {each for each in asked.offers if each.startswith(("background", "errands"))} == TOOLS
    # It counts as delivered when OpenCode has accepted it.
    waited_for(lambda: not person.types("notices", "--peek", "--json", "--owner", session.owner).out)


@pytest.mark.spec("N6", "X17")
def test_a_report_is_answered_by_the_session_s_own_agent(opencode: str, person: Person) -> None:
    """A message that names no agent would be answered as `build`, with full rights."""
    planning = Session(opencode, person.cwd, agent="plan")
    planning.prompts(calling("background_shell", command="echo SAY planned"))

    planning.is_answered("planned")

    assert {each["info"]["agent"] for each in planning.messages()} == {"plan"}


@pytest.mark.spec("N6", "X17")
def test_the_person_sees_that_a_task_ended(session: Session, person: Person) -> None:
    """OpenCode does not show them the message that the model gets, so there is a toast."""
    with session.events() as events:
        (reply,) = session.prompts(calling("background_shell", command="echo news"))
        task = launched_in(reply)
        session.is_told(f"{task} completed")
        (toast,) = waited_for(lambda: [each for each in toasts(events) if task in each])
    assert toast.startswith(f"{task} completed")


def toasts(events: list[dict[str, Any]]) -> list[str]:
    return [each["properties"]["message"] for each in events if each["type"] == "tui.toast.show"]


@pytest.mark.spec("N6", "S12")
@pytest.mark.trap(2)
def test_reports_wait_until_the_session_is_idle_and_come_together(
    opencode: str, session: Session, person: Person
) -> None:
    first, second, busy = (Gate(person.cwd / name) for name in ("first", "second", "busy"))
    replies = session.prompts(
        f"CALL background_shell {json.dumps({'command': 'cat first'})}\n"
        f"AND background_shell {json.dumps({'command': 'cat second'})}\nSAY done"
    )
    session.begins('CALL bash {"command": "cat busy", "description": "x"}\nSAY at last')
    session.is_running("bash")

    for gate, reply in zip((first, second), replies, strict=True):
        gate.opens(f"the {gate.path.name} one")
        person.waits_until_reported(launched_in(reply), owner=session.owner)
    # What could be reported has been by now: a later end of another session's task is.
    other = Session(opencode, person.cwd)
    other.prompts(calling("background_shell", command="echo the other one"))
    other.is_told("the other one\\n[end")
    assert not session.is_idle()
    with session.events() as events:
        busy.opens()
        session.is_answered("at last")
        session.is_told("the second one\\n[end")
        waited_for(lambda: [each for each in toasts(events) if each.endswith(" (and 1 more)")])
    waited_for(session.is_idle)

    messages = session.messages()
    (told,) = [
        place
        for place, each in enumerate(messages)
        if each["info"]["role"] == "user" and "[Errands: news" in json.dumps(each["parts"])
    ]
    (last,) = [place for place, each in enumerate(messages) if is_saying(each, "at last")]
    assert "the first one\\n[end" in json.dumps(messages[told])
    assert told > last


@pytest.mark.spec("A8", "A5", "A7", "X17")
def test_a_person_approves_in_opencode_itself(session: Session, person: Person, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    session.begins(calling("background_shell", command=f"rm -v {victim}"))

    question = session.is_asked()
    assert question["permission"].startswith(f"errands: rm -v {victim} (deletes ")
    assert victim.exists()
    session.answers(question, "once")

    session.is_told(f"removed '{victim}'")
    (task,) = [each for each in person.types("ls", "--json").objects if each["command"] == f"rm -v {victim}"]
    assert task["approved_by"].endswith(" (opencode)")
    assert not victim.exists()


@pytest.mark.spec("A8", "A10", "X17")
def test_a_question_that_is_answered_elsewhere_leaves_the_screen_and_the_call_goes_on(
    session: Session, person: Person, tmp_path: Path
) -> None:
    for each in ("first", "second"):
        (tmp_path / each).touch()
    # Both are asked at once: the second one stays.
    both = [calling("background_shell", command=f"rm {tmp_path}/{each}") for each in ("first", "second")]
    session.begins(both[0].replace("SAY done", both[1].replace("CALL", "AND", 1)))
    waited_for(lambda: len(session.asks("/permission")) == 2)
    (task,) = [
        each["id"]
        for each in person.types("ls", "--json", "--state", "proposed").objects
        if each["command"].endswith("first")
    ]

    person.types("approve", "--wait", task)

    waited_for(lambda: len(session.asks("/permission")) == 1)
    assert (tmp_path / "second").exists()
    session.answers(session.is_asked(), "reject")
    waited_for(session.is_idle)
    assert (tmp_path / "second").exists()
    assert f"Task ID: {task}" in json.dumps(session.messages())


@pytest.mark.spec("A5", "X18")
def test_a_person_who_declines_says_why(session: Session, person: Person, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.touch()
    session.begins(calling("background_shell", command=f"rm {victim}"))

    session.answers(session.is_asked(), "reject", message="keep it")

    waited_for(session.is_idle)
    assert victim.exists()
    assert "did not start and will not" in json.dumps(session.messages())
    assert "They said: keep it" in json.dumps(session.messages())
    assert str(victim) not in person.types("ls", "--json", "--state", "proposed").out


@pytest.mark.spec("A8", "A11")
@pytest.mark.trap(66)
def test_a_rule_that_allows_everything_is_no_consent(
    opencode: str, session: Session, person: Person, tmp_path: Path
) -> None:
    """OpenCode then passes the question without asking a person; approval comes from elsewhere."""
    victim = tmp_path / "victim"
    victim.touch()
    rules = [{"permission": "*", "pattern": "*", "action": "allow"}]
    session.asks(f"/session/{session.id}", {"permission": rules}, method="PATCH")

    (reply,) = session.prompts(calling("background_shell", command=f"rm -v {victim}"))
    (task,) = [each["id"] for each in person.types("ls", "--json", "--state", "proposed").objects]
    assert f"errands approve {task}" in reply
    assert victim.exists()

    person.types("approve", task)
    session.is_told(f"removed '{victim}'")
    assert not victim.exists()


@pytest.mark.spec("X1")
@pytest.mark.trap(5)
def test_another_session_sees_no_task_and_gets_no_report(
    opencode: str, session: Session, person: Person
) -> None:
    other = Session(opencode, person.cwd)
    session.prompts(calling("background_shell", command="echo theirs", description="theirs"))
    session.is_told("theirs\\n[end")

    (listed,) = other.prompts(calling("background_list"))
    (own,) = session.prompts(calling("background_list"))

    assert listed == "No background tasks found"
    assert own.endswith(" - completed - theirs")
    assert "theirs\\n[end" not in json.dumps(other.messages())


@pytest.mark.spec("N6")
def test_a_task_that_ended_in_absence_is_reported_with_the_next_prompt(opencode: str, person: Person) -> None:
    session = Session(opencode, person.cwd)
    said = person.types("run", "-q", "--yes", "echo meanwhile", yes=False, ERRANDS_SESSION=session.owner)
    task = said.out.strip()
    person.types("wait", "-q", task)

    session.prompts("SAY here again")

    assert "meanwhile" in json.dumps(session.is_told(f"{task} completed"))


@pytest.mark.spec("N7", "X17")
def test_a_command_of_opencode_s_own_shell_belongs_to_the_session(session: Session, person: Person) -> None:
    session.prompts(calling("bash", command="echo $ERRANDS_SESSION", description="x"))

    assert session.owner in json.dumps(session.messages())
