"""The stream of changes: one listener of the engine's hub for all pages, and a bounded queue for each.

The latest events are kept for a moment, so that a page that comes back, or another tab that takes its place,
continues where it was: twelve tabs that read everything again would hold up the stream itself (525 ms instead
of 35). A page that reads too slowly loses events and gets `again`: read all that is shown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from errands import __version__
from errands.engine.engine import Engine
from errands.engine.live.hub import Change
from errands.frontends.tools.http_server import Receive, Scope, Send
from errands.frontends.web.call import Engines
from errands.frontends.web.callers import Caller
from errands.frontends.web.handlers.output import OutputReader, log_requests
from errands.frontends.web.handlers.rows import Rows, counts, daemon_facts, lanes
from errands.model.errors import ErrandsError
from errands.model.view import plain_value
from errands.ports.store import Query

BEAT = 15.0  # seconds
GATHER = 0.02  # seconds in which changes are gathered, so that a burst is one event
MOST_QUEUED = 1 << 18  # bytes of events that wait for a page
MOST_CHANGED = 300  # tasks in one event; for more, the page reads everything again
STALLED = 30.0  # seconds that a page may read nothing before its stream ends
LINGER = 15.0  # seconds that changes are listened to without a page, so that the next one can continue
HELD = 0.3  # seconds that the beginning of a word is held back, because it may be that of a secret
_LOG = logging.getLogger("errands.web")


def event(name: str, facts: Any, number: str = "") -> bytes:
    """Return an event as it is sent; with a number, a later stream can continue after it."""
    data = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    # JSON has no line breaks, but a reader may take others for one.
    data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {name}\ndata: ".encode() + data + b"\n\n"


def now() -> str:
    return str(plain_value(datetime.now(UTC)))


class _Recent:
    """The latest events for all pages, by number; only so many bytes of them are kept."""

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._last = 0
        self._size = 0
        self._frames: deque[bytes] = deque()

    @property
    def last(self) -> str:
        return f"{self._epoch}.{self._last}"

    def add(self, name: str, facts: Any) -> bytes:
        self._last += 1
        frame = event(name, facts, self.last)
        self._frames.append(frame)
        self._size += len(frame)
        while self._size > MOST_QUEUED:
            self._size -= len(self._frames.popleft())
        return frame

    def after(self, number: str) -> list[bytes] | None:
        """Return the events after one, or None if some of them are not kept."""
        epoch, _, place = number.rpartition(".")
        missed = self._last - int(place) if epoch == self._epoch and place.isdecimal() else -1
        if not 0 <= missed <= len(self._frames):
            return None
        return list(self._frames)[len(self._frames) - missed :]


class Streams:
    """`is_signed_in` says whether the key of a caller still counts."""

    def __init__(
        self, engine: Engine, engines: Engines, threads: Executor, is_signed_in: Callable[[Caller], bool]
    ) -> None:
        self._engine = engine
        self._engines = engines
        self._threads = threads
        self.is_signed_in = is_signed_in
        self._open: set[_Stream] = set()
        self._pump: asyncio.Task[None] | None = None
        self._recent = _Recent()
        self._linger: asyncio.TimerHandle | None = None
        self._counts: dict[str, int] | None = None
        self._is_live: bool | None = None

    async def open(self, caller: Caller, *, logs: str | None, after: str | None) -> Response:
        """Return the stream of a page, with the output of the runs that it asks for.

        `after` is the number of the last event that the page knows.
        """
        wanted = await self._read(lambda engine: log_requests(engine, logs or ""))
        first = await self._read(self._hello)
        stream = _Stream(self, caller, first, wanted, after=after or "")
        return _Events(stream)

    def _hello(self, engine: Engine) -> dict[str, Any]:
        return {
            "version": __version__,
            "now": now(),
            "daemon": daemon_facts(engine, is_live=engine.bell.is_answered()),
            "counts": counts(engine),
        }

    async def _read(self, question: Callable[[Engine], Any]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: question(self._engines.mine()))

    def add(self, stream: _Stream, after: str) -> tuple[str, list[bytes] | None]:
        """Let a stream have every event from now on; return the latest number, and those after `after`."""
        self._open.add(stream)
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._pump is None:
            self._recent = _Recent()
            self._pump = asyncio.create_task(self._listen())
        return self._recent.last, self._recent.after(after)

    def remove(self, stream: _Stream) -> None:
        self._open.discard(stream)
        if not self._open and self._linger is None:
            self._linger = asyncio.get_running_loop().call_later(LINGER, self._stop)

    def _stop(self) -> None:
        self._linger = None
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None

    def wake(self) -> None:
        """Make every stream check whether it is still allowed."""
        for each in self._open:
            each.wake()

    def close(self) -> None:
        self._stop()
        for each in list(self._open):
            each.end()

    async def read_output(self, reader: OutputReader, *, flush: bool) -> dict[str, Any] | None:
        found: dict[str, Any] | None = await self._read(lambda engine: reader.next(engine, flush=flush))
        return found

    async def _listen(self) -> None:
        """Pass changes on until the last stream has gone; a store that cannot be read is tried again."""
        while True:
            try:
                async with self._engine.changes() as changes:
                    async for change in changes:
                        await self._pass_on(change, changes.not_live_since is None)
                        await asyncio.sleep(GATHER)
            except Exception:  # noqa: BLE001  # the loop's edge: the pages must get later changes
                _LOG.exception("the stream of changes broke off, and starts again")
                self._send("again", {"now": now()})
                await asyncio.sleep(1)

    async def _pass_on(self, change: Change, is_live: bool) -> None:
        if is_live != self._is_live:
            self._is_live = is_live
            self._send("daemon", await self._read(lambda engine: daemon_facts(engine, is_live=is_live)))
        changed = change.tasks | change.grown
        if change.is_everything or len(changed) > MOST_CHANGED:
            self._send("again", {"now": now()})
        elif changed:
            rows, gone = await self._read(lambda engine: _rows(engine, tuple(changed)))
            if rows:
                self._send("rows", {"rows": rows})
            if gone:
                self._send("gone", {"ids": gone})
        if change.lanes or change.is_everything:
            self._send("lanes", await self._read(lanes))
        if change.tasks or change.is_everything:
            found = await self._read(counts)
            if found != self._counts:
                self._counts = found
                self._send("counts", found)
        for each in self._open:
            each.note_growth(None if change.is_everything else changed)

    def _send(self, name: str, facts: Any) -> None:
        frame = self._recent.add(name, facts)
        for each in self._open:
            each.put(frame)


def _rows(engine: Engine, ids: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[str]]:
    views = engine.list(Query(ids=ids))
    known = {view.id for view in views}
    return Rows(engine).all(views), [each for each in ids if each not in known]


class _Stream:
    """The stream of one page: its events, and the runs whose output it follows."""

    def __init__(
        self,
        streams: Streams,
        caller: Caller,
        first: dict[str, Any],
        logs: list[OutputReader],
        *,
        after: str = "",
    ) -> None:
        self._streams = streams
        self._caller = caller
        self._first = first
        self._after = after
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._logs = logs
        self._grown = set(logs)
        self._woken = asyncio.Event()
        self._is_over = False

    def put(self, frame: bytes) -> None:
        self._size += len(frame)
        if self._size > MOST_QUEUED:
            self._frames.clear()
            frame = event("again", {"now": now()})
            self._size = len(frame)
        self._frames.append(frame)
        self._woken.set()

    def note_growth(self, tasks: frozenset[str] | None) -> None:
        grown = {each for each in self._logs if tasks is None or each.task in tasks}
        if grown:
            self._grown |= grown
            self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        self._is_over = True
        self._woken.set()

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield the events until the page leaves, signs out, or the server ends."""
        loop = asyncio.get_running_loop()
        last, missed = self._streams.add(self, self._after)
        beat, flush = loop.time() + BEAT, False
        try:
            # A stream that continues keeps the number it knows until it has what it missed.
            hello = {**self._first, "resumed": missed is not None}
            yield event("hello", hello, last if missed is None else "")
            for frame in missed or ():
                yield frame
            while not self._is_over and self._streams.is_signed_in(self._caller):
                while self._frames:
                    frame = self._frames.popleft()
                    self._size -= len(frame)
                    yield frame
                async for frame in self._output(flush=flush):
                    yield frame
                if loop.time() >= beat:
                    beat = loop.time() + BEAT
                    yield event("beat", {"now": now()})
                holds = [each for each in self._logs if each.holds]
                flush = False
                if not self._frames and not self._grown:
                    due = min(beat, loop.time() + HELD) if holds else beat
                    try:
                        async with asyncio.timeout(max(0.0, due - loop.time())):
                            await self._woken.wait()
                    except TimeoutError:
                        flush = bool(holds)
                        self._grown |= set(holds)
                self._woken.clear()
        finally:
            self._streams.remove(self)

    async def _output(self, *, flush: bool) -> AsyncIterator[bytes]:
        grown, self._grown = self._grown, set()
        for reader in grown:
            try:
                found = await self._streams.read_output(reader, flush=flush)
            except ErrandsError:
                self._logs.remove(reader)  # cleared meanwhile, which an event says
                continue
            if found is not None:
                yield event("output", found)
                self._grown.add(reader)  # there may be more


class _Events(Response):
    """Sends the events of a stream; ends it when its page leaves or reads nothing for long."""

    media_type = "text/event-stream"

    def __init__(self, stream: _Stream) -> None:
        super().__init__(media_type=f"{self.media_type}; charset=utf-8", headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(self._leave(receive))
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            with suppress(TimeoutError):
                async for frame in self._stream.frames():
                    async with asyncio.timeout(STALLED):
                        await send({"type": "http.response.body", "body": frame, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()

    async def _leave(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.end()
