"""Dropping: a cleared task takes its session along, wherever that is kept, and nobody waits for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server
from threading import Thread

import pytest

from errands.agents.offline import Offline
from errands.engine.agents.session_cleanup import drop_all
from errands.engine.daemon.janitor import Janitor
from errands.engine.engine import Engine
from errands.model.agent.session import Session
from errands.model.options.draft import Draft
from errands.ports.home import Home
from errands.runners.system import linux
from tests.engine.agent_project import Project
from tests.engine.daemons import eventually

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext


class Backend(HTTPServer):
    """A server that keeps sessions, and notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Backend

    def do_DELETE(self) -> None:  # the name is the library's
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"true")

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def backend(project: Project) -> Iterator[Backend]:
    server = Backend()
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def reach(project: Project, port: int) -> None:
    project.configure(f'[agents.opencode]\nurl = "http://127.0.0.1:{port}"\nretries = 0')


def talk(client: Engine, project: Project, agent: str = "opencode") -> str:
    """Make a task whose session is kept by a server of its own, and end it."""
    task = client.submit(Draft(prompt="hello", agent=agent, cwd=project.path))
    now = client.clock.now()
    with client.store:
        client.store.add_session(
            Session(task_id=task.id, run=1, agent=agent, name="ses_1", forked_from=None, created_at=now)
        )
    client.cancel([task.id])
    return task.id


@pytest.mark.spec("S1", "O14")
def test_a_session_is_dropped_at_its_server_when_its_task_is_cleared(
    client: Engine, project: Project, backend: Backend
) -> None:
    reach(project, backend.server_port)
    client.clear([talk(client, project)])
    eventually(lambda: backend.asked)
    assert [each.partition("?")[0] for each in backend.asked] == ["/session/ses_1"]
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))


@pytest.mark.spec("O14")
def test_a_server_that_is_away_keeps_nobody_from_clearing(
    client: Engine, home: Home, project: Project, backend: Backend
) -> None:
    reach(project, 9)
    task_id = talk(client, project)
    began = time.monotonic()
    client.clear([task_id])
    assert time.monotonic() - began < 1
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))
    assert "session ses_1 of agent opencode is not dropped, it is tried again" in Path(home.log).read_text()

    (left,) = client.store.orphan_sessions(now=client.clock.now().replace(year=9000))
    assert left.tries == 1
    with client.store:
        client.store.retry_orphan(left, at=client.clock.now())
    reach(project, backend.server_port)
    Janitor(client.store, home, client.config, client.clock).drop_sessions()
    eventually(lambda: backend.asked)


class Odd(Offline):
    """A backend of somebody else, which fails in its own way."""

    async def drop(self, session: str, context: AgentContext) -> None:
        raise ZeroDivisionError


@pytest.mark.spec("O14")
async def test_a_backend_that_fails_in_its_own_way_keeps_no_other_session(
    client: Engine, project: Project
) -> None:
    tasks = [talk(client, project, "command"), talk(client, project)]
    with client.store:
        client.store.remove(tasks, now=client.clock.now())
    await drop_all(client, lambda name, cwd: Odd({}) if name == "command" else Offline({}))
    (left,) = client.store.orphan_sessions(now=client.clock.now().replace(year=9000))
    assert (left.agent, left.tries) == ("command", 1)


@pytest.mark.spec("O14")
def test_one_process_drops_for_all_who_clear(client: Engine, home: Home, project: Project) -> None:
    with create_server(("127.0.0.1", 0)) as silent:
        reach(project, silent.getsockname()[1])
        client.clear([talk(client, project)])
        connection, _ = silent.accept()
        with connection:
            client.clear([talk(client, project)])
            client.clear([talk(client, project)])
            eventually(lambda: len(linux.marked("ERRANDS_HOME", home.path)) == 1)
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))


@pytest.mark.spec("O14")
def test_what_is_cleared_is_cleared_though_no_process_can_be_started_or_waited_for(
    client: Engine, home: Home, project: Project
) -> None:
    reach(project, 9)
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        client.clear([talk(client, project)])
    finally:
        signal.signal(signal.SIGCHLD, usual)
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))
    os.rename(home.log, f"{home.log}.1")
    os.mkdir(home.log)
    client.clear([talk(client, project)])
    assert client.store.orphan_sessions(now=client.clock.now())
