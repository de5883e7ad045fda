"""A fleet goes on while the laptop sleeps: notices, schedules, and steps after tasks of other homes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.scenarios.fleet_homes import FleetHome, TestFleet, eventually

pytestmark = pytest.mark.spec("X12")
LEASE = 4.0  # seconds: a home that sleeps is out of touch after five


class Receiver:
    """A server that webhooks are delivered to."""

    def __init__(self) -> None:
        got = self.got = list[dict[str, object]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got.append(json.loads(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def about(self, task: str) -> list[dict[str, object]]:
        return [each for each in self.got if task in json.dumps(each)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def _with_channel(home: FleetHome, receiver: Receiver) -> FleetHome:
    secret = home.folder / "secret"
    secret.write_text("whsec_c2VjcmV0")
    secret.chmod(0o600)
    settings = f'[channels.ops]\nkind = "webhook"\nurl = "{receiver.url}"\nsecret = "file:{secret}"\n'
    home.config.write_text(home.config.read_text() + settings)
    return home


@pytest.fixture(scope="module")
def quick(fleet: TestFleet) -> TestFleet:
    fleet.hurry(lease=LEASE)
    return fleet


@pytest.fixture(scope="module")
def sleeper(quick: TestFleet, receiver: Receiver) -> FleetHome:
    """A laptop that reports to a channel."""
    return _with_channel(quick.add("sleeper", "--slots", "0"), receiver)


@pytest.fixture(scope="module")
def server(quick: TestFleet, sleeper: FleetHome, receiver: Receiver) -> FleetHome:
    """A host that never sleeps, and has the same channel."""
    home = quick.add("server", "--slots", "4")
    _with_channel(home, receiver)
    home.stop()
    home.start()
    return home


@pytest.mark.spec("N5", "N6")
def test_another_home_reports_to_the_channel_once_while_the_laptop_sleeps(
    sleeper: FleetHome, server: FleetHome, receiver: Receiver, gate: Path
) -> None:
    task = sleeper.submit("server", f"read x < {gate}; exit 5", "--channel", "ops", "--env", "KEY=hid-8Rz")
    sleeper.until(task, "running")
    sleeper.kill_all()
    gate.write_text("\n")

    eventually(lambda: receiver.about(task), "the notice, sent by the server")
    (notice,) = receiver.about(task)
    assert "hid-8Rz" not in json.dumps(notice)

    sleeper.start()
    sleeper.until(task, "failed")
    later = sleeper.submit("server", "true", "--channel", "ops")
    eventually(lambda: receiver.about(later), "the notice, sent by the laptop")
    assert receiver.about(task) == [notice]
    # The inbox of its owner is at home, and is told there.
    told = [each["event"] for each in sleeper.notices() if each["run_id"] == f"{task}.1"]
    assert told == ["failed"]


def test_a_step_waits_for_a_task_of_another_home(sleeper: FleetHome, server: FleetHome, gate: Path) -> None:
    first = sleeper.submit("server", f"read x < {gate}")
    sleeper.until(first, "running")
    words = ("run", "--quiet", "--yes", "--after", first, "--", "echo", "second")
    second = server.say(*words).split()[-1]
    assert server.view(second)["state"] == "pending"

    gate.write_text("\n")

    assert server.wait(second) == 0
    assert server.say("logs", second) == "second\n"


def test_a_step_is_skipped_when_the_task_of_another_home_fails(sleeper: FleetHome, server: FleetHome) -> None:
    first = sleeper.submit("server", "exit 3")
    sleeper.until(first, "failed")
    second = server.say("run", "--quiet", "--yes", "--after", first, "--", "echo", "second").split()[-1]

    assert server.until(second, "skipped")["error"] == f"it waited for {first} (failed)"
    unknown = server.run("run", "--yes", "--after", "nothing-like-it", "--", "true")
    assert unknown.returncode == 3
    assert "unknown task 'nothing-like-it'" in unknown.stderr


@pytest.mark.spec("T10")
def test_a_schedule_that_another_host_keeps_goes_on_while_the_laptop_sleeps(
    sleeper: FleetHome, server: FleetHome, tmp_path: Path
) -> None:
    line = f"echo x >> {tmp_path}/ticks; wc -l < {tmp_path}/ticks"
    words = ("run", "--quiet", "--yes", "--every", "2s", "--notify", "always", "--keep-on", "server")
    task = sleeper.say(*words, "--", "sh", "-c", line).strip()
    eventually((tmp_path / "ticks").exists, "its first run")
    sleeper.kill_all()
    before = len((tmp_path / "ticks").read_text())

    eventually(lambda: len((tmp_path / "ticks").read_text()) > before + 4, "runs while the laptop sleeps")

    sleeper.start()
    eventually(
        lambda: [each for each in sleeper.notices() if each["run_id"].startswith(f"{task}.")],
        "a notice for its owner",
    )
    assert json.loads(sleeper.say("show", task, "--json"))["home"] == "server"
    sleeper.say("cancel", task)
    assert server.until(task, "cancelled")
    assert task not in sleeper.say("ls", "--all")


def test_what_cannot_be_kept_is_refused(sleeper: FleetHome, server: FleetHome) -> None:
    for words, said in (
        (("--keep-on", "server"), "add --every or --cron"),
        (("--every", "1h", "--keep-on", "nowhere"), "no host of the fleet is named 'nowhere'"),
        (("--every", "1h", "--lane", "shell", "--cwd", "/nowhere", "--keep-on", "server"), "/nowhere"),
    ):
        done = sleeper.run("run", "--yes", *words, "--", "true")
        assert done.returncode != 0
        assert said in done.stderr, done.stderr
