"""Session cleanup: clearing a task drops its session, wherever it is kept, without making the caller wait."""

from __future__ import annotations

import os
import signal
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
    """A server that keeps sessions and records its requests."""

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


def use_server(project: Project, port: int) -> None:
    project.configure(f'[agents.opencode]\nurl = "http://127.0.0.1:{port}"\nretries = 0')


def ended_task(client: Engine, project: Project, agent: str = "opencode") -> str:
    """Create a task whose session is kept by a server, and end it."""
    task = client.submit(Draft(prompt="hello", agent=agent, cwd=project.path))
    now = client.clock.now()
    with client.store:
        client.store.add_session(
            Session(task_id=task.id, run=1, agent=agent, name="ses_1", forked_from=None, created_at=now)
        )
    client.cancel([task.id])
    return task.id


@pytest.mark.spec("S1", "O14")
def test_clearing_a_task_drops_its_session_at_the_server(
    client: Engine, project: Project, backend: Backend
) -> None:
    use_server(project, backend.server_port)
    client.clear([ended_task(client, project)])
    eventually(lambda: backend.asked)
    assert [each.partition("?")[0] for each in backend.asked] == ["/session/ses_1"]
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))


@pytest.mark.spec("O14")
def test_the_session_of_an_unreachable_server_is_dropped_later(
    client: Engine, home: Home, project: Project, backend: Backend
) -> None:
    use_server(project, 9)
    client.clear([ended_task(client, project)])
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))
    assert "session ses_1 of agent opencode is not dropped, it is tried again" in Path(home.log).read_text()

    (left,) = client.store.orphan_sessions(now=client.clock.now().replace(year=9000))
    assert left.tries == 1
    with client.store:
        client.store.retry_orphan(left, at=client.clock.now())
    use_server(project, backend.server_port)
    Janitor(client.store, home, client.config, client.clock).drop_sessions()
    eventually(lambda: backend.asked)


class Failing(Offline):
    """A third-party backend that raises an error of its own."""

    async def drop(self, session: str, context: AgentContext) -> None:
        raise ZeroDivisionError


@pytest.mark.spec("O14")
async def test_an_unexpected_error_of_one_backend_does_not_keep_other_sessions(
    client: Engine, project: Project
) -> None:
    tasks = [ended_task(client, project, "command"), ended_task(client, project)]
    with client.store:
        client.store.remove(tasks, now=client.clock.now())
    await drop_all(client, lambda name, cwd: Failing({}) if name == "command" else Offline({}))
    (left,) = client.store.orphan_sessions(now=client.clock.now().replace(year=9000))
    assert (left.agent, left.tries) == ("command", 1)


@pytest.mark.spec("O14")
def test_one_process_drops_the_sessions_of_all_cleared_tasks(
    client: Engine, home: Home, project: Project
) -> None:
    with create_server(("127.0.0.1", 0)) as silent:
        use_server(project, silent.getsockname()[1])
        client.clear([ended_task(client, project)])
        connection, _ = silent.accept()
        with connection:
            client.clear([ended_task(client, project)])
            client.clear([ended_task(client, project)])
            eventually(lambda: len(linux.marked("ERRANDS_HOME", home.path)) == 1)
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))


@pytest.mark.spec("O14")
def test_clearing_works_even_if_no_process_can_be_started_or_waited_for(
    client: Engine, home: Home, project: Project
) -> None:
    use_server(project, 9)
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        client.clear([ended_task(client, project)])
    finally:
        signal.signal(signal.SIGCHLD, usual)
    eventually(lambda: not client.store.orphan_sessions(now=client.clock.now()))
    os.rename(home.log, f"{home.log}.1")
    os.mkdir(home.log)
    client.clear([ended_task(client, project)])
    assert client.store.orphan_sessions(now=client.clock.now())
