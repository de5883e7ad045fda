"""A receiver on loopback: accepts what is posted to it, and misbehaves on request."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

# hang: take it and never answer; cut: take it and hang up; garbage: answer with no HTTP; or an error's code
Mood = Literal["", "hang", "cut", "garbage"] | int
WITHIN = 60.0


class Posted:
    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def value(self) -> Any:
        return json.loads(self.body)


class Receiver:
    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.moods: list[Mood] = []  # for the next requests
        self.mood: Mood = ""  # for all others
        self.answer: bytes = b"{}"
        self.pause = 7  # seconds that it asks for when it has no time
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _requests(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/hook"

    def waits_for(self, count: int) -> list[Posted]:
        deadline = time.monotonic() + WITHIN
        while len(self.posted) < count:
            assert time.monotonic() < deadline, f"{len(self.posted)} of {count} deliveries arrived"
            time.sleep(0.005)
        return self.posted

    def sulk(self) -> None:
        self._closing.wait(WITHIN)


def _requests(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that the library calls
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            mood = receiver.moods.pop(0) if receiver.moods else receiver.mood
            if not isinstance(mood, int):
                receiver.posted.append(
                    Posted(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                )
            self._answer(mood, body)

        def do_GET(self) -> None:
            self._answer("", b"")

        def _answer(self, mood: Mood, body: bytes) -> None:
            if mood == "hang":
                receiver.sulk()
            elif mood == "garbage":
                self.wfile.write(b"this is no HTTP\r\n\r\n")
            elif mood != "cut":
                self.send_response(mood or 200)
                if mood in (429, 503):
                    self.send_header("Retry-After", str(receiver.pause))
                self.send_header("Content-Length", str(len(receiver.answer)))
                self.end_headers()
                self.wfile.write(receiver.answer)
            self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    return Requests
