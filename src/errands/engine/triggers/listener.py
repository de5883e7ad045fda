"""The listener: looks at the sources of all watches, and writes down what they signal.

It runs in a process of its own, so that nothing a source needs or does can weigh on the daemon. What a look
found, what is to be remembered of it and when a run is to come of it are one transaction: whoever dies, no
signal is lost and none is told twice. It starts no run, and asks no model anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

from errands.engine.approval.questions import ask_again
from errands.engine.engine import Engine
from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.debounce import burst_end
from errands.engine.triggers.source_context import WatchContext, watched, watching_since
from errands.judge.evidence.evidence import refreshed
from errands.model.approval import evidence_of
from errands.model.errors import Changed, ErrandsError, NotFound, Overrun, SourceError, StoreError
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.schedule.slot_record import Slot
from errands.model.schedule.watch import Watch
from errands.model.task import Task
from errands.model.text.json_text import plain_text
from errands.model.trigger import On
from errands.model.view import plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import Observation, Source, SourceEvent

LINGER = 2.0  # seconds without a watch after which the listener ends
TICK = 30.0  # seconds between two looks for watches, if nobody rings
MOST_WAITING = 1000  # signals of a watch that wait for a run
MOST_BODY = 32_000  # bytes of a signal that are kept
FIRST_BACKOFF = 1.0  # seconds
LONGEST_BACKOFF = 300.0
TOLD = 3  # looks in a row that fail before the owner is told
OWN = "made by the task itself"
_LOG = logging.getLogger("errands.listener")


class Listener:
    """`make` gives the source of a trigger."""

    def __init__(self, engine: Engine, make: Callable[[On, WatchContext], Source]) -> None:
        self._engine = engine
        self._store = engine.store
        self._make = make
        self._rung = asyncio.Event()
        self._grounds: dict[str, WatchContext] = {}
        self._attending: dict[str, asyncio.Task[None]] = {}

    def ring(self) -> None:
        """Say that tasks, or runs of theirs, have changed."""
        self._rung.set()
        for context in self._grounds.values():
            context.ring()

    async def run(self) -> None:
        """Attend to every watch, until there has been none for a while."""
        while True:
            self._rung.clear()
            wanted = set(self._store.watched_tasks())
            gone = {task_id for task_id, each in self._attending.items() if each.done()}
            for task_id in (self._attending.keys() - wanted) | gone:
                await self._leave(task_id)
            for task_id in wanted - self._attending.keys():
                self._begin(task_id)
            if not await self._rest(TICK if wanted else LINGER) and not wanted:
                return

    async def close(self) -> None:
        for task_id in list(self._attending):
            await self._leave(task_id)

    async def _rest(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
                return True
        except TimeoutError:
            return False

    def _begin(self, task_id: str) -> None:
        task = self._store.task(task_id)
        context = WatchContext(self._engine, task, watching_since(self._engine, task))
        self._grounds[task_id] = context
        self._attending[task_id] = asyncio.get_running_loop().create_task(self._attend(task, context))

    async def _leave(self, task_id: str) -> None:
        attending = self._attending.pop(task_id)
        del self._grounds[task_id]
        attending.cancel()
        await asyncio.gather(attending, return_exceptions=True)

    async def _attend(self, task: Task, context: WatchContext) -> None:
        """Look at a source again and again; whatever is wrong with it is written down, and tried again."""
        while True:
            try:
                await self._look(task, context)
                pause = 0.0
            except NotFound:
                return  # it was cleared; the next round sees it
            except StoreError as error:
                _LOG.error("what %s heard cannot be written: %s", task.id, error)
                pause = FIRST_BACKOFF
            except Exception as error:  # noqa: BLE001  # a source may fail in any way, and harms no other
                if not isinstance(error, ErrandsError | OSError):
                    _LOG.exception("the source of %s failed", task.id)
                pause = self._fail(task, error)
            await asyncio.sleep(pause)

    async def _look(self, task: Task, context: WatchContext) -> None:
        watch = self._store.watch(task.id)
        context.since = watching_since(self._engine, task)
        source = self._make(watched(task), context)
        is_first = True
        try:
            await source.open(None if watch is None else watch.baseline)
            # Closed as soon as something is wrong, so that a source which is waited for can say no.
            async with aclosing(source.observe()) as looks:  # type: ignore[type-var]
                async for look in looks:
                    if not is_first and self._is_renewed(task):
                        return
                    self._note(task, look)
                    is_first = False
        finally:
            await source.close()

    def _is_renewed(self, task: Task) -> bool:
        """Tell whether a task was paused and listens again, so that all before is forgotten."""
        watch = self._store.watch(task.id)
        return watch is not None and watch.health == "new"

    def _note(self, task: Task, look: Observation) -> None:
        """Write down a look: signals, what to remember, and when a run comes of it."""
        now, store = self._engine.clock.now(), self._store
        trigger = watched(task)
        heard = [each for each in look.events if not (each.is_own or task.id in each.chain)]
        is_news = False
        with store:
            watch = store.watch(task.id)
            if watch is None or store.task(task.id).state != "active":
                raise NotFound(f"task {task.id} does not listen any more")
            if heard and store.waiting_signals(task.id)[0] + len(heard) > MOST_WAITING:
                raise Overrun(f"{MOST_WAITING} signals wait for a run; more are heard when it has begun")
            for each in look.events:
                is_news |= self._keep(task, trigger, each, is_heard=each in heard)
            self._tell_of_recovery(task, watch)
            is_broken = watch.broken_until is not None
            seen = evolve(
                watch,
                baseline=look.baseline,
                checked_at=now,
                health="broken" if is_broken else "well",
                failures=0,
                error=watch.error if is_broken else None,
            )
            if watch.baseline == look.baseline:
                store.save_watch(seen, has_new_baseline=False)
            else:
                store.save_watch(seen)
            if is_news and not is_broken:
                _, first, last = store.waiting_signals(task.id)
                assert first is not None
                assert last is not None
                store.set_next_fire(task.id, burst_end(trigger, first=first, last=last))
        if is_news:
            self._engine.bell.ring()

    def _keep(self, task: Task, trigger: On, event: SourceEvent, *, is_heard: bool) -> bool:
        """Keep a signal, or the record that none came of it; tell whether a run shall come of it."""
        now, store = self._engine.clock.now(), self._store
        body = _body(trigger, event, plain_value(now))
        at = store.add_signal(task.id, body, now=now, key=event.key, run=None if is_heard else 0)
        if at is not None and not is_heard:
            reason = OWN if event.is_own else f"{OWN}, by way of {', '.join(event.chain)}"
            slot = Slot(slot=at, until=at, count=1, outcome="skipped", at=now, reason=reason)
            store.add_slots(task.id, [slot])
        return at is not None and is_heard

    def _fail(self, task: Task, error: Exception) -> float:
        """Write down that a look failed; give the seconds until the next."""
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
                if failures == TOLD:
                    self._tell(task, "failing", f"its watch fails: {said}", f"watch failing at {now}")
                if isinstance(error, Changed):
                    self._ask_again(task, error)
        except StoreError as trouble:
            _LOG.error("the health of %s cannot be written: %s", task.id, trouble)
            return FIRST_BACKOFF
        if isinstance(error, SourceError) and error.after is not None:
            return error.after
        return min(FIRST_BACKOFF * 2.0 ** min(failures - 1, 12), LONGEST_BACKOFF)

    def _ask_again(self, task: Task, error: Changed) -> None:
        """Ask a person about a command that is looked at and is no longer what was approved."""
        latest, now = self._store.view(task.id).latest, self._engine.clock.now()
        if latest.number and latest.completed_at is None:
            return  # its own run is asked about, or ends first
        task = self._store.task(task.id)
        evidence = evidence_of(task)
        fresh = None if evidence is None else refreshed(evidence, task.action.cwd)
        run = Run(
            task_id=task.id,
            number=latest.number or 1,
            cause="event",
            state="pending",
            attempt=0,
            created_at=now,
        )
        within = self._engine.config.approval.expires
        ask_again(self._store, task, run, fresh, error.said, now=now, within=within)
        self._engine.bell.ring()

    def _tell_of_recovery(self, task: Task, watch: Watch) -> None:
        if watch.failures >= TOLD:
            now = self._engine.clock.now()
            self._tell(task, "active", "its watch is well again", f"watch well at {now}")

    def _tell(self, task: Task, state: str, said: str, event: str) -> None:
        if task.notify == "never":
            return
        run_id = self._store.view(task.id).latest.id
        enqueue(self._store, task, run_id, event, state=state, error=said, now=self._engine.clock.now())
        self._engine.bell.ring()


def _body(trigger: On, event: SourceEvent, at: str) -> str:
    """Write a signal as it is kept; one that is too long loses its facts, and says so."""
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
