"""The receiver of webhook deliveries, and the checks they must pass before anything reads them.

In this order: a short and quick head, a known name, something that may be a signature, the size, the
signature, the age, the rate. Only then is a delivery passed on, and acknowledged once it is stored. Unsigned
requests use up nothing that a signed delivery needs: neither its rate nor its connection. All webhooks of a
process share one receiver per address.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from errands.config.secret import read_secret, signing_key
from errands.model.errors import BadValue, SourceError
from errands.model.record import record
from errands.ports.http_request import HEAD_WITHIN, LONGEST_HEAD, Rejection, read_head, response_head
from errands.ports.source import Observation, SourceEvent

HEARTBEAT = 60.0  # seconds without a delivery after which an empty observation is made
CONNECTIONS = 64
BODY = 1 << 20  # bytes
BODY_WITHIN, TAKEN_WITHIN, LINGER = 10.0, 10.0, 1.0  # seconds
RATE, BURST = 20.0, 100.0  # deliveries in a second, and at once
WINDOW = 300.0  # seconds that the clock of a sender may differ, and a delivery may be old
PREFIX = "/hooks/"
_SIGNATURES = {"github": "x-hub-signature-256", "standard": "webhook-signature"}
_LOG = logging.getLogger("errands.receiver")


@record
class IncomingRequest:
    """A delivery with a valid signature; `key` is the same however often it is sent."""

    key: str
    event: str
    content: bytes


class Inlet:
    """The deliveries to one webhook, for one task. Requesting the next one acknowledges the last."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.kind = str(settings.get("kind", "standard"))
        try:
            self.secret = read_secret(str(settings["secret"]))
        except BadValue as error:
            raise SourceError(str(error)) from error
        self._place = str(settings["listen"])
        self._queue: asyncio.Queue[tuple[IncomingRequest, asyncio.Future[bool]]] = asyncio.Queue(CONNECTIONS)
        self._receiver: Receiver | None = None

    async def open(self) -> None:
        self._receiver = await Receiver.at(self._place)
        self._receiver.inlets.append(self)

    async def close(self) -> None:
        while not self._queue.empty():
            _settle(self._queue.get_nowait()[1], False)
        if self._receiver is not None and self in self._receiver.inlets:
            self._receiver.inlets.remove(self)
            await self._receiver.leave()

    async def deliveries(self, patience: float) -> AsyncIterator[IncomingRequest | None]:
        """Yield one delivery after the other, and None when none has come for a while."""
        while True:
            try:
                async with asyncio.timeout(patience):
                    delivery, taken = await self._queue.get()
            except TimeoutError:
                yield None
                continue
            try:
                yield delivery
                _settle(taken, True)
            finally:
                _settle(taken, False)  # it could not be stored

    async def observe(
        self, event_of: Callable[[IncomingRequest], SourceEvent | None]
    ) -> AsyncIterator[Observation]:
        """Yield an observation for each delivery; its key makes repeats harmless without a baseline."""
        yield Observation(baseline="")
        async with aclosing(self.deliveries(HEARTBEAT)) as deliveries:  # type: ignore[type-var]
            async for delivery in deliveries:
                event = None if delivery is None else event_of(delivery)
                yield Observation(baseline="", events=() if event is None else (event,))

    async def take(self, delivery: IncomingRequest) -> None:
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(TAKEN_WITHIN):
                self._queue.put_nowait((delivery, taken))
                if await taken:
                    return
        except (TimeoutError, asyncio.QueueFull):
            pass
        raise Rejection(503, "it cannot be accepted now; send it again later")


class Receiver:
    _all: dict[str, Receiver] = {}

    def __init__(self, place: str) -> None:
        self._place = place
        self._server: asyncio.Server | None = None
        self._opening = asyncio.Lock()
        self._connections = 0
        self._unproved: dict[asyncio.StreamWriter, None] = {}  # oldest first
        self._allowance: dict[str, tuple[float, float]] = {}
        self.inlets: list[Inlet] = []

    @classmethod
    async def at(cls, place: str) -> Receiver:
        """Return the receiver at an address, `HOST:PORT`."""
        found = cls._all.setdefault(place, cls(place))
        # Several tasks may ask at once, and an address can be bound only once.
        async with found._opening:
            if found._server is None:
                await found._open()
        return found

    async def _open(self) -> None:
        host, _, port = self._place.rpartition(":")
        if not host or not port.isdecimal():
            raise SourceError(f"events.listen cannot be {self._place!r}; write HOST:PORT")
        try:
            self._server = await asyncio.start_server(
                self._serve, host.strip("[]"), int(port), limit=LONGEST_HEAD
            )
        except OSError as error:
            raise SourceError(
                f"cannot listen at {self._place}: {error.strerror}; see events.listen"
            ) from error
        self._all[self._place] = self

    async def leave(self) -> None:
        """Stop listening once no task waits for deliveries."""
        if not self.inlets and self._server is not None:
            self._all.pop(self._place, None)
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self._unproved[writer] = None
        try:
            code, text = await self._answer(reader, writer)
            said = (text + "\n").encode()
            more = ("Retry-After: 1",) if code in (429, 503) else ()
            writer.write(response_head(code, len(said), "text/plain", *more) + said)
            async with asyncio.timeout(HEAD_WITHIN):
                await writer.drain()
                if code != 202:
                    await _linger(reader, writer)
        except (OSError, TimeoutError):
            pass  # the sender has gone
        except Exception:  # noqa: BLE001  # the loop's edge: no delivery may end the others
            _LOG.exception("a delivery could not be answered")
        finally:
            self._connections -= 1
            self._unproved.pop(writer, None)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, str]:
        try:
            if self._connections > CONNECTIONS:
                self._close_oldest(writer)
            name, headers = await _head(reader)
            inlets = [each for each in self.inlets if each.name == name]
            if not inlets:
                raise Rejection(404, "no task waits for this")
            if not headers.get(_SIGNATURES[inlets[0].kind]):
                raise Rejection(401, "the signature is missing")
            content = await _content(reader, headers)
            delivery = proved(inlets[0].kind, inlets[0].secret, headers, content, now=time.time())
            self._unproved.pop(writer, None)
            if not self._is_within_rate(name):
                raise Rejection(429, "too many deliveries")
            await asyncio.gather(*(each.take(delivery) for each in inlets))
        except Rejection as rejection:
            return rejection.code, str(rejection)
        return 202, "taken"

    def _close_oldest(self, newest: asyncio.StreamWriter) -> None:
        """Make room: hang up on the sender that has kept a connection longest without a valid signature."""
        oldest = next(iter(self._unproved))
        if oldest is newest:
            raise Rejection(503, "too many connections")
        del self._unproved[oldest]
        oldest.transport.abort()

    def _is_within_rate(self, name: str) -> bool:
        """Take a token from the bucket of a webhook: RATE per second, up to BURST at once."""
        now = time.monotonic()
        left, at = self._allowance.get(name, (BURST, now))
        left = min(BURST, left + (now - at) * RATE)
        self._allowance[name] = (left - 1 if left >= 1 else left, now)
        return left >= 1


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a refused sender read the answer: hanging up on unread bytes would reset its connection."""
    writer.write_eof()
    left = BODY
    async with asyncio.timeout(LINGER):
        while left > 0 and (piece := await reader.read(LONGEST_HEAD)):
            left -= len(piece)


async def _head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    """Read the head of a request; return the webhook's name and the headers."""
    method, path, headers = await read_head(reader)
    if not path.startswith(PREFIX):
        raise Rejection(404, "no task waits for this")
    if method != "POST":
        raise Rejection(405, "use POST")
    return path.removeprefix(PREFIX), headers


async def _content(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    length = headers.get("content-length", "")
    if not length.isdecimal() or "transfer-encoding" in headers:
        raise Rejection(411, "Content-Length is required")
    if len(length) > 12 or int(length) > BODY:
        raise Rejection(413, f"more than {BODY} bytes")
    try:
        async with asyncio.timeout(BODY_WITHIN):
            return await reader.readexactly(int(length))
    except TimeoutError:
        raise Rejection(408, "too slow") from None
    except (asyncio.IncompleteReadError, OSError):
        raise Rejection(400, "the body is incomplete") from None


def proved(
    kind: str, secret: str, headers: Mapping[str, str], content: bytes, *, now: float
) -> IncomingRequest:
    """Check the signature and the age of a delivery; nothing of it was parsed before."""
    if kind == "github":
        mark = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
        given = headers.get("x-hub-signature-256", "").encode("latin-1")
        if not hmac.compare_digest(given, f"sha256={mark}".encode()):
            raise Rejection(401, "the signature is wrong")
        # The id is not signed, but the content is, so a copy is recognised by that.
        return IncomingRequest(key=f"github {mark}", event=headers.get("x-github-event", ""), content=content)
    name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not name or len(name) > 200 or not name.isprintable() or not at.isdecimal() or len(at) > 15:
        raise Rejection(401, "webhook-id and webhook-timestamp are missing")
    signed = b"%s.%s.%s" % (name.encode("latin-1"), at.encode(), content)
    mark64 = base64.b64encode(hmac.new(signing_key(secret), signed, hashlib.sha256).digest())
    marks = [each[3:].encode("latin-1") for each in headers.get("webhook-signature", "").split(" ")[:10]]
    if not any(hmac.compare_digest(each, mark64) for each in marks):
        raise Rejection(401, "the signature is wrong")
    if abs(now - int(at)) > WINDOW:
        raise Rejection(401, "it is too old, or from the future")
    return IncomingRequest(key=name, event=headers.get("webhook-event", ""), content=content)


def _settle(taken: asyncio.Future[bool], is_taken: bool) -> None:
    if not taken.done():
        taken.set_result(is_taken)
