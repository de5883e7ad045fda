"""The supervisor: turns what the runner saw into state, exactly once.

Reports wait here until the transaction that records them is committed; when the store cannot be written they
go on waiting, so a full disk delays the truth and loses none of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from errands.engine.dispatcher import Dispatcher
from errands.engine.home import Home, last_output
from errands.engine.settle import notice_body, pass_on
from errands.model.ending import Ending
from errands.model.errors import ErrandsError, StoreUnreadable
from errands.model.notice import Address
from errands.model.record import evolve
from errands.model.rollup import rollup
from errands.model.run import Run
from errands.model.summary import summarise
from errands.model.task import Task
from errands.ports.runner import Alive, Ended, NotStarted, Refused, Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.output import OutputPort
    from errands.ports.runner import Report, Runner
    from errands.ports.store import Store

_LOG = logging.getLogger("errands.supervisor")
_SUMMARY_LINES = 60
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
        clock: Clock,
        wake: Callable[[], None],
        wake_later: Callable[[], None],
    ) -> None:
        self._store = store
        self._runner = runner
        self._dispatcher = dispatcher
        self._output = output
        self._home = home
        self._clock = clock
        self._wake = wake
        self._wake_later = wake_later
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
        self._store.again(run.id, attempt=again.attempt)
        return task, again

    def record(self, *, now: datetime) -> tuple[list[str], list[str], list[str]]:
        """Write down what was reported; give the runs and tasks that ended, and the tasks let go by that.

        Called inside a transaction; `forget` follows once it is committed.
        """
        ended: list[str] = []
        released: list[str] = []
        for run_id, report in self._ended.items():
            gone, free = self._end(run_id, report.ending, now)
            ended += gone
            released += free
            self._started.pop(run_id, None)
        for run_id, started in self._started.items():
            self._store.note_start(run_id, pid=started.pid)
        return list(self._ended), ended, released

    @property
    def has_reports(self) -> bool:
        return bool(self._ended or self._started)

    def forget(self, run_ids: list[str]) -> None:
        """Let go of runs whose end is on disk."""
        for run_id in run_ids:
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
        address = Address(channel="inbox", target=task.owner)
        self._store.add_notice(run.id, "silent", address, body=body, now=now)

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

    def _end(self, run_id: str, ending: Ending, now: datetime) -> tuple[list[str], list[str]]:
        task, run = self._live[run_id]
        outcome = rollup(task, run, ending)
        summary = self._summary(task, run_id, ending)
        if not self._store.end(run, outcome, ending, summary=summary, now=now):
            _LOG.warning("run %s ended, but the store does not call it running", run_id)
            return [], []
        if outcome.notify:
            body = notice_body(
                task=task.id, run=run_id, state=outcome.run_state, description=task.description,
                command=task.action.line, error=outcome.error, exit_code=ending.code, signal=ending.signal,
                summary=summary, elapsed=ending.elapsed,
            )  # fmt: skip
            address = Address(channel="inbox", target=task.owner)
            self._store.add_notice(run_id, outcome.run_state, address, body=body, now=now)
        return pass_on(self._store, run_id, outcome.run_state, now=now)

    def _summary(self, task: Task, run_id: str, ending: Ending) -> str | None:
        if not ending.bytes:
            return None
        try:
            piece = self._output.tail(self._home.run(run_id), _SUMMARY_LINES)
        except (OSError, ValueError):
            return None  # the task took its log away, or garbled it; how it ended is known all the same
        return summarise(task.action.line, piece.content.decode("utf-8", "replace"), exit_code=ending.code)
