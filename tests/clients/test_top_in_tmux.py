"""`errands top` as a person uses it: the real program on a terminal of 80 columns and 24 lines, in tmux."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.bootstrap import open_client
from errands.engine.engine import Engine
from errands.engine.waiting import wait
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from tests.clients.opencode_session import waited_for
from tests.clients.screen import Screen
from tests.engine.daemons import Daemons
from tests.frontends.cli.person import Person

pytestmark = pytest.mark.spec("X9")


@pytest.fixture
def engine(home: Home, daemons: Daemons) -> Iterator[Engine]:
    daemons.start()
    engine = open_client(home)
    yield engine
    engine.close()


@pytest.fixture
def screen(engine: Engine, home: Home, tmp_path: Path) -> Iterator[Screen]:
    screen = Screen(Person(Path(home.path), tmp_path), [sys.executable, "-m", "errands", "top"])
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
    screen.shows(f"cancelled {runs.id}", "Nothing is running.")
    assert _ended(engine, runs.id).state == "cancelled"

    asked = engine.submit(Draft(command="touch made", propose=True, cwd=where))
    screen.shows("WAITING FOR YOU", asked.id)
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
