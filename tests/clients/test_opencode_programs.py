"""The programs of OpenCode that a person starts: the one on a terminal, and `opencode run`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.opencode_session import calling, ended, installed, waited_for
from tests.clients.opencode_tui import Tui
from tests.clients.programs import opencode_env, program
from tests.frontends.cli.person import Person
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(900)  # OpenCode starts slowly on a busy machine
WITHIN = 300.0  # seconds


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """A person who has installed Errands for OpenCode, in a project."""
    with installed(tmp_path) as person:
        yield person


@pytest.fixture
def environ(person: Person, model: ModelServer, tmp_path: Path) -> dict[str, str]:
    more = {"TERM": "xterm-256color", "PWD": str(person.cwd)}  # `opencode run` believes what PWD says
    return {**person.environ, **opencode_env(tmp_path / "home", model.openai_url), **more}


@pytest.fixture
def tui(person: Person, environ: dict[str, str]) -> Iterator[Callable[..., Tui]]:
    """Start OpenCode on a terminal."""
    opened: list[Tui] = []

    def start(*words: str) -> Tui:
        opened.append(Tui(person, environ, *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def only_task(person: Person) -> dict[str, str]:
    (task,) = person.types("ls", "--json").objects
    return task


def is_delivered(person: Person, owner: str) -> bool:
    return not person.types("notices", "--peek", "--json", "--owner", owner).out


@pytest.mark.spec("X1", "X17", "N6", "N10")
def test_on_a_terminal_a_command_is_started_reported_and_quoted(
    tui: Callable[..., Tui], person: Person
) -> None:
    gate = Gate(person.cwd / "gate")
    terminal = tui()
    terminal.prompts('CALL background_shell {"command": "cat gate"}\nSAY off it goes')
    terminal.says("off it goes")
    terminal.prompts("SAY meanwhile, 2 and 2 is 4")
    terminal.says("meanwhile, 2 and 2 is 4")

    gate.opens("SAY I read 12 passed")
    terminal.says("I read 12 passed")

    task = only_task(person)
    assert (task["state"], task["cwd"]) == ("completed", str(person.cwd))
    assert task["owner"].startswith("opencode:ses_")
    waited_for(lambda: is_delivered(person, task["owner"]))


@pytest.mark.spec("X17", "S14", "N6")
def test_what_runs_when_a_person_leaves_with_ctrl_c_goes_on_and_is_reported_when_they_are_back(
    tui: Callable[..., Tui], person: Person, model: ModelServer
) -> None:
    hold = Gate(person.cwd / "hold")
    prompt = 'CALL bash {"command": "echo once >> deeds; cat hold", "description": "x"}\nSAY never'
    terminal = tui()
    terminal.prompts(
        calling("background_task", prompt=prompt, agent="general").replace("SAY done", "SAY off it goes")
    )
    terminal.says("off it goes")
    waited_for((person.cwd / "deeds").exists)

    terminal.is_left()

    task = only_task(person)
    done = ended(person, task["id"])
    assert done["state"] == "completed", done
    assert "You were interrupted" in done["answer"]
    assert (person.cwd / "deeds").read_text() == "once\n"
    assert not is_delivered(person, task["owner"])
    hold.leaves()

    known = len(model.asked)
    back = tui("--session", task["owner"].removeprefix("opencode:"))
    back.prompts("SAY here again")
    back.says("here again")
    waited_for(lambda: is_delivered(person, task["owner"]))
    reported = f"{task['id']} completed"
    waited_for(lambda: [each for each in model.asked[known:] if reported in each.prompt])


@pytest.mark.spec("X17", "N8", "N6")
@pytest.mark.trap(7)
def test_opencode_run_exits_with_its_turn_and_is_told_when_it_is_continued(
    person: Person, environ: dict[str, str]
) -> None:
    def runs(prompt: str, *words: str) -> subprocess.Popen[str]:
        (person.cwd.parent / "prompt").write_text(prompt)  # as an argument it would be quoted
        with (person.cwd.parent / "prompt").open() as file:
            command = [program("opencode"), "run", *words]
            return subprocess.Popen(
                command, cwd=person.cwd, env=environ, stdin=file, stdout=subprocess.PIPE, text=True
            )

    gate, busy = Gate(person.cwd / "gate"), Gate(person.cwd / "busy")
    with runs('CALL background_shell {"command": "cat gate"}\nSAY off it goes') as first:
        out, _ = first.communicate(timeout=WITHIN)
    assert first.returncode == 0
    assert "off it goes" in out
    task = only_task(person)
    assert task["state"] == "running"
    gate.opens("SAY I read 12 passed")
    person.types("wait", "-q", task["id"])

    prompt = 'CALL bash {"command": "cat busy", "description": "x"}\nSAY here again'
    with runs(prompt, "--continue") as second:
        # The turn lasts until the report has come, before the model is asked or while its command runs.
        waited_for(lambda: is_delivered(person, task["owner"]))
        waited_for(lambda: second.poll() is not None or busy.lets_through())
        out, _ = second.communicate(timeout=WITHIN)

    assert second.returncode == 0
    assert "I read 12 passed" in out.splitlines(), json.dumps(out)
