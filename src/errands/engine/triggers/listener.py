"""The listener: observes the event sources of all tasks, and records their signals.

It runs in a process of its own, so that nothing a source needs or does can burden the daemon. The signals of
an observation, its baseline and the time of the next run are one transaction: a crash loses no signal and
reports none twice. It starts no run and calls no model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

from errands.engine.approval.questions import ask_again, drift
from errands.engine.engine import Engine
from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.debounce import burst_end
from errands.engine.triggers.source_context import WatchContext, watched, watching_since
from errands.model.errors import Changed, ErrandsError, NotFound, Overrun, SourceError, StoreError
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.schedule.slot_record import Slot
from errands.model.task import Task
from errands.model.text.json_text import plain_text
from errands.model.trigger import On
from errands.model.view import plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import Observation, RunWatched, Source, SourceEvent

LINGER = 2.0  # seconds without a task to watch after which the listener ends
TICK = 30.0  # seconds between two checks for tasks to watch, without a ring
MOST_WAITING = 1000  # signals of a task that wait for a run
MOST_BODY = 32_000  # bytes of a signal that are kept
FIRST_BACKOFF = 1.0  # seconds
LONGEST_BACKOFF = 300.0
REPORTED = 3  # failures in a row after which the owner is notified
OWN = "made by the task itself"
_LOG = logging.getLogger("errands.listener")


class Listener:
    """`make` creates the source of a trigger; `run` runs the commands that tasks watch."""

    def __init__(self, engine: Engine, make: Callable[[On, WatchContext], Source], run: RunWatched) -> None:
        self._engine = engine
        self._store = engine.store
        self._make = make
        self._run = run
        self._rung = asyncio.Event()
        self._contexts: dict[str, WatchContext] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}

    def ring(self) -> None:
        """Wake up, because tasks or their runs have changed."""
        self._rung.set()
        for context in self._contexts.values():
            context.ring()

    async def run(self) -> None:
        """Watch the source of every task that has one, until there has been none for a while."""
        while True:
            self._rung.clear()
            wanted = set(self._store.watched_tasks())
            gone = {task_id for task_id, each in self._watching.items() if each.done()}
            for task_id in (self._watching.keys() - wanted) | gone:
                await self._stop(task_id)
            for task_id in wanted - self._watching.keys():
                self._start(task_id)
            if not await self._wait_for_ring(TICK if wanted else LINGER) and not wanted:
                return

    async def close(self) -> None:
        for task_id in list(self._watching):
            await self._stop(task_id)

    async def _wait_for_ring(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
                return True
        except TimeoutError:
            return False

    def _start(self, task_id: str) -> None:
        task = self._store.task(task_id)
        context = WatchContext(self._engine, task, watching_since(self._engine, task), self._run)
        self._contexts[task_id] = context
        self._watching[task_id] = asyncio.get_running_loop().create_task(self._watch(task, context))

    async def _stop(self, task_id: str) -> None:
        watching = self._watching.pop(task_id)
        del self._contexts[task_id]
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, task: Task, context: WatchContext) -> None:
        """Observe a source until it is cancelled; a failure is recorded, and it is opened again later."""
        while True:
            try:
                await self._observe(task, context)
                pause = 0.0
            except NotFound:
                return  # it was cleared; the next round notices
            except StoreError as error:
                _LOG.error("the signals of %s cannot be written: %s", task.id, error)
                pause = FIRST_BACKOFF
            except Exception as error:  # noqa: BLE001  # a source may fail in any way, and must not harm others
                if not isinstance(error, ErrandsError | OSError):
                    _LOG.exception("the source of %s failed", task.id)
                pause = self._record_failure(task, error)
            await asyncio.sleep(pause)

    async def _observe(self, task: Task, context: WatchContext) -> None:
        watch = self._store.watch(task.id)
        context.since = watching_since(self._engine, task)
        source = self._make(watched(task), context)
        is_first = True
        try:
            await source.open(None if watch is None else watch.baseline)
            # Closed as soon as something is wrong, so that a webhook caller gets an error.
            async with aclosing(source.observe()) as observations:  # type: ignore[type-var]
                async for observation in observations:
                    if not is_first and self._was_unpaused(task):
                        return
                    self._record(task, observation)
                    is_first = False
        finally:
            await source.close()

    def _was_unpaused(self, task: Task) -> bool:
        """Return whether a task was paused and is active again, so that the source starts afresh."""
        watch = self._store.watch(task.id)
        return watch is not None and watch.health == "new"

    def _record(self, task: Task, observation: Observation) -> None:
        """Write an observation: its signals, its baseline, and when a run follows."""
        now, store = self._engine.clock.now(), self._store
        trigger = watched(task)
        events = observation.events
        foreign = [each for each in events if not (each.is_own or task.id in each.chain)]
        has_new = False
        with store:
            watch = store.watch(task.id)
            if watch is None or store.task(task.id).state != "active":
                raise NotFound(f"task {task.id} is no longer active")
            if foreign and store.waiting_signals(task.id)[0] + len(foreign) > MOST_WAITING:
                raise Overrun(f"{MOST_WAITING} signals wait for a run; more are accepted when it has started")
            for each in events:
                has_new |= self._add_signal(task, trigger, each, leads_to_run=each in foreign)
            if watch.failures >= REPORTED:
                self._notify(task, "active", "its watch works again", f"watch well at {now}")
            is_broken = watch.broken_until is not None
            seen = evolve(
                watch,
                baseline=observation.baseline,
                checked_at=now,
                health="broken" if is_broken else "well",
                failures=0,
                error=watch.error if is_broken else None,
            )
            store.save_watch(seen, has_new_baseline=watch.baseline != observation.baseline)
            if has_new and not is_broken:
                _, first, last = store.waiting_signals(task.id)
                assert first is not None
                assert last is not None
                store.set_next_fire(task.id, burst_end(trigger, first=first, last=last))
        (self._engine.bell.ring_about if has_new else self._engine.bell.announce)([task.id])

    def _add_signal(self, task: Task, trigger: On, event: SourceEvent, *, leads_to_run: bool) -> bool:
        """Store a signal, and record it as skipped if it leads to no run; return whether it does."""
        now, store = self._engine.clock.now(), self._store
        body = _body(trigger, event, plain_value(now))
        at = store.add_signal(task.id, body, now=now, key=event.key, run=None if leads_to_run else 0)
        if at is not None and not leads_to_run:
            reason = OWN if event.is_own else f"{OWN}, by way of {', '.join(event.chain)}"
            slot = Slot(slot=at, until=at, count=1, outcome="skipped", at=now, reason=reason)
            store.add_slots(task.id, [slot])
        return at is not None and leads_to_run

    def _record_failure(self, task: Task, error: Exception) -> float:
        """Write that an observation failed; return the seconds until the next."""
        now, store = self._engine.clock.now(), self._store
        said = (str(error) or type(error).__name__)[:1000]
        try:
            with store:
                watch = store.watch(task.id)
                if watch is None or store.task(task.id).state != "active":
                    return FIRST_BACKOFF
                failures = watch.failures + 1
                health = "broken" if isinstance(error, Overrun) else "failing"
                seen = evolve(watch, checked_at=now, health=health, failures=failures, error=said)
                store.save_watch(seen, has_new_baseline=False)
                if failures == REPORTED:
                    self._notify(task, "failing", f"its watch fails: {said}", f"watch failing at {now}")
                if isinstance(error, Changed):
                    self._ask_again(task, error)
        except StoreError as trouble:
            _LOG.error("the health of %s cannot be written: %s", task.id, trouble)
            return FIRST_BACKOFF
        self._engine.bell.announce([task.id])
        if isinstance(error, SourceError) and error.after is not None:
            return error.after
        return min(FIRST_BACKOFF * 2.0 ** min(failures - 1, 12), LONGEST_BACKOFF)

    def _ask_again(self, task: Task, error: Changed) -> None:
        """Ask again about a watched command that is no longer what was approved."""
        latest, now = self._store.view(task.id).latest, self._engine.clock.now()
        if latest.number and latest.completed_at is None:
            return  # its run is asked about itself, or ends first
        task = self._store.task(task.id)
        fresh, _ = drift(task)
        number = latest.number or 1
        run = Run(task_id=task.id, number=number, cause="event", state="pending", attempt=0, created_at=now)
        within = self._engine.config.approval.expires
        ask_again(self._store, task, run, fresh, error.said, now=now, within=within)
        self._engine.bell.ring_about([task.id])

    def _notify(self, task: Task, state: str, said: str, event: str) -> None:
        if task.notify == "never":
            return
        run_id = self._store.view(task.id).latest.id
        enqueue(self._store, task, run_id, event, state=state, error=said, now=self._engine.clock.now())
        self._engine.bell.ring_about([task.id])


def _body(trigger: On, event: SourceEvent, at: str) -> str:
    """Return a signal as it is stored; one that is too long loses its facts, and says so."""
    known = {
        "text": event.text[:1000],
        "source": trigger.source,
        "subject": trigger.subject[:1000],
        "at": at,
        **({"chain": list(event.chain)} if event.chain else {}),
    }
    whole = plain_text({**known, **event.facts, **known})
    if len(whole) <= MOST_BODY:
        return whole
    return plain_text({**known, "truncated": True, "beginning": whole[: MOST_BODY // 2]})
