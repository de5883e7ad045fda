"""A real `errands web` in a process of its own, and a client that speaks to it over sockets."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tests.short_limits import command

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
WITHIN = 60.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """The sentence of a refusal."""
        assert self.headers["content-type"] == "application/problem+json", self
        found: str = self.json["detail"]
        return found


def code_in(said: str) -> str:
    """Return the code in what `errands web` prints."""
    return said.partition("#code=")[2].split()[0]


class WebServer:
    """The server of one home; `settings` are written into its configuration file, `limits` are its own."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: str = "",
        words: tuple[str, ...] = (),
        limits: Mapping[str, float] | None = None,
    ) -> None:
        self.home = folder / "home"
        config = folder / "config" / "errands"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(settings)
        self.folder = folder
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")},
            "ERRANDS_HOME": str(self.home),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.log = folder / "web.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command(limits or {}), "web", "127.0.0.1:0", "--no-open", *words],
                cwd=folder,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.link = "" if "--service" in words else self.process.stdout.readline().strip()
        self.url = self.process.stdout.readline().strip().removeprefix("from then on: ")
        assert self.url, self.log.read_text()
        where = urlsplit(self.url)
        self.host, self.port = where.hostname or "", where.port or 0
        self.key = ""

    def find_port(self) -> None:
        """Find the port of a server that is known by another address: that of a proxy."""
        sockets = {
            os.readlink(each).removeprefix("socket:[").removesuffix("]")
            for each in Path(f"/proc/{self.process.pid}/fd").iterdir()
        }
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [int(row[1].partition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in sockets]
        self.host, self.port = "127.0.0.1", ports[0]

    @property
    def code(self) -> str:
        return self.link.partition("#code=")[2]

    def sign_in(self, code: str | None = None) -> Reply:
        """Sign in as a browser would; the key of the first success is used from then on."""
        reply = self.post("/api/sign-in", {"code": self.code if code is None else code}, key="")
        if reply.status == 201:
            self.key = reply.json["key"]
        return reply

    def get(self, path: str, **more: Any) -> Reply:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return self.ask("POST", path, body={} if body is None else body, **more)

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Reply:
        """Send a request as the page does, with the key of the signed-in browser."""
        if query:
            path += "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        key = self.key if key is None else key
        sent = {"User-Agent": BROWSER, **({"Authorization": f"Bearer {key}"} if key else {})}
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        line = http.client.HTTPConnection(self.host, self.port, timeout=WITHIN)
        try:
            line.request(method, path, content, {name: value for name, value in sent.items() if value})
            answer = line.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(status=answer.status, headers=names, body=answer.read())
        finally:
            line.close()

    def connect(self, said: bytes = b"") -> socket.socket:
        """Open a connection, and send the beginning of a request."""
        line = socket.create_connection((self.host, self.port), timeout=WITHIN)
        line.sendall(said)
        return line

    def stream(self, **query: Any) -> Stream:
        return Stream(self, **query)

    def errands(self, *words: str, check: bool = True, **more: Any) -> str:
        """Run a command in the same home; return what it printed."""
        command = [sys.executable, "-m", "errands", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False, **more
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return str(done.stdout)

    def run(self, *words: str) -> str:
        """Run a task to its end, however it ends; return its id."""
        line = self.errands("run", "--yes", "--wait", "--json", *words, check=False)
        return str(json.loads(line.splitlines()[-1])["id"])

    def propose(self, *words: str) -> str:
        """Propose a task that needs approval; return its id."""
        line = self.errands("propose", "--json", *words, check=False)
        return str(json.loads(line.splitlines()[-1])["id"])

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(WITHIN)
        assert self.process.stdout is not None
        self.process.stdout.close()
        live = self.errands("ls", "--state", "running", "--json", "id", check=False).splitlines()
        if ids := [json.loads(each)["id"] for each in live]:
            self.errands("cancel", *ids, check=False)
        self.errands("daemon", "stop", check=False)


class Stream:
    """The events of a stream, as a page reads them."""

    def __init__(self, server: WebServer, *, key: str | None = None, **query: Any) -> None:
        self._server = server
        path = "/api/stream"
        if query:
            path += "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        self._line = http.client.HTTPConnection(server.host, server.port, timeout=WITHIN)
        self._line.request(
            "GET", path, headers={"Authorization": f"Bearer {server.key if key is None else key}"}
        )
        self.answer = self._line.getresponse()
        self.last = ""  # the id of the last event that had one

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self._line.close()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        name = ""
        while line := self.answer.readline():
            word, _, rest = line.decode().rstrip("\n").partition(": ")
            if word == "id":
                self.last = rest
            elif word == "event":
                name = rest
            elif word == "data":
                yield name, json.loads(rest)

    def until(self, wanted: str, fits: Any = lambda facts: True) -> Any:
        """Read up to an event of this name that fits; return its facts."""
        deadline = time.monotonic() + WITHIN  # beats never end
        for name, facts in self:
            if name == wanted and fits(facts):
                return facts
            assert time.monotonic() < deadline, f"no {wanted} came that fits"
        raise AssertionError(f"the stream ended before {wanted}")

    def until_state(self, task: str, state: str) -> None:
        """Read up to the event that shows a task in a state, as a page would: `again` means to read anew."""
        deadline = time.monotonic() + WITHIN
        for name, facts in self:
            rows = facts["rows"] if name == "rows" else []
            if name == "again":
                rows = self._server.get("/api/tasks", ids=task).json["rows"]
            if (task, state) in [(row["id"], row["state"]) for row in rows]:
                return
            assert time.monotonic() < deadline, f"{task} was never {state}"
        raise AssertionError(f"the stream ended before {task} was {state}")
