"""The loops: everything the daemon does, in turns.

A turn is one transaction: it records what ended, releases due runs into their lanes and claims as many as
there is room for. Processes are started and stopped, and watchers notified, only after its commit. Rings and
reports request a turn; many requests in a row cost one turn.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Sequence
from datetime import datetime

from errands.config import Config
from errands.engine.approval.questions import expire
from errands.engine.daemon.bell_server import BellServer
from errands.engine.daemon.child_service import (
    LISTENER_DELAY,
    LONGEST_PAUSE,
    SENDER_DELAY,
    ChildService,
    events_watched,
    notices_due,
    spawner,
)
from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.daemon.janitor import Janitor
from errands.engine.daemon.launch import LaunchBuilder
from errands.engine.daemon.outcome import OutcomeWriter
from errands.engine.daemon.supervisor import Supervisor
from errands.engine.triggers.scheduler import Scheduler
from errands.model.errors import HomeError, StoreError
from errands.model.run import task_of
from errands.ports.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.output import OutputPort
    from errands.ports.runner import Runner
    from errands.ports.store import Store

RETRY = 1.0  # seconds until a turn that could not be written is tried again
LAZY = 0.05  # seconds within which the pid of a started run is written
SILENCE = 1.0  # seconds between two checks for silent runs
SWEEP = 600.0  # seconds between two sweeps of the janitor
# Without a host process the fuse of this host burns, so it is missing for a few seconds at most.
_PAUSES = {"run_host": 4.0}
_LOG = logging.getLogger("errands.loops")


class Loops:
    """Run the daemon's work until `close`; the caller of `open` must hold the lock of the home."""

    def __init__(
        self,
        *,
        store: Store,
        runner: Runner,
        home: Home,
        config: Config,
        clock: Clock,
        output: OutputPort,
        kept: Sequence[tuple[str, ...]] = (),
        is_after_reboot: bool = False,
    ) -> None:
        self._store = store
        self._runner = runner
        self._home = home
        self._clock = clock
        self._config = config
        self._dispatcher = Dispatcher(store, config)
        self._supervisor = Supervisor(
            store,
            runner,
            self._dispatcher,
            LaunchBuilder(store, home, config),
            OutcomeWriter(store, output, home, backoff=config.schedules.backoff),
            home,
            clock=clock,
            wake=self.wake,
            wake_later=self._wake_later,
            approval_time=config.approval.expires,
        )
        self._scheduler = Scheduler(store)
        self._sender = ChildService(
            "sender",
            spawner(home, "run_sender"),
            lambda: notices_due(store, clock),
            delay=SENDER_DELAY,
        )
        self._listener = ChildService(
            "listener",
            spawner(home, "run_listener"),
            lambda: events_watched(store),
            delay=LISTENER_DELAY,
        )
        permanent = [
            ChildService(each[0], spawner(home, *each), longest_pause=_PAUSES.get(each[0], LONGEST_PAUSE))
            for each in kept
        ]
        self._children = [self._sender, self._listener, *permanent]
        self._bell_server = BellServer(home.bell, self.look, self._expect)
        self._janitor = Janitor(store, home, config, clock, removed=self._announce_removed)
        self._background: list[asyncio.Task[None]] = []
        self._due: asyncio.TimerHandle | None = None
        self._needs_look = True
        self._named: set[str] | None = None  # whose runs to look at; None: all
        self._later: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._is_turn_queued = False
        self._is_closed = False
        self._is_after_reboot = is_after_reboot
        self.failure: asyncio.Future[None] | None = None

    async def open(self) -> None:
        try:
            await self._open()
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self.failure = loop.create_future()
        self._identity = _identity(self._home)
        os.makedirs(self._home.runs, mode=0o700, exist_ok=True)
        await self._runner.open()
        self._recover()
        self._bell_server.open()
        self._background = [
            loop.create_task(self._tick()),
            loop.create_task(self._sweep()),
        ]
        for child in self._children:
            child.open()
        self._turn()

    async def close(self) -> None:
        """Stop the loops; the processes of live runs continue, and the next daemon finds them."""
        self._is_closed = True
        for timer in (self._due, self._later, self._silence):
            if timer is not None:
                timer.cancel()
        for each in self._background:
            each.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        self._background = []
        for child in self._children:
            child.close()
        self._bell_server.close()
        await self._runner.close()
        self._store.close()

    def look(self, task_ids: Collection[str] = ()) -> None:
        """Request a turn that first looks at what other processes wrote: about these tasks, or about any."""
        self._needs_look = True
        if not task_ids:
            self._named = None
        elif self._named is not None:
            self._named.update(task_ids)
        self.wake()

    def _expect(self, lanes: list[str]) -> None:
        """Note that lanes have new runs; while they are full there is nothing to do."""
        self._dispatcher.expect(lanes)
        if self._dispatcher.has_room:
            self.wake()

    def wake(self) -> None:
        """Request a turn soon; repeated requests are one."""
        if not self._is_turn_queued and not self._is_closed:
            self._is_turn_queued = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _wake_later(self) -> None:
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(LAZY, self.wake)

    def _turn(self) -> None:
        self._is_turn_queued = False
        if self._is_closed:
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        try:
            self._check_home()
            now = self._clock.now()
            if self._needs_look:
                self._process_due(now)
            # Open a transaction only when there is something to write: reading blocks no other process.
            if self._supervisor.has_reports or self._dispatcher.has_room:
                self._record_and_claim(now)
        except StoreError as error:
            # The reports are kept, and the turn is repeated until the store can be written.
            _LOG.error("%s", error)
            asyncio.get_running_loop().call_later(RETRY, self.look)
        except Exception as error:  # noqa: BLE001  # the loop's edge: any error ends the loops, visibly
            self._fail(error)

    def _process_due(self, now: datetime) -> None:
        """Do what is due by now, carry out requests, and sleep until the next due time."""
        due = self._store.next_due("runs")
        if due is not None and due <= now:
            with self._store:
                released = self._store.release_due(now=now)
            self._bell_server.notify(released, ended=())
            due = self._store.next_due("runs")
        expiry = self._store.next_due("questions")
        if expiry is not None and expiry <= now:
            with self._store:
                expired = expire(self._store, now=now)
            self._bell_server.notify(expired, ended=expired)
            self._sender.ring()
            expiry = self._store.next_due("questions")
        due = min(filter(None, (due, expiry, self._fire_schedules(now))), default=None)
        self._dispatcher.look()
        self._runner.look(self._named)
        self._named = set()
        self._supervisor.apply_stop_requests()
        self._supervisor.apply_pause_requests()
        self._sender.ring()
        self._listener.ring()
        self._sleep_until(due, now)
        self._needs_look = False

    def _fire_schedules(self, now: datetime) -> datetime | None:
        """Fire the schedules that are due; return when the next one is."""
        if self._scheduler.clock_went_back(now, self._clock.monotonic()):
            with self._store:
                self._scheduler.rewind(now)
        due = self._store.next_due("schedules")
        if due is not None and due <= now:
            with self._store:
                changed = self._scheduler.fire_due(now)
            self._bell_server.notify(changed, ended=())
            due = self._store.next_due("schedules")
        return due

    def _record_and_claim(self, now: datetime) -> None:
        had_reports = self._supervisor.has_reports
        with self._store:
            runs, effects = self._supervisor.record(now=now)
            revived = self._supervisor.revive()
            if effects.released:
                self._dispatcher.look()
            # The runs that end in this turn make room for others in the same turn.
            for run_id in runs:
                self._dispatcher.free(run_id)
            given = self._dispatcher.give_back()
            claimed = self._dispatcher.claim(now=now)
        self._supervisor.forget(runs, [run.id for _, run in revived])
        for task, run in (*revived, *claimed):
            self._supervisor.start(task, run)
        if claimed and self._dispatcher.has_room:  # they take no slot here, so more are ready
            self.wake()
        asked = self._dispatcher.asked()
        changed = [
            *effects.ended,
            *effects.changed,
            *effects.released,
            *asked,
            *(task.id for task, _ in claimed),
            *(task_of(each)[0] for each in given),
        ]
        self._bell_server.notify(changed, ended=effects.ended)
        if had_reports and not changed:  # the pid of a run, say
            self._bell_server.announce(())
        if effects.needs_look:
            self.look()
        if effects.ended or effects.changed or asked:
            self._sender.ring()
            self._listener.ring()
        self._watch_for_silence()

    def _sleep_until(self, due: datetime | None, now: datetime) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if due is not None:
            # At most a tick, so that a changed clock cannot make us oversleep.
            wait = min((due - now).total_seconds(), self._config.daemon.tick.total_seconds())
            self._due = asyncio.get_running_loop().call_later(max(0.0, wait), self.look)

    def _recover(self) -> None:
        """Find out what became of every run that an earlier daemon left running."""
        again = []
        with self._store:
            running, damaged = self._store.running()
            for run_id in damaged:
                _LOG.error("run %s cannot be watched, its record is damaged; see `errands doctor`", run_id)
            for task, run in running:
                found = self._supervisor.recover(task, run, is_after_reboot=self._is_after_reboot)
                if found is not None:
                    again.append(found)
        for task, run in again:
            self._supervisor.start(task, run)

    def _watch_for_silence(self) -> None:
        if self._silence is None and self._supervisor.watches_for_silence:
            self._silence = asyncio.get_running_loop().call_later(SILENCE, self._report_silence)

    def _report_silence(self) -> None:
        self._silence = None
        now, monotonic = self._clock.now(), self._clock.monotonic()
        try:
            with self._store:
                silent = self._supervisor.report_silence(now=now, monotonic=monotonic)
            self._bell_server.notify(silent, ended=())
            if silent:
                self._sender.ring()
        except StoreError as error:
            _LOG.error("silence could not be reported yet: %s", error)
        self._watch_for_silence()

    async def _tick(self) -> None:
        """Look at the store now and then, in case a ring was lost."""
        while True:
            await asyncio.sleep(self._config.daemon.tick.total_seconds())
            self.look()

    async def _sweep(self) -> None:
        is_first = True
        while True:
            try:
                while await self._janitor.sweep():
                    pass
                self._janitor.drop_sessions()
                if is_first:  # only a daemon that was killed leaves directories behind
                    await self._janitor.sweep_orphans()
                is_first = False
            except (StoreError, OSError) as error:
                _LOG.error("the janitor failed: %s", error)
            await asyncio.sleep(SWEEP)

    def _announce_removed(self, task_ids: Sequence[str]) -> None:
        self._bell_server.notify(task_ids, ended=())

    def _check_home(self) -> None:
        if _identity(self._home) != self._identity:
            raise HomeError(
                f"{self._home.store} was removed or replaced while it was in use; nothing more is started"
            )

    def _fail(self, error: Exception) -> None:
        """Stop for good, and close the bell, so that everything that waits notices."""
        _LOG.error("the loops stop: %s", error, exc_info=not isinstance(error, HomeError))
        self._is_closed = True
        for each in self._background:
            each.cancel()
        self._bell_server.close()
        if self.failure is not None and not self.failure.done():
            self.failure.set_exception(error)


def _identity(home: Home) -> tuple[int, int]:
    try:
        facts = os.stat(home.store)
    except OSError:
        return (0, 0)
    return (facts.st_dev, facts.st_ino)
