"""Our server as a process, driven by raw lines, so that tests can send anything."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from errands.frontends.mcp.client import TASKS
from tests.frontends.mcp.conversation import NEWER

WITHIN = 60.0  # seconds
_META = "io.modelcontextprotocol"


class Served:
    """The server of one client; leaving the context disconnects."""

    def __init__(self, folder: Path, *words: str, **environ: str) -> None:
        self._number = 0
        self._kept = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "errands", "mcp", *words],
            cwd=folder,
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def __enter__(self) -> Served:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._in.close()
        try:
            self.process.wait(WITHIN)
        finally:
            self.kill()
            self._out.close()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WITHIN)

    def hang_up(self) -> int:
        self._in.close()
        return self.process.wait(WITHIN)

    def write(self, content: bytes) -> None:
        self._in.write(content)
        self._in.flush()

    def read(self) -> dict[str, Any]:
        """Read the next message; fail if a line is anything else."""
        deadline = time.monotonic() + WITHIN
        while b"\n" not in self._kept:
            ready, _, _ = select.select([self._out], [], [], deadline - time.monotonic())
            assert ready, f"it said nothing more than {self._kept!r}"
            chunk = os.read(self._out.fileno(), 65536)
            assert chunk, "it hung up"
            self._kept += chunk
        line, _, self._kept = self._kept.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def message(self, method: str, **params: Any) -> dict[str, Any]:
        """Write a request of the newer protocol."""
        self._number += 1
        params["_meta"] = {
            f"{_META}/protocolVersion": NEWER,
            f"{_META}/clientInfo": {"name": "by-hand", "version": "1"},
            f"{_META}/clientCapabilities": {"extensions": {TASKS: {}}},
        }
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    def say(self, method: str, **params: Any) -> int:
        """Send a request; return its number."""
        message = self.message(method, **params)
        self.write(json.dumps(message).encode() + b"\n")
        return self._number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and read its answer; skip notifications."""
        number = self.say(method, **params)
        while (message := self.read()).get("id") != number:
            pass
        assert "error" not in message, message
        result: dict[str, Any] = message["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=arguments)

    def ended(self, task_id: str) -> dict[str, Any]:
        deadline = time.monotonic() + WITHIN
        while (found := self.ask("tasks/get", taskId=task_id))["status"] == "working":
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def most_memory(self) -> int:
        """The most bytes of memory it ever had."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("it has ended")
