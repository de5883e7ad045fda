"""Which verbs start the daemon: a client's engine does it, so no frontend has to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import errands
from errands.bootstrap import open_client, open_engine
from errands.config import load
from errands.engine.engine import Engine
from errands.model.errors import DaemonError, Denied
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.ports.store import Query
from tests.engine.daemons import Daemons, finished


class Starts:
    """Count how often a daemon would have been started."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1

    def since(self) -> int:
        count, self.count = self.count, 0
        return count


@pytest.fixture
def starts() -> Starts:
    return Starts()


@pytest.fixture
def client(home: Home, starts: Starts) -> Iterator[Engine]:
    engine = open_engine(home, consent="yes")
    engine.start_daemon = starts
    yield engine
    engine.close()


def test_verbs_that_start_a_run_start_the_daemon(client: Engine, starts: Starts) -> None:
    task = client.submit(Draft(command="true"))
    assert starts.since() == 1
    client.submit_each([Draft(command="true"), Draft(command="false")])
    assert starts.since() == 1
    client.cancel([task.id])
    assert starts.since() == 0
    client.restart(task.id)
    assert starts.since() == 1


def test_a_new_schedule_starts_the_daemon(client: Engine, starts: Starts) -> None:
    task = client.submit(Draft(command="true", every=timedelta(hours=1)))
    starts.since()
    client.schedules.pause(task.id)
    assert starts.since() == 0
    client.schedules.unpause(task.id)
    assert starts.since() == 1
    client.schedules.fire(task.id)
    assert starts.since() == 1


def test_an_approval_starts_the_daemon_and_a_rejection_does_not(home: Home, starts: Starts) -> None:
    engine = open_engine(home)
    first, second = (engine.submit(Draft(command=f"rm -rf {name}", propose=True)) for name in "ab")
    engine.start_daemon = starts
    engine.reject(first.id, by="ada", door="terminal")
    assert starts.since() == 0
    engine.approve(second.id, by="ada", door="terminal")
    assert starts.since() == 1
    engine.close()


def test_a_request_to_stop_a_run_starts_the_daemon(client: Engine, starts: Starts) -> None:
    task = client.submit(Draft(command="sleep 100"))
    with client.store as store:
        store.claim("shell", limit=1, now=client.clock.now())
    starts.since()
    client.cancel([task.id])
    assert starts.since() == 1


def test_reading_does_not_start_the_daemon(client: Engine, starts: Starts) -> None:
    task = client.submit(Draft(command="true"))
    starts.since()
    client.get(task.id)
    client.list(Query())
    client.summaries([task.id])
    client.take_notices("user", reader="test")
    client.notices.undelivered()

    assert starts.since() == 0


def test_a_task_is_not_created_when_the_daemon_cannot_start(client: Engine) -> None:
    def fail() -> None:
        raise DaemonError("no daemon today")

    client.start_daemon = fail
    with pytest.raises(DaemonError, match="no daemon today"):
        client.submit(Draft(command="true"))

    assert client.list(Query()) == []


def test_a_denied_command_does_not_start_the_daemon(home: Home, starts: Starts) -> None:
    engine = open_engine(home, load(overrides={"approval.deny": "rm *"}))
    engine.start_daemon = starts
    with pytest.raises(Denied):
        engine.submit(Draft(command="rm x"))
    engine.close()

    assert starts.since() == 0


def test_only_the_engine_of_a_client_starts_a_daemon(home: Home) -> None:
    embedded = open_engine(home, consent="yes")
    embedded.submit(Draft(command="true"))
    assert not embedded.bell.is_answered()
    assert embedded.start_daemon is None
    embedded.close()

    client = open_client(home)
    assert client.start_daemon is not None
    client.close()


def test_a_running_daemon_is_not_started_again(client: Engine, starts: Starts, tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(client.home.bell)
        daemon.listen()
        client.submit(Draft(command="true"))

    assert starts.since() == 0


@pytest.mark.spec("X11")
def test_a_script_starts_a_task_in_one_call_and_the_daemon_runs_it(
    home: Home, daemons: Daemons, tmp_path: Path
) -> None:
    task = errands.submit(f"nice > {tmp_path}/niceness", home=home.path, yes=True, nice=10)

    client = open_client(home)
    assert finished(client, task.id).state == "completed"
    client.close()
    assert int((tmp_path / "niceness").read_text()) >= 10
