"""What blocking channels share: their threads, and requests whose failures the sender understands."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from errands import http
from errands.model.errors import ChannelError, NotNow, Refused, Unacknowledged
from errands.model.notices.delivery import Delivery
from errands.ports.channel import AT_ONCE

TIMEOUT = 15.0  # seconds, for each step; less than the sender waits
_FINAL = (400, 410, 413, 415, 422)  # sending it again would not help
_LATER = (429, 503)
LONGEST_PAUSE = 900.0


class BlockingChannel(ABC):
    """A channel whose `_deliver` blocks; each has its own threads, so one that hangs delays no other."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE)

    async def deliver(self, delivery: Delivery) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, self._deliver, delivery)

    @abstractmethod
    def _deliver(self, delivery: Delivery) -> None: ...

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def request(method: str, url: str, content: bytes | None, headers: Mapping[str, str]) -> http.Response:
    """Send one request and return a successful response; raise a `ChannelError` for anything else."""
    try:
        response = http.request(method, url, headers=headers, body=content, timeout=TIMEOUT)
    except http.HttpError as error:
        if error.was_sent:
            raise Unacknowledged(f"sent, but not answered: {error}") from error
        raise ChannelError(f"{urlsplit(url).netloc.rpartition('@')[2]} cannot be reached: {error}") from error
    if 200 <= response.code < 300:
        return response
    said = response.body[:200].decode("utf-8", "replace").strip()
    why = f"the server answered {response.code}" + (f": {said}" if said else "")
    pause = response.headers.get("retry-after", "")
    if response.code in _LATER and pause.isdecimal():
        raise NotNow(why, after=min(float(pause), LONGEST_PAUSE))
    raise Refused(why) if response.code in _FINAL else ChannelError(why)
