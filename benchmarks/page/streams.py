"""Many streams of changes at once: a process that reads them, and when each end of a task came.

`python -m benchmarks.page.streams STREAMS ENDS ADDRESS` takes the key from its input, prints `live` when
every stream has begun, and at the end what it saw.
"""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime

from benchmarks.page.server import Server

_LIMIT = 10.0  # seconds without news after which nothing more is expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """`seconds` from each end to each stream that heard of it; `again` are events that name no task."""

    missed: int
    again: int
    seconds: tuple[float, ...]


class Readers:
    """Reads streams in another process, from its start until every end was heard of."""

    def __init__(self, server: Server, streams: int, ends: int) -> None:
        words = [sys.executable, "-m", __name__, str(streams), str(ends), server.address]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{server.key}\n")
        self._process.stdin.flush()
        if (line := self._process.stdout.readline()) != "live\n":
            raise ChildProcessError(f"the readers said {line!r}")

    def heard(self) -> Heard:
        out, _ = self._process.communicate()
        facts = json.loads(out)
        return Heard(missed=facts["missed"], again=facts["again"], seconds=tuple(facts["seconds"]))


class _Stream:
    def __init__(self, address: str, key: str) -> None:
        host, _, port = address.rpartition(":")
        self.line = socket.create_connection((host, int(port)))
        self.line.sendall(
            f"GET /api/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        )
        self._rest = b""
        self.is_live = False
        self.again = 0
        self.heard: dict[str, float] = {}  # seconds by task

    def read(self) -> None:
        now = time.time()
        piece = self.line.recv(1 << 20)
        if not piece:
            raise EOFError("a stream ended")
        # Chunks of HTTP begin and end between lines, so an event can be told from them.
        *events, self._rest = (self._rest + piece).split(b"\n\n")
        for each in events:
            name, _, data = each.partition(b"event: ")[2].partition(b"\ndata: ")
            self.is_live = self.is_live or name == b"hello"
            self.again += name == b"again"
            if name == b"rows":
                for row in json.loads(data)["rows"]:
                    if row["completed_at"]:
                        ended = datetime.fromisoformat(row["completed_at"]).timestamp()
                        self.heard.setdefault(row["id"], now - ended)


def _main(count: int, ends: int, address: str) -> None:
    key = sys.stdin.readline().strip()
    streams = [_Stream(address, key) for _ in range(count)]
    with selectors.DefaultSelector() as waiting:
        for each in streams:
            waiting.register(each.line, selectors.EVENT_READ, each)
        is_told = False
        heard_at = time.monotonic()
        while any(len(each.heard) < ends for each in streams) and time.monotonic() < heard_at + _LIMIT:
            for ready, _ in waiting.select(1.0):
                before = len(ready.data.heard)
                ready.data.read()
                heard_at = time.monotonic() if len(ready.data.heard) > before else heard_at
            if not is_told and all(each.is_live for each in streams):
                is_told = True
                print("live", flush=True)
    seconds = [took for each in streams for took in each.heard.values()]
    missed = sum(ends - len(each.heard) for each in streams)
    print(json.dumps({"missed": missed, "again": sum(each.again for each in streams), "seconds": seconds}))


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
