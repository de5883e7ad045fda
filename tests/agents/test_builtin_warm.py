"""Runs of the built-in agent that are forked from a loaded library, under a real daemon: only quicker."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_engine
from errands.config.backends import library
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from errands.runners.system import linux
from tests.agents.builtin_stage import call
from tests.engine.daemons import Daemons, eventually, finished
from tests.model_server import ModelServer

ROOT = Path(__file__).parents[2]
_SERVES = 6  # files that a zygote has open once it serves: the usual three, its pool, and two to be woken by


class House:
    """A home with a daemon, and a model; kept for all tests here, for a library is loaded slowly."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.variables = {
            "ERRANDS_HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONPATH": f"{ROOT}/src",
        }
        self.home = Home(path=self.variables["ERRANDS_HOME"])
        self.daemons = Daemons(self.home)
        self.project = folder / "project"
        self.project.mkdir()
        (folder / "config" / "errands").mkdir(parents=True)
        (folder / "config" / "errands" / "config.toml").write_text(
            f'[agents.quick]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\n'
            'lane = "agent"\n'
        )

    @property
    def zygote(self) -> int:
        """Name the warm zygote that is ready; 0: there is none."""
        for pid in linux.children(self.daemons.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"\0errands.runners.warm.warm_zygote\0" in words:
                return pid if len(os.listdir(f"/proc/{pid}/fd")) >= _SERVES else 0
        return 0


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with ModelServer() as model, pytest.MonkeyPatch.context() as patch:
        house = House(tmp_path_factory.mktemp("warm"), model)
        for name, value in house.variables.items():
            patch.setenv(name, value)
        house.daemons.start()
        yield house
        house.daemons.end()


@pytest.fixture
def client(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name, value in house.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(house.project)
    engine = open_engine(house.home)
    yield engine
    engine.close()


@pytest.fixture
def warm(house: House, client: Engine) -> Engine:
    """See to it that the next run is warm."""
    if not house.zygote:
        assert finished(client, client.submit(Draft(prompt="hello", agent="quick")).id).state == "completed"
        eventually(lambda: house.zygote)
    return client


def ask(client: Engine, *lines: str) -> tuple[View, int]:
    """Ask the agent, and wait for its process, which is given too."""
    task = client.submit(Draft(prompt="\n".join(lines), agent="quick"))
    eventually(lambda: client.store.view(task.id).latest.pid)
    return client.get(task.id), client.store.view(task.id).latest.pid or 0


def mid_run(client: Engine, house: House, name: str) -> tuple[View, int]:
    """Return a warm run and its process once it has done one thing; the model takes its time for the next."""
    first, second = call("memory_set", name=name, value="x"), call("command", line=f"echo {name}")
    view, pid = ask(client, first, second, "SLOW 3", f"SAY did {name}")
    assert linux.ancestors(pid)[1] == house.zygote
    eventually(lambda: client.get(view.id).agent.tool_calls)  # type: ignore[union-attr]
    return view, pid


def test_what_is_loaded_for_runs_can_be_loaded() -> None:
    escalate = {"model": "google-cloud:gemini"}
    mine = {"backend": "builtin", "model": "anthropic:claude", "escalate": escalate}
    usual, special = library({}), library({"mine": mine})
    for name in usual:
        importlib.import_module(name)
    assert "openai.resources.chat.chat" in sys.modules
    assert {f"pydantic_ai.models.{name}" for name in ("anthropic", "google_cloud")} == {
        name for name in {*special} - {*usual} if "models" in name
    }


def test_the_second_run_is_warm_and_no_different(house: House, client: Engine) -> None:
    seen = []
    for is_warm in (False, True):
        lines = call("command", line="pwd"), call("read_file", path="nothing"), "SLOW 0.3", "SAY done"
        view, pid = ask(client, *lines)
        parents = linux.ancestors(pid)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
        assert (house.zygote in parents) == is_warm
        done = finished(client, view.id)
        assert done.agent is not None
        latest, spans = done.latest, [each.name for each in client.tracing.tree(view.id)]
        output = client.output(view.id).content.replace(view.id.encode(), b"TASK")
        seen.append(
            (
                done.state, latest.exit_code, latest.attempt, done.agent.answer, done.agent.tools,
                dict(done.agent.usage), spans, output, words, len(parents), latest.error,
            )
        )  # fmt: skip
        eventually(lambda: house.zygote)
    assert seen[0] == seen[1]
    assert seen[0][:4] == ("completed", 0, 1, "done")


@pytest.mark.spec("S14")
def test_the_next_attempt_goes_on_when_the_shim_of_a_warm_run_is_killed(warm: Engine, house: House) -> None:
    view, pid = mid_run(warm, house, "one")
    os.kill(linux.ancestors(pid)[0], signal.SIGKILL)
    done = finished(warm, view.id)
    assert not linux.is_alive(pid)
    assert (done.state, done.latest.attempt) == ("completed", 2)
    assert done.agent is not None
    assert (done.agent.answer, done.agent.tools) == ("did one", ("memory_set", "command"))


def test_a_cancelled_warm_run_leaves_no_process(warm: Engine, house: House) -> None:
    view, pid = mid_run(warm, house, "two")
    warm.cancel([view.id], by="ada")
    assert finished(warm, view.id).state == "cancelled"
    assert not linux.is_alive(pid)
    assert linux.marked("ERRANDS_RUN_ID", view.latest.id) == []


@pytest.mark.spec("S14", "L20")
def test_warm_runs_survive_what_others_survive(warm: Engine, house: House) -> None:
    (one, pid), (other, lost) = mid_run(warm, house, "three"), mid_run(warm, house, "four")
    os.kill(house.zygote, signal.SIGKILL)
    os.kill(linux.ancestors(lost)[0], signal.SIGKILL)
    house.daemons.kill()
    assert linux.is_alive(pid)
    house.daemons.start()
    views = [finished(warm, each.id) for each in (one, other)]
    assert not linux.is_alive(lost)
    assert [each.state for each in views] == ["completed", "completed"]
    assert [each.latest.attempt for each in views] == [1, 2]
    assert [each.agent.answer for each in views if each.agent] == ["did three", "did four"]
    assert [each.agent.tool_calls for each in views if each.agent] == [2, 2]
