"""Background agents in the person's own OpenCode: its agents, its sessions, its fork, its permissions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.model.agent.fork import PREAMBLE
from errands.ports import bridges
from tests.clients.opencode_session import Session, calling, ended, installed, launched_in, waited_for
from tests.clients.servers import OpenCodeServer
from tests.frontends.cli.person import Person
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(600)  # OpenCode starts slowly on a busy machine


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A person who has installed Errands for OpenCode, and configured nothing."""
    place = tmp_path_factory.mktemp("opencode-agents")
    with installed(place) as person:
        yield person


@pytest.fixture
def session(opencode: str, person: Person) -> Session:
    return Session(opencode, person.cwd)


def launched(session: Session, person: Person, **arguments: Any) -> dict[str, Any]:
    """Let the model launch an agent; return the task."""
    (reply,) = session.prompts(calling("background_task", **arguments))
    return person.sees(launched_in(reply))


def offered(model: ModelServer, words: str) -> frozenset[str]:
    """The tools that the model had for the prompt of a task."""
    return next(each.offers for each in model.asked if each.prompt.endswith(words) and each.offers)


def child_of(session: Session, person: Person, task: dict[str, Any]) -> Session:
    """Wait for the child session of a task."""

    def found() -> Any:
        children = session.asks(f"/session/{session.id}/children")
        mine = {"errands": f"task:{task['id']}"}
        return next((each["id"] for each in children if each["metadata"] == mine), None)

    return Session(session.url, person.cwd, id=waited_for(found))


@pytest.mark.spec("X17", "X1", "S13", "N6", "N10", "S12")
def test_an_agent_of_opencode_answers_in_a_child_session_and_the_caller_quotes_it(
    session: Session, person: Person, model: ModelServer
) -> None:
    gate = Gate(person.cwd / "gate")
    prompt = 'CALL bash {"command": "cat gate", "description": "x"}\nSAY SAY it is marmalade'
    task = launched(session, person, prompt=prompt, description="Find it", agent="general")
    assert session.prompts("SAY meanwhile") == []
    gate.opens()
    session.is_answered("it is marmalade")

    (child,) = session.asks(f"/session/{session.id}/children")
    task = person.sees(task["id"])
    assert (task["agent"], task["model"], task["state"]) == ("opencode/general", "fake/fake", "completed")
    assert task["parent"] == session.owner
    assert (child["agent"], child["title"]) == ("general", "Find it (@general subagent)")
    assert child["metadata"] == {"errands": f"task:{task['id']}"}
    inside = Session(session.url, person.cwd, id=child["id"])
    assert {each["info"]["agent"] for each in inside.messages()} == {"general"}
    # As OpenCode's own subagents: no tasks of its own.
    tools = offered(model, "SAY SAY it is marmalade")
    assert {"bash", "edit", "read"} < tools
    assert not {"task", "background_task", "background_shell"} & tools


@pytest.mark.spec("X1", "X17")
def test_the_agent_is_the_named_one_with_its_own_rights(
    session: Session, person: Person, model: ModelServer
) -> None:
    launched(session, person, prompt="SAY SAY only looked", agent="explore")

    session.is_answered("only looked")

    assert "edit" not in offered(model, "SAY SAY only looked")


@pytest.mark.spec("X1")
def test_an_agent_that_opencode_does_not_have_is_refused_with_those_that_it_has(session: Session) -> None:
    (reply,) = session.prompts(calling("background_task", prompt="SAY hello", agent="nobody"))

    assert reply == "Unknown agent 'nobody'; known: build, explore, general, plan"


@pytest.mark.spec("X1", "L2")
def test_a_prompt_is_all_that_a_task_needs(session: Session, person: Person) -> None:
    """What the schema requires is what is demanded."""
    task = launched(session, person, prompt="SAY SAY enough")

    session.is_answered("enough")

    assert (task["agent"], task["description"]) == ("opencode/general", "SAY SAY enough")


@pytest.mark.spec("S17", "S8", "S11")
def test_a_fork_knows_the_conversation_up_to_the_call_and_leaves_it_alone(
    session: Session, person: Person
) -> None:
    session.prompts("SAY the word is marmalade")
    task = launched(session, person, prompt="RECALL the word is marmalade", agent="general", fork=True)
    person.types("wait", "-q", task["id"])
    task = person.sees(task["id"])

    assert (task["answer"], task["forked"]) == ("recalled", True)
    (listed,) = session.prompts(calling("background_list"))
    assert f"{task['id']} (forked) - completed" in listed
    assert PREAMBLE not in json.dumps(session.messages())
    fork = Session(session.url, person.cwd, id=person.types("show", "--json", task["id"]).object["session"])
    words = json.dumps(fork.messages())
    assert PREAMBLE in words
    # It is part of the system prompt, and the unfinished call is not part of the copy.
    roles = [each["info"]["role"] for each in fork.messages()]
    assert roles == ["user", "assistant", "user", "user", "assistant"]
    assert "interrupted" not in words


@pytest.mark.spec("S2", "S3", "S4", "X1")
def test_a_resume_goes_on_in_the_same_child(session: Session, person: Person) -> None:
    task = launched(session, person, prompt="SAY the word is marmalade", agent="general")
    session.is_told(f"{task['id']} completed")
    message = "RECALL the word is marmalade"

    (reply,) = session.prompts(calling("background_resume", task_id=task["id"], message=message, block=True))

    assert "recalled" in reply
    assert len(session.asks(f"/session/{session.id}/children")) == 1
    assert person.sees(task["id"])["resume_count"] == 1


@pytest.mark.spec("A8", "A11", "X17")
def test_a_question_of_a_child_is_answered_in_opencode_or_here(
    session: Session, person: Person, tmp_path: Path
) -> None:
    """The person's own rules hold; the first answer decides."""
    rules = [{"permission": "external_directory", "pattern": "*", "action": "ask"}]
    session.asks(f"/session/{session.id}", {"permission": rules}, method="PATCH")
    (tmp_path / "outside").write_text("marmalade")
    for place in ("opencode", "errands"):
        prompt = f"CALL read {json.dumps({'filePath': str(tmp_path / 'outside')})}\nSAY read in {place}"
        task = launched(session, person, prompt=prompt, agent="general")
        inside = child_of(session, person, task)
        question = inside.is_asked()
        person.waits_until(task["id"], "waiting", "approval")
        if place == "opencode":
            inside.answers(question, "once")
        else:
            person.types("approve", task["id"])
        person.types("wait", "-q", task["id"])
        assert person.sees(task["id"])["answer"] == f"read in {place}"
        session.is_told(f"{task['id']} completed")  # a turn of its own, which the next prompt would join
        waited_for(session.is_idle)


@pytest.mark.spec("A8", "X17", "S17")
def test_a_question_of_a_fork_is_shown_as_a_toast(session: Session, person: Person, tmp_path: Path) -> None:
    """OpenCode shows the questions of children with their parent, and those of forks nowhere."""
    rules = [{"permission": "external_directory", "pattern": "*", "action": "ask"}]
    session.asks(f"/session/{session.id}", {"permission": rules}, method="PATCH")
    (tmp_path / "outside").write_text("marmalade")
    prompt = f"CALL read {json.dumps({'filePath': str(tmp_path / 'outside')})}\nSAY read in a fork"
    with session.events() as events:
        task = launched(session, person, prompt=prompt, agent="general", fork=True)
        person.waits_until(task["id"], "waiting", "approval")

        def toasts() -> list[str]:
            shown = [each["properties"] for each in events if each["type"] == "tui.toast.show"]
            return [each["message"] for each in shown if task["id"] in each["message"]]

        (toast,) = waited_for(toasts)
    assert toast.endswith(f"waits for your answer (external_directory): errands approve {task['id']}")

    person.types("approve", task["id"])
    person.types("wait", "-q", task["id"])
    assert person.sees(task["id"])["answer"] == "read in a fork"


@pytest.mark.spec("S16", "S5", "S18")
def test_a_deleted_child_cannot_be_resumed(session: Session, person: Person) -> None:
    task = launched(session, person, prompt="SAY hello", agent="general")
    session.is_told(f"{task['id']} completed")
    (child,) = session.asks(f"/session/{session.id}/children")
    Session(session.url, person.cwd, id=child["id"]).is_deleted()

    def refused() -> bool:
        (reply,) = session.prompts(calling("background_resume", task_id=task["id"], message="SAY again"))
        return reply == "Session expired or was deleted. Start a new background_task to continue."

    assert waited_for(refused)
    assert person.sees(task["id"])["resume_count"] == 0


@pytest.mark.spec("S18", "S5")
def test_a_session_that_the_server_lost_is_refused_before_it_is_counted(
    opencode: str, tmp_path: Path
) -> None:
    """Nothing reports the deletion: the server has no plugin in this project, and is asked."""
    person = Person(tmp_path / "errands", tmp_path)
    person.configures(f'[agents.opencode]\nurl = "{opencode}"\n')
    try:
        task = person.types("ask", "-q", "--agent", "opencode", "SAY hello").out.strip()
        person.types("wait", "-q", task)
        person.types("resume", "-q", task, "SAY hello again")
        person.types("wait", "-q", task)
        Session(opencode, tmp_path, id=person.sees(task)["session"]).is_deleted()

        refused = person.types("resume", task, "SAY more", code=None)

        assert "Session expired or was deleted." in refused.err
        seen = person.sees(task)
        assert (seen["resume_count"], seen["answer"], refused.code != 0) == (1, "hello again", True)
    finally:
        person.leaves()


@pytest.mark.spec("X17")
def test_only_this_person_reaches_the_bridge(session: Session, person: Person, opencode_home: Path) -> None:
    session.prompts(calling("background_list"))
    data = bridges.data_directory({"XDG_DATA_HOME": str(opencode_home / "data")})
    bridge = bridges.found(bridges.folder(str(person.home)), data, session.id)[0]

    assert session.id in bridge.sessions
    assert os.stat(bridge.socket).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(bridge.socket)).st_mode & 0o777 == 0o700


@pytest.mark.spec("X17")
def test_a_prompt_to_a_session_that_errands_works_on_elsewhere_is_refused(
    model: ModelServer, person: Person, tmp_path: Path
) -> None:
    """Two processes that work on one session would answer each other for ever."""
    server = OpenCodeServer(tmp_path / "opencode", model.openai_url)
    gate = Gate(person.cwd / "elsewhere")
    server.start()
    try:
        session = Session(server.url, person.cwd)
        task = launched(session, person, prompt="SAY first", agent="general")
        person.types("wait", "-q", task["id"])
        inside = child_of(session, person, task)
        server.kill()
        prompt = 'CALL bash {"command": "cat elsewhere", "description": "x"}\nSAY second'
        person.types("resume", task["id"], prompt)
        waited_for(lambda: bridges.holder(bridges.folder(str(person.home)), inside.id))
        server.start()

        with inside.events() as events:
            inside.is_refused("SAY third")
            refused = waited_for(lambda: [each for each in events if each["type"] == "tui.toast.show"])
        assert f"errands wait {task['id']}" in refused[0]["properties"]["message"]
        assert f"errands cancel {task['id']}" in refused[0]["properties"]["message"]
        gate.opens()
        person.types("wait", "-q", task["id"])
        inside.prompts("SAY fourth")

        assert [each for each in inside.said() if each != "first"] == ["second", "fourth"]
    finally:
        server.kill()
        gate.leaves()


@pytest.mark.spec("X17")
def test_without_takeover_nothing_goes_on_when_opencode_is_gone(
    model: ModelServer, person: Person, tmp_path: Path
) -> None:
    server = OpenCodeServer(tmp_path / "opencode", model.openai_url)
    hold = Gate(person.cwd / "forsaken")
    config = tmp_path / "opencode" / "config" / "errands" / "config.toml"
    config.parent.mkdir()
    config.write_text("[agents.opencode]\ntakeover = false\n")
    server.start()
    try:
        session = Session(server.url, person.cwd)
        prompt = 'CALL bash {"command": "cat forsaken", "description": "x"}\nSAY never'
        task = launched(session, person, prompt=prompt, agent="general")
        child_of(session, person, task).is_running("bash")
        server.kill()

        task = ended(person, task["id"])
        assert task["state"] == "failed"
        assert "`takeover` of the agent opencode is off" in task["error"]
        assert "start OpenCode" in task["error"]
    finally:
        server.kill()
        hold.leaves()


@pytest.mark.spec("X17", "S14", "S12")
def test_what_runs_when_opencode_is_killed_goes_on_without_it(
    model: ModelServer, person: Person, tmp_path: Path
) -> None:
    server = OpenCodeServer(tmp_path / "opencode", model.openai_url)
    hold = Gate(person.cwd / "hold")  # the command outlives the OpenCode that is killed
    server.start()
    try:
        session = Session(server.url, person.cwd)
        prompt = 'CALL bash {"command": "echo once >> deeds; cat hold", "description": "x"}\nSAY never'
        task = launched(session, person, prompt=prompt, agent="general")
        waited_for((person.cwd / "deeds").exists)
        server.kill()

        task = ended(person, task["id"])
        assert task["state"] == "completed", task
        assert "You were interrupted" in task["answer"]
        assert (person.cwd / "deeds").read_text() == "once\n"
        assert task["id"] in person.types("notices", "--peek", "--owner", session.owner).out

        server.start()
        again = Session(server.url, person.cwd, id=session.id)
        again.prompts("SAY back again")
        again.is_told(f"{task['id']} completed")
    finally:
        server.kill()
        hold.leaves()
