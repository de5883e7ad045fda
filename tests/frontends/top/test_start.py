"""Starting the viewer, on a real terminal or without one, and what it does when the daemon dies."""

from __future__ import annotations

import io
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from errands.bootstrap import open_client
from errands.engine.live import hub
from errands.engine.waiting import wait
from errands.frontends.top.screen import REFRESH
from errands.model.options.draft import Draft
from errands.ports.home import Home
from tests.engine.daemons import Daemons
from tests.frontends.cli.person import Person
from tests.frontends.cli.terminal import Terminal, ended
from tests.frontends.top.viewer import viewing

pytestmark = pytest.mark.spec("X9")
_COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
MISSING = "raise ModuleNotFoundError(\"No module named 'textual'\", name='textual')\n"


def test_without_the_extra_it_says_how_to_install_it(home: Home, tmp_path: Path) -> None:
    (tmp_path / "textual").mkdir()
    (tmp_path / "textual/__init__.py").write_text(MISSING)
    terminal = Terminal(Person(Path(home.path), tmp_path))

    said, code = ended(terminal.types("top", columns=200, PYTHONPATH=str(tmp_path)))

    assert "errands top needs textual, which is not installed" in said
    assert "pip install '.[tui]' in a clone" in said
    assert code == 2


def test_without_a_terminal_it_says_what_works(home: Home, tmp_path: Path) -> None:
    answer = Person(Path(home.path), tmp_path).types("top", code=2)

    assert "errands top needs a terminal" in answer.err


async def test_a_dead_daemon_is_noticed_and_so_is_its_return(home: Home, daemons: Daemons) -> None:
    daemons.start()
    client = open_client(home)
    failed = client.submit(Draft(command="exit 3", consent="yes"))
    wait(client, [failed.id])
    async with viewing(home) as viewer:
        await viewer.shows("● live", failed.id)
        began = time.monotonic()
        os.kill(daemons.pid, signal.SIGKILL)
        await viewer.shows("not live since")
        assert time.monotonic() - began <= 25
        assert "● live" not in viewer.screen
        client.clear([failed.id])
        await viewer.hides(failed.id)

        daemons.start()
        began = time.monotonic()
        await viewer.shows("● live")
        await viewer.hides("not live")
        runs = client.submit(Draft(command="read line", input="pipe", consent="yes"))
        await viewer.shows("RUNNING · 1", runs.id)
        assert time.monotonic() - began <= 2
    client.cancel([runs.id])
    client.close()


async def test_a_daemon_that_hangs_is_not_live_until_it_goes_on(
    home: Home, daemons: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "QUIET", 0.2)
    monkeypatch.setattr(hub, "DEAD", 1.0)
    pid = daemons.start()
    async with viewing(home) as viewer:
        await viewer.shows("● live")
        os.kill(pid, signal.SIGSTOP)
        try:
            await viewer.shows("not live since")
        finally:
            os.kill(pid, signal.SIGCONT)
        await viewer.shows("● live")
        await viewer.hides("not live")


def test_the_limits_of_a_silent_daemon_are_below_what_is_promised() -> None:
    assert hub.QUIET < hub.DEAD
    assert hub.DEAD + REFRESH + 1 < 25  # the bars are drawn once a second
    assert hub.CONNECT + REFRESH < 2


def test_without_colours_nothing_is_coloured(home: Home, daemons: Daemons, tmp_path: Path) -> None:
    daemons.start()
    client = open_client(home)
    failed = client.submit(Draft(command="exit 3", consent="yes"))
    wait(client, [failed.id])
    client.close()
    coloured, plain = (
        _shown(Terminal(Person(Path(home.path), tmp_path)), failed.id, setting)
        for setting in ("COLORTERM", "NO_COLOR")
    )

    assert _COLOUR.search(coloured)
    assert not _COLOUR.search(plain)
    assert re.search(r"\x1b\[(?:1;)?7[;m]", plain)  # the chosen row is reversed


def _shown(terminal: Terminal, text: str, setting: str) -> str:
    """Return everything that the viewer draws until it shows a text and is left."""
    environ: dict[str, Any] = {setting: "1"}
    session = terminal.types("top", columns=80, cwd=None, **environ)
    session.logfile_read = drawn = io.StringIO()
    session.expect(text)
    session.send("q")
    assert ended(session)[1] == 0
    return drawn.getvalue()
