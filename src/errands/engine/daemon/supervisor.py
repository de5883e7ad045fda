"""The supervisor: turns what the runner saw into state, exactly once.

Reports wait here until the transaction that records them is committed; when the store cannot be written they
go on waiting, so a full disk delays the truth and loses none of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from errands.engine.agents.wait_clock import held_for
from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.daemon.outcome import first_words, notice_body, release_dependents, settle, told_answer
from errands.engine.notices.outbox import enqueue
from errands.engine.triggers.recurrence import after_scheduled_run, result_print
from errands.model.action import Prompt
from errands.model.agent.session import Exchange, session_name
from errands.model.ending import Ending
from errands.model.errors import ErrandsError, StoreUnreadable
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.run import Run, task_of
from errands.model.task import Task
from errands.model.text.summary import summarise
from errands.model.trigger import recurring
from errands.ports.home import Home, last_output
from errands.ports.runner import Alive, Ended, NotStarted, Refused, Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.states import Failure
    from errands.ports.clock import Clock
    from errands.ports.output import OutputPort
    from errands.ports.runner import Report, Runner
    from errands.ports.store import Store

_LOG = logging.getLogger("errands.supervisor")
_SUMMARY_LINES = 60
MOST_ATTEMPTS = 3  # of an agent whose process dies
AWAITED = timedelta(seconds=2)  # how long a notice is kept back from whoever blocks
_NOTHING_YET = -1.0  # no trace of output looks like this


class Supervisor:
    def __init__(
        self,
        store: Store,
        runner: Runner,
        dispatcher: Dispatcher,
        output: OutputPort,
        home: Home,
        *,
        look: Callable[[], None],
        clock: Clock,
        wake: Callable[[], None],
        wake_later: Callable[[], None],
        backoff: timedelta,
    ) -> None:
        self._store = store
        self._runner = runner
        self._dispatcher = dispatcher
        self._output = output
        self._home = home
        self._look = look
        self._clock = clock
        self._wake = wake
        self._wake_later = wake_later
        self._backoff = backoff
        self._live: dict[str, tuple[Task, Run]] = {}
        self._started: dict[str, Started] = {}
        self._ended: dict[str, Ended] = {}
        self._stopping: set[str] = set()
        # When those were last heard whose silence is to be told: the trace of it, and our own clock.
        self._heard: dict[str, tuple[float | None, float]] = {}
        runner.listener = self._hear

    def start(self, task: Task, run: Run) -> None:
        """Start a claimed run. Call it only after the claim has been committed."""
        self._dispatcher.hold(task, run)
        self._watch(task, run)
        try:
            launch = self._dispatcher.launch(task, run)
        except ErrandsError as error:
            # The claim is on disk, and nobody else looks after it: without an end it would run for ever.
            self._ended[run.id] = Ended(run_id=run.id, ending=Ending(error=str(error)))
            self._wake()
        else:
            self._runner.start(launch)

    def recover(self, task: Task, run: Run, *, is_after_reboot: bool) -> tuple[Task, Run] | None:
        """Find out what became of a run another holder left running.

        Give the run to start if it provably never started; all else is watched or recorded. After a reboot
        nothing is provable: the file system may have forgotten a record that was just made.
        """
        self._dispatcher.hold(task, run)
        self._watch(task, run)
        match self._runner.recover(run.id, attempt=run.attempt):
            case NotStarted() if run.stop_requested_at is not None:
                self._ended[run.id] = Ended(run_id=run.id, ending=Ending(stop="cancel"))
            case NotStarted() if is_after_reboot:
                self._ended[run.id] = Ended(run_id=run.id, ending=Ending(interrupted=True))
            case NotStarted():
                return self._next_attempt(task, run)
            case Alive(pid=pid):
                _LOG.info("run %s goes on (pid %s)", run.id, pid)
            case Ended() as report:
                self._ended[run.id] = report
        return None

    def _next_attempt(self, task: Task, run: Run) -> tuple[Task, Run] | None:
        """Give a run to start anew because its last attempt provably never started, if it still may start."""
        try:
            is_fit = self._dispatcher.is_fit(task, run, self._clock.now())
        except StoreUnreadable as error:
            self._ended[run.id] = Ended(run_id=run.id, ending=Ending(error=str(error)))
            return None
        if not is_fit:
            self._dispatcher.free(run.id)
            self._live.pop(run.id, None)
            self._heard.pop(run.id, None)
            return None
        again = evolve(run, attempt=run.attempt + 1)
        self._store.again(run.id, attempt=again.attempt, spent=run.spent)
        return task, again

    def record(self, *, now: datetime) -> tuple[list[str], list[str], list[str]]:
        """Write down what was reported; give the runs and tasks that ended, and the tasks let go by that.

        Called inside a transaction; `forget` follows once it is committed.
        """
        ended: list[str] = []
        released: list[str] = []
        over = [run_id for run_id in self._ended if not self._is_cut_off(run_id)]
        anyone_waits = bool(over) and self._store.anyone_waits()
        for run_id in over:
            gone, free = self._end(run_id, self._ended[run_id].ending, now, anyone_waits=anyone_waits)
            ended += gone
            released += free
            self._started.pop(run_id, None)
        for run_id, started in self._started.items():
            self._store.note_start(run_id, pid=started.pid)
        return over, ended, released

    def revive(self) -> list[tuple[Task, Run]]:
        """Let agents whose process died go on; give the runs to start once this is committed."""
        revived = []
        for run_id in filter(self._is_cut_off, self._ended):
            task, run = self._live[run_id]
            elapsed = self._ended[run_id].ending.elapsed or 0.0
            held = held_for(self._home.run(run_id), now=self._clock.monotonic())
            spent = run.spent + max(0.0, elapsed - held)
            _LOG.warning("the agent of run %s died; attempt %d goes on", run_id, run.attempt + 1)
            again = evolve(run, attempt=run.attempt + 1, spent=spent)
            self._store.again(run_id, attempt=again.attempt, spent=spent)
            revived.append((task, again))
        return revived

    def _is_cut_off(self, run_id: str) -> bool:
        """Tell whether an agent died without being asked to, and has not died too often."""
        task, run = self._live[run_id]
        ending = self._ended[run_id].ending
        died = ending.interrupted or ending.lost is not None or ending.signal is not None
        return (
            died
            and isinstance(task.action, Prompt)
            and ending.stop is None
            and run.stop_requested_at is None
            and run.attempt < MOST_ATTEMPTS
        )

    @property
    def has_reports(self) -> bool:
        return bool(self._ended or self._started)

    def forget(self, ended: list[str], revived: Iterable[str] = ()) -> None:
        """Let go of runs whose end is on disk, and of the last attempt of those that go on."""
        for run_id in ended:
            self._runner.forget(run_id)
        for run_id in (*ended, *revived):
            del self._ended[run_id]
            self._live.pop(run_id, None)
            self._stopping.discard(run_id)
            self._heard.pop(run_id, None)
        self._started.clear()

    def stop_requested(self) -> None:
        """Carry out the stops that were asked for since the last look."""
        for run in self._store.stopping():
            if run.id not in self._stopping and run.id in self._live:
                self._stopping.add(run.id)
                task, _ = self._live[run.id]
                self._live[run.id] = (task, run)
                self._runner.stop(run.id, grace=task.limits.grace.total_seconds())

    def report_silence(self, *, now: datetime, monotonic: float) -> list[str]:
        """Note which runs have been silent for too long, of those that asked for a report only.

        Silence is measured by a clock that nobody can set, from the moment a change was last seen.
        """
        silent: list[str] = []
        for run_id in self._heard:
            task, run = self._live[run_id]
            assert task.limits.idle is not None
            trace = last_output(self._home.run(run.id))
            if self._heard[run.id][0] != trace:
                self._heard[run.id] = (trace, monotonic)
            quiet = monotonic - self._heard[run.id][1]
            if quiet >= task.limits.idle.total_seconds() and self._store.note_idle(run.id):
                self._store.add_event(task.id, "silent", run=run.number, now=now)
                self._tell_of_silence(task, run, now)
                silent.append(task.id)
        return silent

    def _tell_of_silence(self, task: Task, run: Run, now: datetime) -> None:
        assert task.limits.idle is not None
        if task.notify == "never":
            return
        body = notice_body(
            task=task.id, run=run.id, state="running", description=task.description,
            command=task.action.line,
            error=f"no output for {task.limits.idle.total_seconds():g} s; it goes on",
        )  # fmt: skip
        enqueue(self._store, task, run.id, "silent", body=body, now=now)

    @property
    def watched_for_silence(self) -> bool:
        return bool(self._heard)

    def _watch(self, task: Task, run: Run) -> None:
        self._live[run.id] = (task, run)
        if task.limits.on_idle == "report" and task.limits.idle is not None:
            self._heard[run.id] = (_NOTHING_YET, 0.0)

    def _hear(self, report: Report) -> None:
        if report.run_id not in self._live:
            _LOG.error("run %s is over or not ours, but was reported: %s", report.run_id, report)
            return
        match report:
            case Started():
                # Not worth a transaction of its own: a short run ends before it would be written.
                self._started[report.run_id] = report
                self._wake_later()
                return
            case Ended():
                self._ended[report.run_id] = report
            case Refused():
                # Its record exists: this attempt was started or given up by another holder.
                task, run = self._live[report.run_id]
                match self._runner.recover(run.id, attempt=run.attempt):
                    case Ended() as found:
                        self._ended[run.id] = found
                    case NotStarted():
                        with self._store:
                            again = self._next_attempt(task, run)
                        if again is not None:
                            self.start(*again)
                self._stopping.discard(run.id)  # whoever was asked to stop it never had it
        self._wake()

    def _end(
        self, run_id: str, ending: Ending, now: datetime, *, anyone_waits: bool
    ) -> tuple[list[str], list[str]]:
        task, run = self._live[run_id]
        said: Exchange | None = None
        if isinstance(task.action, Prompt):
            said, ending = self._said(run, _whole(run, ending, now))
        cursor = None
        if recurring(task.trigger) is not None:
            task = self._store.task(task.id)  # it may have been paused or cancelled meanwhile
            cursor = self._store.cursor(task.id)
        result = "something"
        if cursor is not None or task.notify == "on_change":
            answer = None if said is None else said.answer or ""
            result = result_print(self._output, self._home.run(run_id), ending.bytes, answer)
        outcome = rollup(task, run, ending, cursor, result)
        summary = self._summary(task, run_id, ending) if said is None else first_words(said.answer)
        if not self._store.end(run, outcome, ending, summary=summary, now=now):
            _LOG.warning("run %s ended, but the store does not call it running", run_id)
            return [], []
        if outcome.notify:
            body = notice_body(
                task=task.id, run=run_id, state=outcome.run_state, description=task.description,
                command=task.action.line, error=outcome.error, exit_code=ending.code, signal=ending.signal,
                summary=summary, elapsed=ending.elapsed, more=_answer(task, said),
            )  # fmt: skip
            # Whoever blocks until the answer is there has a moment to say that it has arrived.
            may_be_awaited = said is not None or task.parent is not None
            later = now + AWAITED if may_be_awaited and self._store.is_awaited(run_id) else None
            enqueue(self._store, task, run_id, outcome.run_state, body=body, now=now, not_before=later)
        if cursor is not None:
            after_scheduled_run(self._store, task, run, outcome, now=now, backoff=self._backoff)
            self._look()
        released: list[str] = []
        ended = [task.id]
        if anyone_waits:
            ended, released = release_dependents(self._store, task.id, outcome.run_state, now=now)
        if said is not None and said.waiting is not None:
            self._store.set_waiting(run_id, None)
        if said is not None and (question := self._store.question(task.id)) is not None:
            # A call that waited for a person went with its run.
            note = f"run {run.number} is {outcome.run_state}"
            self._store.answer(question.id, "void", by="nobody", door="", now=now, note=note)
        if said is not None and outcome.run_state != "completed":
            ended += self._stop_children(task, run, now)
        return ended, released

    def _said(self, run: Run, ending: Ending) -> tuple[Exchange, Ending]:
        """Add what an agent said about its end to what its process showed of it."""
        said = self._store.exchange(run.id) or Exchange(text="")
        if ending.stop is not None or ending.code is None:
            if ending.signal is not None and ending.stop is None:
                why = f"its process died {run.attempt} times, at last by signal {ending.signal}"
                return said, evolve(ending, failure="agent", error=why)
            return said, ending
        if said.failure is not None or said.answer is None or ending.code:
            why = said.error or f"the agent's process ended with exit code {ending.code}, without an answer"
            failure: Failure = "budget" if said.failure == "budget" else "agent"
            return said, evolve(ending, failure=failure, error=why)
        return said, ending

    def _stop_children(self, task: Task, run: Run, now: datetime) -> list[str]:
        """End what an agent has started and nobody waits for any more; give the tasks that ended by it."""
        ended: list[str] = []
        for child in self._store.live_children(session_name(task.id)):
            if self._store.task(task_of(child)[0]).created_by != f"run {run.id}":
                continue
            if self._store.withdraw(child, by=f"the end of {run.id}", now=now):
                ended += settle(self._store, child, "cancelled", now=now)
            else:
                self._store.request_stop(child, by=f"the end of {run.id}", now=now)
                self._look()
        return ended

    def _summary(self, task: Task, run_id: str, ending: Ending) -> str | None:
        if not ending.bytes:
            return None
        try:
            piece = self._output.tail(self._home.run(run_id), _SUMMARY_LINES)
        except (OSError, ValueError):
            return None  # the task took its log away, or garbled it; how it ended is known all the same
        return summarise(task.action.line, piece.content.decode("utf-8", "replace"), exit_code=ending.code)


def _whole(run: Run, ending: Ending, now: datetime) -> Ending:
    """Give the time of all attempts at a run to the ending of the last one."""
    if run.attempt <= 1 or run.started_at is None:
        return ending
    took = (ending.ended_at or now) - run.started_at
    elapsed = max(took.total_seconds(), ending.elapsed or 0.0)
    return evolve(ending, started_at=run.started_at, elapsed=elapsed)


def _answer(task: Task, said: Exchange | None) -> dict[str, str]:
    return {} if said is None or said.answer is None else {"answer": told_answer(task.id, said.answer)}
