"""The hub: receives every change over one line to the daemon, and passes it on to all listeners of a process.

Without a daemon it asks the store several times a second whether anything changed, and switches to the daemon
when one starts. With one it checks rarely whether a change was not reported: only then is everything read
again. A report covers all that was written before it, so a change whose ring got lost can hide behind those
of others; everything is read a minute after the first one, too.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, field
from datetime import datetime
from weakref import WeakKeyDictionary

from errands.engine.bell_client import ALL, LANE, MANY, BellClient
from errands.engine.live.growth import PAUSE, Growth
from errands.model.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from errands.engine.core import EngineCore

POLL = 0.1  # seconds between two questions to the store without a daemon
LOOK = 2.0  # the same, with one
GRACE = 0.5  # seconds within which a change that was seen in the store is usually reported
RESYNC = 60.0  # seconds after a report until everything is read, in case it hid a lost one
CONNECT = 0.25  # seconds between two attempts to reach a daemon
QUIET = 8.0  # seconds of silence after which the daemon is asked whether it is still there
DEAD = 16.0  # seconds of silence after which it is not
FIRST = 1.0  # seconds to wait for the first answer of a daemon before listeners read everything
_LOG = logging.getLogger("errands.hub")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What changed since the last one, by id.

    `is_everything` means that something may have been missed: read again whatever is shown.
    """

    tasks: frozenset[str] = frozenset()  # that were added, changed or removed
    grown: frozenset[str] = frozenset()  # that have new output or progress
    lanes: frozenset[str] = frozenset()  # whose widths were changed
    is_everything: bool = False


@dataclass(slots=True)
class _Unread:
    tasks: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)
    lanes: set[str] = field(default_factory=set)
    is_everything: bool = False

    def __bool__(self) -> bool:
        return self.is_everything or bool(self.tasks or self.grown or self.lanes)

    def add(self, other: _Unread) -> None:
        self.tasks |= other.tasks
        self.grown |= other.grown
        self.lanes |= other.lanes
        self.is_everything = self.is_everything or other.is_everything

    def change(self) -> Change:
        return Change(
            tasks=frozenset(self.tasks),
            grown=frozenset(self.grown),
            lanes=frozenset(self.lanes),
            is_everything=self.is_everything,
        )


class Changes:
    """One listener of a hub: an async context manager and iterator, which never ends by itself.

    The first change comes at once and is everything. A listener that reads slowly gets more at a time, and
    never a backlog. It hears of the output of all tasks, or of those that are in `output_of` by then.
    """

    def __init__(self, hub: ChangeHub, output_of: Callable[[], Collection[str]] | None = None) -> None:
        self._hub = hub
        self.output_of = output_of
        self._unread = _Unread()
        self._failure: Exception | None = None
        self._has_news = asyncio.Event()

    @property
    def not_live_since(self) -> datetime | None:
        """Return since when no daemon reports changes; None while one does."""
        return self._hub.not_live_since

    async def __aenter__(self) -> Changes:
        self._hub.add(self)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._hub.remove(self)

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> Change:
        await self._has_news.wait()
        if self._failure is not None:
            raise self._failure
        self._has_news.clear()
        unread, self._unread = self._unread, _Unread()
        return unread.change()

    def fail(self, error: Exception) -> None:
        """Let the listener raise what ended the hub."""
        self._failure = error
        self._has_news.set()

    def put(self, news: _Unread) -> None:
        self._unread.add(news)
        self._has_news.set()


def listen(core: EngineCore, output_of: Callable[[], Collection[str]] | None = None) -> Changes:
    """Return another listener of the hub of an engine, which is created when it is first needed."""
    if core not in _HUBS:
        _HUBS[core] = ChangeHub(core)
    return Changes(_HUBS[core], output_of)


class ChangeHub:
    def __init__(self, core: EngineCore) -> None:
        self._store, self._clock = core.store, core.clock  # not the engine: its hub goes with it
        self._bell = BellClient(core.home.bell)
        self._growth = Growth(core.home, core.store)
        self._listeners: list[Changes] = []
        self._timer: asyncio.TimerHandle | None = None  # the next turn, unless the line wakes us before
        self._handle = -1
        self._is_settled = False  # whether listeners were asked to read everything for the first time
        self.not_live_since: datetime | None = core.clock.now()

    def add(self, listener: Changes) -> None:
        if self._listeners and self._is_settled:
            listener.put(_Unread(is_everything=True))
        self._listeners.append(listener)
        if self._timer is None:
            self._begin()

    def remove(self, listener: Changes) -> None:
        self._listeners.remove(listener)
        if not self._listeners:
            self._end()

    def _begin(self) -> None:
        """Look for changes until the last listener has gone."""
        self._loop = asyncio.get_running_loop()
        self._is_settled = False
        self._began = self._loop.time()
        self._next_look = self._next_growth = self._next_call = 0.0
        self._heard = self._asked = self._began
        self._version: tuple[int, int] | None = None  # the latest that listeners know of
        self._is_reported = self._is_doubted = False  # whether a later one was reported, or was seen and not
        self._next_resync = math.inf
        self._growth.is_outdated = True
        self.not_live_since = self._clock.now()
        self._timer = self._loop.call_later(0, self._turn)

    def _end(self) -> None:
        self._hang_up()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _turn(self) -> None:
        assert self._timer is not None
        self._timer.cancel()
        try:
            pause = self._pass_on(self._loop.time())
        except Exception as error:  # noqa: BLE001  # the loop's edge: listeners raise it
            _LOG.exception("the hub stops")
            self._end()
            for each in self._listeners:
                each.fail(error)
        else:
            self._timer = self._loop.call_later(pause, self._turn)

    def _pass_on(self, now: float) -> float:
        """Pass on what is new; return the seconds until the next turn, unless the line wakes us."""
        news = _Unread()
        self._hear(now, news)
        try:
            self._look(now, news)
            self._look_for_growth(now, news)
        except StoreError as error:
            _LOG.warning("changes cannot be read: %s", error)
        if not self._is_settled and (self._next_call > now or now > self._began + FIRST or not self._is_away):
            self._is_settled = news.is_everything = True
        if news.is_everything or now >= self._next_resync:
            self._next_resync, news.is_everything = math.inf, True
        if news and self._is_settled:
            self._growth.is_outdated = self._growth.is_outdated or bool(news.tasks) or news.is_everything
            for each in self._listeners:
                each.put(news)
        due = [self._next_look, self._next_resync]
        due.append(self._asked + QUIET if self._handle >= 0 else self._next_call)
        if self._growth.pause is not None or self._growth.is_outdated:
            # While many tasks change, the next report wakes us anyway: a turn costs more than what it does.
            due.append(self._next_growth + (PAUSE if len(news.tasks) >= MANY else 0.0))
        return max(0.0, min(due) - self._loop.time())

    @property
    def _is_away(self) -> bool:
        return self.not_live_since is not None

    # The line to the daemon.

    def _hear(self, now: float, news: _Unread) -> None:
        if self._handle < 0 and now >= self._next_call:
            self._call(now)
        if self._handle < 0:
            return
        if lines := self._bell.read():
            self._heard = self._asked = now
            for line in lines:
                self._understand(line, news)
        if self._bell.fileno() < 0 or now > self._heard + DEAD:
            self._hang_up()
            self._next_call = now + CONNECT
            if not self._is_away:
                self.not_live_since = self._clock.now()
                news.is_everything = True
        elif now >= self._asked + QUIET:
            self._asked = now
            self._bell.ping()

    def _understand(self, line: str, news: _Unread) -> None:
        word, *names = line.split()
        self._is_reported = self._is_reported or word in ("watching", "changed")
        if word == "watching":  # what happened before was announced to others
            self.not_live_since = None
            news.is_everything = True
        elif word == "changed":
            news.is_everything = news.is_everything or ALL in names
            news.lanes.update(each[len(LANE) :] for each in names if each.startswith(LANE))
            news.tasks.update(each for each in names if each != ALL and not each.startswith(LANE))

    def _call(self, now: float) -> None:
        if not self._bell.watch():
            self._next_call = now + CONNECT
            return
        self._heard = self._asked = now
        self._handle = self._bell.fileno()
        self._loop.add_reader(self._handle, self._turn)

    def _hang_up(self) -> None:
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            self._handle = -1
        self._bell.close()

    # What no ring reports.

    def _look(self, now: float, news: _Unread) -> None:
        if self._is_reported:
            self._version = self._store.data_version()
            self._is_reported = self._is_doubted = False
            self._next_resync = min(self._next_resync, now + RESYNC)
        elif now >= self._next_look:
            self._look_for_unreported(now, news)

    def _look_for_unreported(self, now: float, news: _Unread) -> None:
        self._next_look = now + (POLL if self._is_away else LOOK)
        version = self._store.data_version()
        if version == self._version:
            return
        if self._is_away or self._version is None:
            news.is_everything = news.is_everything or self._version is not None
            self._version = version
        elif not self._is_doubted:  # its report may be on the way
            self._is_doubted = True
            self._next_look = now + GRACE
        else:
            self._version, self._is_doubted = version, False
            news.is_everything = True

    def _look_for_growth(self, now: float, news: _Unread) -> None:
        if now < self._next_growth:
            return
        if self._growth.is_outdated or self._growth.pause is not None:
            news.grown |= self._growth.look(self._output_of())
            self._next_growth = now + (self._growth.pause or PAUSE)

    def _output_of(self) -> set[str] | None:
        """Return the tasks whose output matters to anyone; None for all."""
        wanted = set[str]()
        for each in self._listeners:
            if each.output_of is None:
                return None
            wanted.update(each.output_of())
        return wanted


_HUBS: WeakKeyDictionary[EngineCore, ChangeHub] = WeakKeyDictionary()
