"""The outcome of a run: what its end means for its task, its notices, its schedule and its dependents.

`rollup` decides, this module writes; the end and everything that follows from it are one transaction.
"""

from __future__ import annotations

from datetime import timedelta

from errands.engine.notices.outbox import PHRASE, clipped, enqueue
from errands.engine.triggers.debounce import drop_signals, has_waiting
from errands.model.action import Prompt
from errands.model.agent.session import Exchange, session_name
from errands.model.errors import StoreUnreadable
from errands.model.notices.notice import should_notify
from errands.model.notices.result import STORED, cut
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.run import task_of
from errands.model.schedule.cursor import RAN_ENOUGH, SCHEDULED_RETRIES
from errands.model.text.blake2 import blake2b
from errands.model.text.elapsed import without_elapsed
from errands.model.trigger import recurring
from errands.model.view import RetryView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.model.ending import Ending
    from errands.model.notices.notice import Address
    from errands.model.rollup import Outcome
    from errands.model.run import Run
    from errands.model.states import Failure
    from errands.model.task import Task
    from errands.model.view import View
    from errands.ports.home import Home
    from errands.ports.output import OutputPort
    from errands.ports.store import Store

SUMMARY_LINES = 60
# Bytes; output up to this size is compared whole; of longer output, only both ends and the length.
WHOLE = 1 << 20
AWAITED = timedelta(seconds=2)  # how long a notice waits for a blocked caller to confirm the answer


class Effects:
    """What changed for tasks when runs ended: which ended, which were released, which only changed.

    `needs_look` means that there is something new to wait for or to stop.
    """

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.released: list[str] = []
        self.changed: list[str] = []
        self.needs_look = False


class OutcomeWriter:
    """Call `write` inside a transaction."""

    def __init__(self, store: Store, output: OutputPort, home: Home, *, backoff: timedelta) -> None:
        self._store = store
        self._output = output
        self._home = home
        self._backoff = backoff

    def write(
        self, task: Task, run: Run, ending: Ending, effects: Effects, *, now: datetime, anyone_waits: bool
    ) -> bool:
        """Write how a run ended and all that follows.

        Return False if the store no longer has it as running.
        """
        store = self._store
        exchange: Exchange | None = None
        if isinstance(task.action, Prompt):
            exchange = store.exchange(run.id) or Exchange(text="")
            ending = _agent_ending(run, _whole(run, ending, now), exchange)
        cursor, earlier_failures = None, 0
        if recurring(task.trigger) is not None:
            task = store.task(task.id)  # it may have been paused or cancelled meanwhile
            cursor = store.cursor(task.id)
        elif task.limits.retries:
            stored = store.run(run.id)  # it may have been asked to stop meanwhile
            run = evolve(run, stop_requested_at=stored.stop_requested_at, stop_by=stored.stop_by)
            earlier_failures = retries_so_far(store, task.id, task.limits.retries)
        result = "something"
        if cursor is not None or task.notify == "on_change":
            result = self._fingerprint(run, ending, exchange)

        outcome = rollup(
            task, run, ending, cursor=cursor, result=result, earlier_failures=earlier_failures,
            backoff=self._backoff,
        )  # fmt: skip

        summary = self._summary(task, run, ending) if exchange is None else _first_line(exchange.answer)
        if not store.end(run, outcome, ending, summary=summary, now=now):
            return False
        if outcome.notify:
            self._notify(task, run, ending, outcome, exchange, summary, now)
        if cursor is not None:
            after_scheduled_run(store, task, run, outcome, now=now)
            effects.needs_look = True
        if cursor is None and outcome.retry_in is not None:
            again = store.add_run(task.id, cause="retry", now=now, not_before=now + outcome.retry_in)
            if self._is_awaited(task, run, exchange):  # the caller waits for the last run
                text = task.action.text if isinstance(task.action, Prompt) else task.action.line
                store.set_awaited(again.id, text)
            effects.changed.append(task.id)
            effects.needs_look = True
        elif anyone_waits:
            release_dependents(store, task.id, outcome.run_state, effects, now=now)
        else:
            effects.ended.append(task.id)
        if exchange is not None:
            self._close_exchange(task, run, outcome, exchange, effects, now)
        return True

    def _notify(
        self,
        task: Task,
        run: Run,
        ending: Ending,
        outcome: Outcome,
        exchange: Exchange | None,
        summary: str | None,
        now: datetime,
    ) -> None:
        if task.host and task.channels:
            task = evolve(task, channels=self._unreported(task, run))
        more: dict[str, str] = {}
        if exchange is not None and exchange.answer is not None:
            more["answer"] = cut(exchange.answer, STORED)
        if exchange is not None and run.cause == "resume":  # the answer is to this, not to the first prompt
            more["command"] = clipped(exchange.text, PHRASE)
        # A caller that blocks until the answer is there has a moment to confirm that it arrived.
        enqueue(
            self._store, task, run.id, outcome.run_state, state=outcome.run_state, error=outcome.error,
            exit_code=ending.code, signal=ending.signal, summary=summary, elapsed=ending.elapsed,
            more=more, now=now, not_before=now + AWAITED if self._is_awaited(task, run, exchange) else None,
        )  # fmt: skip

    def _unreported(self, task: Task, run: Run) -> tuple[Address, ...]:
        """Return the channels of a placed task to which no other home has reported its end."""
        from errands.ports.fleet import placement

        where = placement.read(self._home.run(run.id))
        reported = "" if where is None else where.reported
        return tuple(
            each for each in task.channels if f"{each.channel}:{each.target}" not in reported.split("\n")
        )

    def _is_awaited(self, task: Task, run: Run, exchange: Exchange | None) -> bool:
        """Return whether a caller blocks until this run ends: only for agents and for tasks of a session."""
        return (exchange is not None or task.parent is not None) and self._store.is_awaited(run.id)

    def _close_exchange(
        self, task: Task, run: Run, outcome: Outcome, exchange: Exchange, effects: Effects, now: datetime
    ) -> None:
        """Withdraw what an agent's run waited for, and, unless the run completed, stop what it started."""
        store = self._store
        if exchange.waiting is not None:
            store.set_waiting(run.id, None)
        if (question := store.question(task.id)) is not None:
            note = f"run {run.number} is {outcome.run_state}"
            store.answer(question.id, "void", by="nobody", door="", now=now, note=note)
        if outcome.run_state == "completed":
            return
        for child in store.live_children(session_name(task.id)):
            if store.task(task_of(child)[0]).created_by != f"run {run.id}":
                continue
            if store.cancel_pending(child, by=f"the end of {run.id}", now=now):
                effects.ended += after_unstarted_run(store, child, "cancelled", now=now)
            else:
                store.request_stop(child, by=f"the end of {run.id}", now=now)
                effects.needs_look = True

    def _summary(self, task: Task, run: Run, ending: Ending) -> str | None:
        from errands.model.text.summary import summarise  # `errands cancel` needs no regular expressions

        if not ending.bytes:
            return None
        try:
            whole = None if ending.truncated else ending.bytes
            piece = self._output.tail(self._home.run(run.id), SUMMARY_LINES, size=whole)
        except (OSError, ValueError):
            return None  # the task removed or garbled its log; how it ended is still known
        return summarise(task.command, piece.content.decode("utf-8", "replace"), exit_code=ending.code)

    def _fingerprint(self, run: Run, ending: Ending, exchange: Exchange | None) -> str:
        """Return a digest of what a run reports, to compare it with the last result; empty for nothing.

        How long it took is left out: the same test run takes another time each time.
        """
        directory, size = self._home.run(run.id), ending.bytes
        if exchange is not None:
            content = (exchange.answer or "").strip().encode()
        elif not size:
            return ""
        else:
            try:
                content = self._output.read(directory, offset=0, limit=WHOLE).content
                if size > WHOLE:
                    content += b"%d" % size + self._output.tail(directory, 200).content
            except (OSError, ValueError):
                content = b"%d" % size  # the task removed or garbled its log
            steady = without_elapsed(content.decode("utf-8", "surrogateescape"))
            content = steady.encode("utf-8", "surrogateescape")
        return blake2b(content, digest_size=12).hexdigest() if content.strip() else ""


def after_scheduled_run(store: Store, task: Task, run: Run, outcome: Outcome, *, now: datetime) -> None:
    """Retry a recurring task, let its trigger fire again, or pause it.

    The owner of a paused task is told, whatever its notice policy.
    """
    if run.cause == "resume":
        return
    cursor = store.cursor(task.id)
    before = None if cursor is None else cursor.result
    result = before if outcome.run_state == "cancelled" else outcome.result
    store.note_result(task.id, failures=outcome.failures, result=result)
    if outcome.retry_in is not None:
        store.add_run(task.id, cause="retry", now=now, not_before=now + outcome.retry_in)
    elif task.state == "active" and outcome.task_state in ("paused", "failed"):
        store.set_next_fire(task.id, None)
        store.close_slots(task.id, "missed", f"the task is {outcome.task_state}")
        drop_signals(store, task, now=now, reason=f"the task is {outcome.task_state}")
        why = f"it failed {outcome.failures} times in a row ({outcome.error})"
        if outcome.task_state == "paused":
            why += f" and is paused; errands unpause {task.id} continues it"
        event = "paused" if outcome.task_state == "paused" else "given up"
        enqueue(store, task, run.id, event, state=outcome.task_state, error=why, now=now)
    elif outcome.task_state == "done":
        drop_signals(store, task, now=now, reason=RAN_ENOUGH)
    elif outcome.task_state == "active" and has_waiting(store, task):
        store.set_next_fire(task.id, now)


def after_unstarted_run(store: Store, run_id: str, state: str, *, now: datetime) -> list[str]:
    """Follow up on a run that ended without ever starting; return the ids of all tasks that ended with it."""
    _notify_unstarted(store, run_id, now=now)
    effects = Effects()
    release_dependents(store, task_of(run_id)[0], state, effects, now=now)
    return effects.ended


def release_dependents(store: Store, task_id: str, state: str, effects: Effects, *, now: datetime) -> None:
    """Start the tasks that waited for a completed one; after any other end skip them and their dependents."""
    queue = [(task_id, state)]
    for each, how in queue:
        effects.ended.append(each)
        waiting = store.dependents(each)
        if waiting and how == "completed":
            store.release_dependents(each)
            effects.released += [task_of(run_id)[0] for run_id in waiting]
            continue
        for run_id in waiting:
            why = f"it waited for {each} ({how})"
            if store.skip_pending(run_id, reason="dependency", error=why, now=now):
                _notify_unstarted(store, run_id, now=now)
                queue.append((task_of(run_id)[0], "skipped"))


def _notify_unstarted(store: Store, run_id: str, *, now: datetime) -> None:
    try:
        view = store.view(task_of(run_id)[0])
    except StoreUnreadable:
        return  # a damaged record fails alone: it must not undo the end of what it waited for
    # A rejection is always reported: silence would look like success.
    if view.state == "rejected" or should_notify(view.notify, failed=view.latest.state == "skipped"):
        enqueue(store, view, run_id, view.state, state=view.state, error=view.latest.error, now=now)


def retries_so_far(store: Store, task_id: str, most: int) -> int:
    """Count the retries up to the latest run of a one-shot task; a restart starts at zero."""
    count = 0
    for run in reversed(store.history(task_id, limit=most + 1)):
        if run.cause != "retry":
            break
        count += 1
    return count


def retry_view(store: Store, view: View) -> RetryView:
    """Return which try the live run of a task is."""
    retries = store.task(view.id).limits.retries if view.standing is None else SCHEDULED_RETRIES
    number = 1 + retries_so_far(store, view.id, retries)
    return RetryView(number=number, of=1 + retries, at=store.not_before(view.latest.id))


def _agent_ending(run: Run, ending: Ending, exchange: Exchange) -> Ending:
    """Combine what an agent said about its end with how its process ended."""
    if ending.stop is not None or ending.code is None:
        if ending.signal is not None and ending.stop is None:
            why = f"its process died {run.attempt} times, most recently from signal {ending.signal}"
            return evolve(ending, failure="agent", error=why)
        return ending
    if exchange.failure is not None or exchange.answer is None or ending.code:
        why = exchange.error or f"the agent's process ended with exit code {ending.code}, without an answer"
        failure: Failure = "budget" if exchange.failure == "budget" else "agent"
        return evolve(ending, failure=failure, error=why)
    return ending


def _whole(run: Run, ending: Ending, now: datetime) -> Ending:
    """Add up the time of all attempts at a run."""
    if run.attempt <= 1 or run.started_at is None:
        return ending
    took = (ending.ended_at or now) - run.started_at
    elapsed = max(took.total_seconds(), ending.elapsed or 0.0)
    return evolve(ending, started_at=run.started_at, elapsed=elapsed)


def _first_line(answer: str | None) -> str | None:
    lines = (answer or "").split("\n")
    return clipped(next((line.strip() for line in lines if line.strip()), ""), 200) or None
