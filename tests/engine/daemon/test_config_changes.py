"""A changed configuration counts without a restart of the daemon."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from errands.config import Config
from errands.engine.daemon import daemon
from errands.engine.daemon.lock import daemon_facts
from errands.engine.engine import Engine
from errands.model.options.draft import Draft
from errands.ports.home import Home
from tests.engine.daemon.test_recovery import started
from tests.engine.daemons import Daemons, eventually, finished

WAITING = "echo ready; read line; exit 7"


@pytest.mark.spec("L28", "X13")
def test_a_changed_configuration_counts_without_a_restart_and_runs_do_not_notice(
    daemons: Daemons, client: Engine, home: Home, config_file: Path
) -> None:
    config_file.write_text("[lanes]\nshell = 1\n")
    pid = daemons.start()
    first = started(client, WAITING)
    second = client.submit(Draft(command=WAITING, input="pipe"))

    config_file.write_text("[lanes]\nshell = 2\n")
    eventually(lambda: b"ready" in client.output(second.id).content)

    assert daemons.pid == pid
    assert (daemon_facts(home) or {})["lanes"]["shell"] == 2
    for task in (first, second):
        client.send(task.id, b"\n")
        assert finished(client, task.id).latest.exit_code == 7
    assert client.get(first.id).latest.attempt == 1


@pytest.mark.spec("X13")
def test_a_wrong_configuration_is_reported_and_the_old_one_stays(
    daemons: Daemons, client: Engine, home: Home, config_file: Path
) -> None:
    config_file.write_text("[lanes]\nshell = 1\n")
    pid = daemons.start()
    first = started(client, WAITING)
    second = client.submit(Draft(command="true"))
    config_file.write_text("[lanes]\nshell = many\n")
    eventually(lambda: "the old one stays" in Path(home.log).read_text())
    assert client.get(second.id).state == "pending"

    config_file.write_text("[lanes]\nshell = 3\n")
    assert finished(client, second.id).state == "completed"
    assert daemons.pid == pid
    client.send(first.id, b"\n")
    finished(client, first.id)


class _StoppedWhileClosing:
    """Loops whose process is asked to stop while they close because the configuration has changed."""

    failure: asyncio.Future[None]

    def __init__(self, config_file: Path) -> None:
        self._config_file = config_file

    async def open(self) -> None:
        self.failure = asyncio.get_running_loop().create_future()
        self._config_file.write_text("[lanes]\nshell = 2\n")

    async def close(self) -> None:
        handled = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, handled.set)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)  # signals are handled in order
        await handled.wait()


@pytest.mark.spec("X13")
def test_a_daemon_that_is_stopped_just_as_its_configuration_changes_stays_stopped(
    home: Home, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "LOOK", 0.01)
    config_file.write_text("[lanes]\nshell = 1\n")
    began: list[Config] = []

    def make_loops(config: Config, is_after_reboot: bool) -> Any:
        began.append(config)
        assert len(began) == 1, "the daemon began again although it was asked to stop"
        return _StoppedWhileClosing(config_file)

    assert daemon.serve(home, Config, "boot", make_loops) == 0
