"""Starting the viewer, on a real terminal or without one, and what it does when the daemon dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from errands.ports.home import Home
from tests.engine.daemons import Daemons
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")
MISSING = "raise ModuleNotFoundError(\"No module named 'textual'\", name='textual')\n"


def test_without_the_extra_it_says_how_to_install_it(home: Home, tmp_path: Path) -> None:
    (tmp_path / "textual").mkdir()
    (tmp_path / "textual/__init__.py").write_text(MISSING)
    terminal = Terminal(Person(Path(home.path), tmp_path))

    said, code = ended(terminal.types("top", columns=200, PYTHONPATH=str(tmp_path)))

    assert "errands top needs textual, which is not installed" in said
    assert "pip install 'errands[tui]'" in said
    assert code == 2


def test_without_a_terminal_it_says_what_works(home: Home, tmp_path: Path) -> None:
    answer = Person(Path(home.path), tmp_path).types("top", code=2)

    assert "errands top needs a terminal" in answer.err


async def test_a_dead_daemon_is_noticed_and_so_is_its_return(home: Home, daemons: Daemons) -> None:
    daemons.start()
    async with viewing(home) as viewer:
        await viewer.shows("● live")
        os.kill(daemons.pid, signal.SIGKILL)
        await viewer.shows("not live since")
        assert "● live" not in viewer.screen

        daemons.start()
        await viewer.shows("● live")
        await viewer.hides("not live")
