"""A collector of spans on loopback: it decodes what arrives, and refuses on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collector:
    def __init__(self, port: int = 0) -> None:
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.answers: list[int] = []  # codes for the next requests; then 200
        self.refused = 0
        self._lock = threading.Lock()
        collector = self

        class RequestHandler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = collector.take(self.path, dict(self.headers), body)
                self.send_response(code)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        self._http = ThreadingHTTPServer(("127.0.0.1", port), RequestHandler)
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def open(self) -> Iterator[Collector]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            thread.join()
            self._http.server_close()

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> int:
        with self._lock:
            self.headers.append(headers)
            code = self.answers.pop(0) if self.answers else 200
            if code != 200:
                self.refused += 1
                return code
            assert path == "/v1/traces"
            for part in json.loads(body)["resourceSpans"]:
                self.resources.append(_plain(part["resource"]["attributes"]))
                for scope in part["scopeSpans"]:
                    assert scope["scope"]["name"] == "errands"
                    self.spans += [_understood(each) for each in scope["spans"]]
            return code

    def named(self, name: str) -> list[dict[str, Any]]:
        with self._lock:
            return [each for each in self.spans if each["name"] == name]


def _understood(span: dict[str, Any]) -> dict[str, Any]:
    """Check what every collector checks, and give the span in plain values."""
    assert len(bytes.fromhex(span["traceId"])) == 16
    assert len(bytes.fromhex(span["spanId"])) == 8
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    return {**span, "attributes": _plain(span["attributes"])}


def _plain(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        ((kind, value),) = pair["value"].items()
        found[pair["key"]] = int(value) if kind == "intValue" else value
    return found
