"""A task of the built-in agent: under the daemon, held, killed and resumed as any other."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from tests.agents.builtin_stage import call
from tests.engine.daemons import Daemons, eventually, finished
from tests.model_server import ModelServer

ROOT = Path(__file__).parents[2]


@dataclass
class House:
    """A home with a daemon, kept for all tests here, and a model that follows the prompt."""

    home: Home
    model: ModelServer
    variables: dict[str, str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("tasks")
    home = Home(path=str(folder / "home"))
    variables = {
        "ERRANDS_HOME": home.path,
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPATH": f"{ROOT}/src:{ROOT}",
    }
    (folder / "config" / "errands").mkdir(parents=True)
    daemons = Daemons(home)
    with ModelServer() as model, pytest.MonkeyPatch.context() as patch:
        (folder / "config" / "errands" / "config.toml").write_text(
            f'[agents.builtin]\nmodel = "fake"\nurl = "{model.openai_url}"\npause = 0.01\n'
        )
        for name, value in variables.items():
            patch.setenv(name, value)
        daemons.start()
        yield House(home, model, variables)
        daemons.end()


@pytest.fixture
def model(house: House) -> ModelServer:
    house.model.asked.clear()
    return house.model


@pytest.fixture
def client(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name, value in house.variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    engine = open_engine(house.home)
    yield engine
    engine.close()


@pytest.mark.spec("R1", "R4", "S2", "S15")
def test_a_task_is_answered_and_goes_on_when_it_is_resumed(client: Engine, model: ModelServer) -> None:
    draft = Draft(prompt=call("command", line="echo marmalade"), agent="builtin", description="Say it")
    task = client.submit(draft)
    first = finished(client, task.id)
    assert first.state == "completed", first.latest.error
    assert first.agent is not None
    assert "marmalade\\n" in (first.agent.answer or "")
    assert first.agent.usage["input_tokens"] == 20
    assert model.asked[0].body["messages"][0] == {
        "role": "system",
        "content": "You are executing a background task. Say it",
    }

    client.sessions.resume(task.id, "RECALL marmalade")
    second = finished(client, task.id)
    assert second.agent is not None
    assert second.agent.answer == "recalled"


@pytest.mark.spec("O11")
def test_a_running_agent_shows_its_calls_its_latest_tools_and_when_it_was_active(client: Engine) -> None:
    os.mkfifo("pipe")
    for name in "abc":
        Path(name).mkdir()
    calls = [call("list_files", path=name) for name in "abc"]
    calls.append(call("memory_set", name="jam", value="marmalade"))
    calls.append(call("memory_get", name="jam"))
    calls.append(call("command", line="cat pipe"))
    task = client.submit(Draft(prompt="\n".join(calls), agent="builtin"))

    def is_shown() -> bool:
        agent = client.get(task.id).agent
        return agent is not None and agent.tool_calls == len(calls)

    eventually(is_shown)
    running = client.get(task.id)
    assert running.latest.state == "running"
    assert running.agent is not None
    assert running.agent.tools == ("list_files", "list_files", "memory_set", "memory_get", "command")
    assert running.latest.started_at is not None
    assert running.agent.activity_at is not None
    assert running.latest.started_at < running.agent.activity_at
    Path("pipe").write_text("over\n")

    assert finished(client, task.id).state == "completed"


@pytest.mark.spec("O11")
def test_a_call_is_shown_while_the_model_thinks_about_its_result(client: Engine, model: ModelServer) -> None:
    model.faults[:] = [None, "silent"]  # it never answers to the result
    task = client.submit(Draft(prompt=call("list_files"), agent="builtin"))

    def is_shown() -> bool:
        agent = client.get(task.id).agent
        return agent is not None and agent.tools == ("list_files",)

    eventually(lambda: len(model.asked) == 2)
    eventually(is_shown)
    assert client.get(task.id).latest.state == "running"
    client.cancel([task.id])
    finished(client, task.id)


@pytest.mark.spec("S15")
def test_a_task_fails_at_its_budget(client: Engine) -> None:
    lines = "\n".join(call("command", line=f"echo {number}") for number in range(5))
    task = client.submit(Draft(prompt=lines, agent="builtin", budget={"requests": 2}))
    view = finished(client, task.id)
    assert view.state == "failed"
    assert view.latest.failure == "budget"
    assert view.latest.error == "the budget of 2 requests is used up (2)"


@pytest.mark.spec("A8", "S14")
def test_a_held_call_goes_on_when_it_is_allowed_after_its_process_was_killed(client: Engine) -> None:
    write = call("write_file", path="letter.txt", content="Dear reader")
    read = call("command", line="cat letter.txt")
    task = client.submit(Draft(prompt=f"{write}\n{read}", agent="builtin"))
    eventually(lambda: client.get(task.id).question)
    assert not Path("letter.txt").exists()
    before = client.get(task.id).latest.attempt

    pid = client.store.view(task.id).latest.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: client.get(task.id).latest.attempt > before)
    client.approve(task.id, by="ada", door="terminal")

    view = finished(client, task.id)
    assert view.state == "completed", view.latest.error
    assert view.agent is not None
    assert "'Dear reader'" in (view.agent.answer or "")
    assert Path("letter.txt").read_text() == "Dear reader"
    assert (view.agent.tool_calls, view.agent.usage["requests"]) == (2, 3)
    names = [span.name for span in client.tracing.tree(task.id) if "background" not in span.name]
    assert sorted(names) == [
        "chat fake",
        "chat fake",
        "chat fake",
        "execute_tool command",
        "execute_tool write_file",
        "invoke_agent builtin",
    ]


@pytest.mark.fault("F47")
@pytest.mark.trap(61)
def test_a_task_whose_model_does_not_answer_fails_with_the_reason(client: Engine) -> None:
    task = client.submit(Draft(prompt="FAIL garbage", agent="builtin"))
    view = finished(client, task.id)
    assert view.state == "failed"
    assert view.latest.failure == "agent"
    assert "tried 4 times" in (view.latest.error or "")
