"""A task whose agent speaks the Agent Client Protocol: under the daemon, as any other task."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.frontends.tools.turn import send
from errands.model.errors import SessionGone
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.runners.system import linux
from tests.agents.acp_stage import ALL, ROOT
from tests.engine.daemons import Daemons, eventually, finished


@pytest.fixture
def agent(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configure our obedient agent; give the folder in which it keeps its sessions."""
    folder = tmp_path / "agent"
    folder.mkdir()
    words = [sys.executable, "-m", "tests.agents.acp_agent", str(folder), *ALL]
    configuration = Path(os.environ["XDG_CONFIG_HOME"]) / "errands" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[agents.obedient]\nbackend = "acp"\ncommand = {words!r}\n')
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}/src:{ROOT}")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def daemons(own_home: Path, agent: Path) -> Iterator[Daemons]:
    daemons = Daemons(Home(path=str(own_home)))
    daemons.start()
    yield daemons
    daemons.end()


@pytest.fixture
def client(own_home: Path, daemons: Daemons) -> Iterator[Engine]:
    engine = open_engine(Home(path=str(own_home)))
    yield engine
    engine.close()


@pytest.mark.spec("S13", "S2")
def test_a_task_is_answered_and_goes_on_when_it_is_resumed(client: Engine) -> None:
    task = client.submit(Draft(prompt="the password is swordfish", agent="obedient"))
    first = finished(client, task.id)
    assert first.state == "completed", first.latest.error
    assert first.agent is not None
    assert "I heard: the password is swordfish" in (first.agent.answer or "")

    client.sessions.resume(task.id, "RECALL")
    second = finished(client, task.id)
    assert second.agent is not None
    assert "swordfish" in (second.agent.answer or "")
    assert second.agent.resume_count == 1


@pytest.mark.spec("S18", "S5")
def test_a_session_that_the_agent_lost_is_refused_before_it_is_counted(client: Engine, agent: Path) -> None:
    task = client.submit(Draft(prompt="the password is swordfish", agent="obedient"))
    assert finished(client, task.id).state == "completed"
    client.sessions.resume(task.id, "go on")
    assert finished(client, task.id).state == "completed"

    for each in agent.glob("*.session"):
        each.unlink()
    with pytest.raises(SessionGone) as gone:
        client.sessions.resume(task.id, "and on")

    assert str(gone.value) == "Session expired or was deleted. Start a new background_task to continue."
    view = finished(client, task.id)
    assert view.agent is not None
    assert (view.state, view.runs, view.agent.resume_count) == ("completed", 2, 1)
    assert "I heard: go on" in (view.agent.answer or "")


@pytest.mark.spec("S18", "X6")
def test_a_turn_of_a_conversation_does_not_start_the_agent_to_look_for_the_session(
    client: Engine, agent: Path
) -> None:
    talk = Draft(prompt="hello", agent="obedient", key="chat:here", name="chat")
    first = send(client, talk)
    assert finished(client, first.id).state == "completed"
    for each in agent.glob("*.session"):
        each.unlink()

    send(client, talk)

    view = finished(client, first.id)
    assert (view.state, view.runs) == ("failed", 2)
    assert view.latest.error == "Session expired or was deleted. Start a new background_task to continue."


@pytest.mark.spec("S13", "L9")
def test_a_cancelled_task_leaves_no_agent_behind(client: Engine, agent: Path) -> None:
    task = client.submit(Draft(prompt="hello\nSILENT", agent="obedient"))
    eventually((agent / "prompts").exists)
    client.cancel([task.id])
    assert finished(client, task.id).state == "cancelled"
    eventually(lambda: not linux.marked("ERRANDS_RUN_ID", f"{task.id}.1"))


@pytest.mark.spec("S13")
def test_an_agent_that_is_killed_fails_its_task_with_the_reason(client: Engine, agent: Path) -> None:
    task = client.submit(Draft(prompt="half an answer\nSILENT", agent="obedient"))
    eventually((agent / "prompts").exists)
    (pid,) = [
        each
        for each in linux.marked("ERRANDS_RUN_ID", f"{task.id}.1")
        if str(agent).encode() in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
    os.kill(pid, signal.SIGKILL)
    view = finished(client, task.id)
    assert view.state == "failed"
    assert "died of signal 9" in (view.latest.error or "")
