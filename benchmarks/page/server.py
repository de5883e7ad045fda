"""`errands web` of a home, with a signed-in browser's key."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from urllib.parse import urlsplit


class Server:
    """`with Server() as server:` inside a `BenchHome`, which it finds through the environment."""

    def __enter__(self) -> Server:
        words = [sys.executable, "-m", "errands", "web", "127.0.0.1:0", "--no-open"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.pid = self._process.pid
        code = self._process.stdout.readline().strip().partition("#code=")[2]
        self.url = self._process.stdout.readline().strip().removeprefix("from then on: ")
        self.address = urlsplit(self.url).netloc
        line = http.client.HTTPConnection(self.address, timeout=60)
        line.request("POST", "/api/sign-in", json.dumps({"code": code}), {"Content-Type": "application/json"})
        self.key = str(json.load(line.getresponse())["key"])
        line.close()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def memory(self) -> float:
        """Return the resident set size, in bytes."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return next(float(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
