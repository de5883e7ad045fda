"""A changed configuration counts without a restart of the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

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
def test_a_wrong_configuration_is_reported_and_the_old_one_counts(
    daemons: Daemons, client: Engine, home: Home, config_file: Path
) -> None:
    config_file.write_text("[lanes]\nshell = 1\n")
    pid = daemons.start()
    first = started(client, WAITING)
    second = client.submit(Draft(command="true"))
    config_file.write_text("[lanes]\nshell = many\n")
    eventually(lambda: "the old one counts" in Path(home.log).read_text())
    assert client.get(second.id).state == "pending"

    config_file.write_text("[lanes]\nshell = 3\n")
    assert finished(client, second.id).state == "completed"
    assert daemons.pid == pid
    client.send(first.id, b"\n")
    finished(client, first.id)
