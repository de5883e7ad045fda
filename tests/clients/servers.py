"""An OpenCode server that a test can kill and start again."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from tests.clients.programs import opencode_env, program

STARTING = 180.0  # seconds, on a busy machine


class OpenCodeServer:
    def __init__(self, home: Path, model_url: str) -> None:
        self._home = home
        self._env = {**os.environ, **opencode_env(home, model_url)}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._home / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [program("opencode"), "serve", "--port", str(self._port), "--hostname", "127.0.0.1"],
                cwd=self._home,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        deadline = time.monotonic() + STARTING
        while not self._answers():
            assert self._process.poll() is None, "OpenCode ended while it started"
            assert time.monotonic() < deadline, "OpenCode does not start"
            time.sleep(0.1)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            # A request during its start may never be answered.
            with urllib.request.urlopen(f"{self.url}/global/health", timeout=5):
                return True
        except OSError:
            return False
