"""Small HTTP servers over the standard library: the head of a request, and the response."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

LONGEST_HEAD = 16 << 10  # bytes
HEAD_WITHIN = 5.0  # seconds


class Rejection(Exception):  # noqa: N818  # a response, not a failure
    """The response to a request that is refused."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


async def read_head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]]:
    """Return the method, the path without its query, and the headers, with lower-case names."""
    try:
        async with asyncio.timeout(HEAD_WITHIN):
            raw = await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        raise Rejection(408, "too slow") from None
    except asyncio.LimitOverrunError:
        raise Rejection(431, "the head is too long") from None
    except (asyncio.IncompleteReadError, OSError):
        raise Rejection(400, "this is not a request") from None
    first, *lines = raw.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Rejection(400, "this is not a request")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return words[0], words[1].partition("?")[0], headers


def response_head(code: int, length: int, kind: str, *more: str) -> bytes:
    """Return the head of a response, after which the connection is closed; `more` are other headers."""
    lines = (f"Content-Type: {kind}", *more, f"Content-Length: {length}", "Connection: close")
    return "\r\n".join((f"HTTP/1.1 {code} {HTTPStatus(code).phrase}", *lines, "", "")).encode()
