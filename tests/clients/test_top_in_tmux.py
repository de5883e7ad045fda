"""`errands top` as a person uses it: the real program on a terminal of 80 columns and 24 lines, in tmux."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from errands.bootstrap import open_client
from errands.engine.engine import Engine
from errands.engine.waiting import wait
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from tests.clients.opencode_session import waited_for
from tests.engine.daemons import Daemons
from tests.frontends.cli.person import Person

pytestmark = pytest.mark.spec("X9")
_numbers = count(1)


class Screen:
    """A terminal of tmux, in which the viewer runs."""

    def __init__(self, person: Person, *words: str) -> None:
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("tmux is not installed")
        self._tmux = [tmux, "-L", f"errands-top-{os.getpid()}-{next(_numbers)}", "-f", os.devnull]
        size = ["-x", "80", "-y", "24"]
        environ = {**person.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "errands", *words]
        self._call("new-session", "-d", *size, *command, cwd=person.cwd, env=environ)

    def presses(self, *keys: str) -> None:
        self._call("send-keys", *keys)

    def types(self, text: str) -> None:
        self._call("send-keys", "-l", text)
        self._call("send-keys", "Enter")

    def text(self) -> str:
        done = subprocess.run(
            [*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False
        )
        return done.stdout

    def shows(self, *texts: str) -> None:
        try:
            waited_for(lambda: all(text in self.text() for text in texts))
        except AssertionError:
            raise AssertionError(f"{texts} did not appear:\n{self.text()}") from None

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _call(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        subprocess.run([*self._tmux, *words], cwd=cwd, env=env, check=True)


@pytest.fixture
def engine(home: Home, daemons: Daemons) -> Iterator[Engine]:
    daemons.start()
    engine = open_client(home)
    yield engine
    engine.close()


@pytest.fixture
def screen(engine: Engine, home: Home, tmp_path: Path) -> Iterator[Screen]:
    screen = Screen(Person(Path(home.path), tmp_path), "top")
    try:
        screen.shows("● live")
        yield screen
    finally:
        screen.close()


def test_cancel_approve_and_resume_on_a_real_terminal(screen: Screen, engine: Engine, tmp_path: Path) -> None:
    where = str(tmp_path)
    runs = engine.submit(Draft(command="echo begun; read line", input="pipe", cwd=where, consent="yes"))
    screen.shows(runs.id, "begun")
    screen.presses("c")
    screen.shows(f"cancel {runs.id}?")
    screen.presses("y")
    screen.shows(f"cancelled {runs.id}", "Nothing runs.")
    assert _ended(engine, runs.id).state == "cancelled"

    asked = engine.submit(Draft(command="touch made", propose=True, cwd=where))
    screen.shows("WAITS FOR YOU", asked.id)
    screen.presses("y")
    screen.shows("command    │ touch made", "Start it?")
    # A key just after the question appeared is no answer, so it is pressed until it is.
    waited_for(lambda: _pressed_y(screen, engine, asked.id))
    assert _ended(engine, asked.id).state == "completed"
    assert (tmp_path / "made").exists()

    agent = engine.sessions.ask(Draft(prompt="`echo one`", cwd=where))
    _ended(engine, agent.id)
    screen.presses("2")
    screen.shows(agent.id)
    screen.presses("g", "u")
    screen.shows(f"prompt for {agent.id}:")
    screen.types("`echo two`")
    screen.shows(f"asked {agent.id}")
    assert _ended(engine, agent.id).runs == 2


def _pressed_y(screen: Screen, engine: Engine, task_id: str) -> bool:
    if engine.view(task_id).state == "proposed":
        screen.presses("y")
        return False
    return True


def _ended(engine: Engine, task_id: str) -> View:
    wait(engine, [task_id])
    return engine.view(task_id)


def test_it_outlives_the_daemon(screen: Screen, daemons: Daemons) -> None:
    os.kill(daemons.pid, signal.SIGKILL)
    screen.shows("not live since")
    daemons.start()
    screen.shows("● live")
    screen.presses("q")
