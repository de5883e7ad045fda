"""Asking an API over HTTP: with a token, and with the mark of what we have seen already."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from typing import Any
from urllib.parse import urlsplit

from errands.model.record import record
from errands.model.schedule.errors import SourceError

TIMEOUT = 20.0  # seconds
LONGEST = 8 << 20  # bytes of an answer
LONGEST_PAUSE = 3600.0
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
NO_TOKEN = (
    "there is no token for GitHub: set GITHUB_TOKEN where the daemon is started, or log in with gh auth login"
)


@record
class Reply:
    """`value` is None when nothing has changed; for `pause` seconds the server wants to be left alone."""

    value: Any
    etag: str | None
    pause: float


class Api:
    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._token = _token()

    def get(self, path: str, etag: str | None) -> Reply:
        """Ask for something; whatever is wrong is said in a sentence."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "errands",
            "X-GitHub-Api-Version": "2022-11-28",
            **({"If-None-Match": etag} if etag else {}),
        }
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=TIMEOUT)
        try:
            connection.request("GET", self._url.path.rstrip("/") + path, headers=headers)
            answer = connection.getresponse()
            content = answer.read(LONGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            raise SourceError(f"GitHub cannot be reached: {error}") from error
        finally:
            connection.close()
        pause = _seconds(answer.getheader("x-poll-interval"))
        if answer.status == 304:
            return Reply(value=None, etag=etag, pause=pause)
        if answer.status != 200:
            raise _refusal(answer, content)
        if len(content) > LONGEST:
            raise SourceError("the answer of GitHub is too long")
        try:
            return Reply(value=json.loads(content), etag=answer.getheader("etag"), pause=pause)
        except ValueError:
            raise SourceError("what answers is not GitHub; see events.github") from None


def _refusal(answer: http.client.HTTPResponse, content: bytes) -> SourceError:
    try:
        said = str(json.loads(content).get("message", ""))[:200]
    except (ValueError, AttributeError):
        said = ""
    told = f": {said}" if said else ""
    if answer.status in (403, 429):
        pause = _seconds(answer.getheader("retry-after"))
        if not pause and answer.getheader("x-ratelimit-remaining") == "0":
            pause = max(1.0, _seconds(answer.getheader("x-ratelimit-reset"), longest=1e12) - time.time())
        if pause:
            pause = min(pause, LONGEST_PAUSE)
            return SourceError(f"GitHub wants to be left alone for {pause:.0f} s{told}", after=pause)
    if answer.status == 401:
        return SourceError(f"GitHub does not take the token{told}")
    if answer.status == 404:
        return SourceError(f"there is no such repository, or the token may not see it{told}")
    return SourceError(f"GitHub answers with {answer.status}{told}")


def _seconds(header: str | None, *, longest: float = LONGEST_PAUSE) -> float:
    return min(float(header), longest) if header is not None and header.isdecimal() else 0.0


def _token() -> str:
    for name in TOKENS:
        if os.environ.get(name):
            return os.environ[name]
    try:
        asked = subprocess.run(
            ["gh", "auth", "token"], capture_output=True, text=True, timeout=10, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        raise SourceError(NO_TOKEN) from None
    if asked.returncode or not asked.stdout.strip():
        raise SourceError(NO_TOKEN)
    return asked.stdout.strip()
