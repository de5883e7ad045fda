"""A fake GitHub for tests: the lists that the source polls, on loopback, with ETags, rate limits and tokens.

It serves from threads, so that real processes can connect. The test opens pull requests, lets builds fail,
and decides what breaks.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class FakeGitHub:
    """`requests` has every requested path, with the code of the response."""

    def __init__(self, repository: str = "people/project", token: str = "ghp-token") -> None:
        self.repository = repository
        self.token = token
        self.pulls: list[dict[str, Any]] = []
        self.builds: list[dict[str, Any]] = []
        self.requests: list[tuple[str, int]] = []
        self.limited = 0  # how many of the next requests are refused for a while
        self.pause = 1  # seconds that such a refusal asks for
        self.broken = 0  # how many of the next requests are answered with 502
        fake = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, headers, content = fake._answer(self.path, dict(self.headers.items()))
                fake.requests.append((self.path, code))
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *values: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def codes(self) -> list[int]:
        return [code for _, code in self.requests]

    def open_pull(self, title: str, **more: Any) -> dict[str, Any]:
        number = len(self.pulls) + 1
        pull = {
            "number": number,
            "title": title,
            "state": "open",
            "user": {"login": "octocat"},
            "head": {"ref": f"branch-{number}"},
            "html_url": f"https://github.test/{self.repository}/pull/{number}",
            "created_at": _stamp(),
            "body": "please",
            **more,
        }
        self.pulls.insert(0, pull)
        return pull

    def end_build(self, conclusion: str = "failure", **more: Any) -> dict[str, Any]:
        number = 100 + len(self.builds)
        build = {
            "id": number,
            "run_attempt": 1,
            "name": "tests",
            "conclusion": conclusion,
            "head_branch": "main",
            "head_sha": "c0ffee",
            "html_url": f"https://github.test/{self.repository}/actions/runs/{number}",
            "updated_at": _stamp(),
            **more,
        }
        self.builds.insert(0, build)
        return build

    def delivery(self, event: str, secret: str, **payload: Any) -> tuple[bytes, dict[str, str]]:
        """Return what GitHub would post to a webhook, signed."""
        content = json.dumps({"repository": {"full_name": self.repository}, **payload}).encode()
        mark = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
        headers = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": f"delivery-{time.time_ns()}",
            "X-Hub-Signature-256": f"sha256={mark}",
            "Content-Type": "application/json",
        }
        return content, headers

    def _answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(path)
        if headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {}, b'{"message": "Bad credentials"}'
        if self.broken > 0:
            self.broken -= 1
            return 502, {}, b"<html>bad gateway</html>"
        if self.limited > 0:
            self.limited -= 1
            more = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + self.pause)}
            return 403, more, b'{"message": "API rate limit exceeded"}'
        if parts.path == f"/repos/{self.repository}/pulls":
            found: Any = self.pulls
        elif parts.path == f"/repos/{self.repository}/actions/runs":
            branch = parse_qs(parts.query).get("branch")
            found = {
                "workflow_runs": [each for each in self.builds if not branch or each["head_branch"] in branch]
            }
        else:
            return 404, {}, b'{"message": "Not Found"}'
        content = json.dumps(found).encode()
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        if headers.get("If-None-Match") == etag:
            return 304, {"ETag": etag}, b""
        return 200, {"ETag": etag}, content


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
