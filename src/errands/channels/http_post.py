"""Posting: requests over HTTP, and whether one that failed may have arrived.

It waits, so it runs in threads, and every channel has its own: one that hangs takes none from another.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

from errands.model.notices.errors import ChannelError, NotNow, Refused, Unacknowledged

T = TypeVar("T")
AT_ONCE = 8
TIMEOUT = 15.0  # seconds, for each step; less than the notifier waits
LONGEST_REPLY = 1 << 20
# What was sent will not be taken, whatever we do.
_FINAL = (400, 410, 413, 415, 422)
_LATER = (429, 503)
LONGEST_PAUSE = 900.0


class Threads:
    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)

    async def run(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, act)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class Reply:
    def __init__(self, code: int, body: bytes) -> None:
        self.code = code
        self.body = body

    @property
    def value(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def request(method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
    """Send one request; anything but a good answer raises what the notifier understands."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
    try:
        try:
            connection.request(method, _path(url), body=content, headers=dict(headers))
        except (OSError, http.client.HTTPException) as error:
            raise ChannelError(f"{parts.netloc.rpartition('@')[2]} cannot be reached: {error}") from error
        try:
            answer = connection.getresponse()
            body = answer.read(LONGEST_REPLY)
        except (OSError, http.client.HTTPException) as error:
            said = str(error) or type(error).__name__
            raise Unacknowledged(f"sent, but there is no answer: {said}") from error
        _check(answer.status, answer.getheader("retry-after"), body)
        return Reply(answer.status, body)
    finally:
        connection.close()


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _check(code: int, pause: str | None, body: bytes) -> None:
    if 200 <= code < 300:
        return
    said = body[:200].decode("utf-8", "replace").strip()
    why = f"the answer is {code}" + (f": {said}" if said else "")
    if code in _LATER and pause is not None and pause.isdecimal():
        raise NotNow(why, after=min(float(pause), LONGEST_PAUSE))
    if code in _FINAL:
        raise Refused(why)
    raise ChannelError(why)
