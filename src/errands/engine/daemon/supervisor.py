"""The supervisor: turns what the runner reports into state, exactly once.

Reports wait here until the transaction that records them is committed; while the store cannot be written they
keep waiting, so a full disk delays what is recorded and loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from errands.engine.daemon.dispatcher import Dispatcher
from errands.engine.daemon.launch import LaunchBuilder
from errands.engine.daemon.outcome import Effects, OutcomeWriter
from errands.engine.notices.outbox import enqueue
from errands.model.action import Prompt
from errands.model.ending import Ending, Interrupted, Killed, Lost
from errands.model.errors import ErrandsError, StoreUnreadable
from errands.model.record import evolve
from errands.model.retry import Retry
from errands.model.run import Run
from errands.model.task import Task
from errands.ports.home import Home
from errands.ports.rundir import last_output, pause_wanted, waited
from errands.ports.runner import Alive, Asked, Ended, NotStarted, Refused, Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.clock import Clock
    from errands.ports.runner import Report, Runner
    from errands.ports.store import Store

_LOG = logging.getLogger("errands.supervisor")
AGENT_RETRY = Retry(retries=2)  # new processes for an agent whose process died
_NO_OUTPUT_SEEN = -1.0  # differs from every real value


class _Watched:
    """What is known of a run from its claim until its end is recorded."""

    def __init__(self, task: Task, run: Run) -> None:
        self.task = task
        self.run = run
        self.is_stopping = False
        # What the runner was last asked for; None: an earlier daemon may have asked it to pause.
        self.is_paused: bool | None = False
        self.reports_silence = task.limits.on_idle == "report" and task.limits.idle is not None
        self.output: float | None = (
            _NO_OUTPUT_SEEN  # the last trace of it, and when that was seen on our clock
        )
        self.output_seen_at = 0.0


class Supervisor:
    def __init__(
        self,
        store: Store,
        runner: Runner,
        dispatcher: Dispatcher,
        launches: LaunchBuilder,
        outcomes: OutcomeWriter,
        home: Home,
        *,
        clock: Clock,
        wake: Callable[[], None],
        wake_later: Callable[[], None],
        approval_time: timedelta = timedelta(days=1),
    ) -> None:
        self._store = store
        self._runner = runner
        self._dispatcher = dispatcher
        self._launches = launches
        self._outcomes = outcomes
        self._home = home
        self._clock = clock
        self._wake = wake
        self._wake_later = wake_later
        self._approval_time = approval_time
        self._live: dict[str, _Watched] = {}
        self._started: dict[str, Started] = {}
        self._ended: dict[str, Ended] = {}
        self._refused: set[str] = set()  # runs whose attempt provably never ran
        self._asked: dict[str, Asked] = {}
        self._looked_at = 0.0
        runner.listener = self._receive

    def start(self, task: Task, run: Run) -> None:
        """Start a claimed run. Call it only after the claim has been committed."""
        self._watch(task, run)
        try:
            launch = self._launches.build(task, run)
        except ErrandsError as error:
            # The claim is on disk and only this process acts on it: without an end it would run for ever.
            self._end(run, Ending(error=str(error)))
            self._wake()
        else:
            self._runner.start(launch)

    def recover(self, task: Task, run: Run, *, is_after_reboot: bool) -> tuple[Task, Run] | None:
        """Find out what became of a run that an earlier daemon left running.

        Return the run to start if it provably never started; any other is watched or recorded. After a reboot
        nothing is provable: the file system may have lost a record that was just made.
        """
        watched = self._watch(task, run)
        if pause_wanted(self._home.run(run.id)) is not None:
            watched.is_paused = None
        match self._runner.recover(run.id, attempt=run.attempt):
            case NotStarted() if run.stop_requested_at is not None:
                self._end(run, Ending(stop="cancel"))
            case NotStarted() if is_after_reboot:
                self._end(run, Ending(interrupted=True))
            case NotStarted():
                again = self._next_attempt(task, run)
                if again is None:
                    self._drop(run.id)
                return again
            case Alive(pid=pid):
                _LOG.info("run %s is still running (pid %s)", run.id, pid)
            case Ended() as report:
                self._ended[run.id] = report
        return None

    def _next_attempt(self, task: Task, run: Run) -> tuple[Task, Run] | None:
        """Return a run to start again, if its last attempt provably never ran and it still may start."""
        try:
            is_fit = self._dispatcher.is_fit(task, run, self._clock.now())
        except StoreUnreadable as error:
            self._end(run, Ending(error=str(error)))
            self._wake()
            return None
        if not is_fit:
            return None
        again = evolve(run, attempt=run.attempt + 1)
        self._store.new_attempt(run.id, attempt=again.attempt, spent=run.spent)
        return task, again

    def record(self, *, now: datetime) -> tuple[list[str], Effects]:
        """Write what was reported; return the runs that ended and what that did.

        Call it inside a transaction, and `forget` once that is committed.
        """
        effects = Effects()
        over = [run_id for run_id in self._ended if not self._should_revive(run_id)]
        anyone_waits = bool(over) and self._store.has_waits()
        for run_id in over:
            live = self._live[run_id]
            ending = self._ended[run_id].ending
            if not self._outcomes.write(
                live.task, live.run, ending, effects, now=now, anyone_waits=anyone_waits
            ):
                _LOG.warning("run %s ended, but is not running according to the store", run_id)
            self._started.pop(run_id, None)
        for run_id, started in self._started.items():
            self._store.note_start(run_id, pid=started.pid)
        for run_id, asked in self._asked.items():
            self._ask(self._live[run_id], asked, effects, now)
        return over, effects

    def _ask(self, live: _Watched, asked: Asked, effects: Effects, now: datetime) -> None:
        """Ask a person what the run's host wants to know; the run waits for the answer."""
        from errands.engine.approval.questions import ask_for_host

        if self._store.run(live.run.id).stop_requested_at is not None:
            self._outcomes.write(
                live.task, live.run, Ending(stop="cancel"), effects, now=now,
                anyone_waits=self._store.has_waits(),
            )  # fmt: skip
            return
        ask_for_host(
            self._store, live.task, live.run, asked.host, asked.reasons, now=now, within=self._approval_time
        )
        effects.changed.append(live.task.id)
        effects.needs_look = True

    def revive(self) -> list[tuple[Task, Run]]:
        """Start agents again whose process died, and attempts that were refused and never ran.

        Return the runs to start once this is committed.
        """
        revived = []
        for run_id in self._refused:
            found = self._next_attempt(self._live[run_id].task, self._live[run_id].run)
            if found is not None:
                revived.append(found)
        for run_id in filter(self._should_revive, self._ended):
            task, run = self._live[run_id].task, self._live[run_id].run
            elapsed = self._ended[run_id].ending.elapsed or 0.0
            seconds_waited, _ = waited(self._home.run(run_id), now=self._clock.monotonic())
            spent = run.spent + max(0.0, elapsed - seconds_waited)
            _LOG.warning("the agent of run %s died; starting attempt %d", run_id, run.attempt + 1)
            again = evolve(run, attempt=run.attempt + 1, spent=spent)
            self._store.new_attempt(run_id, attempt=again.attempt, spent=spent)
            revived.append((task, again))
        return revived

    def _should_revive(self, run_id: str) -> bool:
        """Return whether an agent's process died without being stopped, and has not died too often."""
        task, run = self._live[run_id].task, self._live[run_id].run
        ending = self._ended[run_id].ending
        return (
            isinstance(ending.how, (Interrupted, Lost, Killed))
            and ending.stop != "fuse"
            and isinstance(task.action, Prompt)
            and not task.host  # the fleet decides about those
            and run.stop_requested_at is None
            and AGENT_RETRY.next_delay(run.attempt) is not None
        )

    @property
    def has_reports(self) -> bool:
        return bool(self._ended or self._started or self._refused or self._asked)

    def forget(self, ended: list[str], revived: Iterable[str] = ()) -> None:
        """Drop runs whose end is committed, and the last attempt of those that were revived."""
        revived = set(revived)
        for run_id in self._refused - revived:
            self._drop(run_id)
        self._refused.clear()
        for run_id in (*ended, *revived, *self._asked):
            self._ended.pop(run_id, None)
            self._live.pop(run_id, None)
        self._started.clear()
        self._asked.clear()

    def _drop(self, run_id: str) -> None:
        """Stop watching a run that may not start now, unless its end is still to be recorded."""
        if run_id not in self._ended:
            self._dispatcher.free(run_id)
            self._live.pop(run_id, None)

    def apply_stop_requests(self) -> None:
        """Carry out the stops that were requested since the last call."""
        for run in self._store.stopping():
            live = self._live.get(run.id)
            if live is not None and not live.is_stopping:
                live.is_stopping = True
                live.run = run
                self._runner.stop(run.id, grace=live.task.limits.grace.total_seconds())

    def apply_pause_requests(self) -> None:
        """Pause and continue runs as requested; a paused one needs no slot."""
        paused = set(self._store.paused_runs())
        for run_id, live in self._live.items():
            wanted = run_id in paused
            if live.is_paused == wanted:
                continue
            try:
                can_pause = self._runner.pause(run_id, wanted=wanted)
            except OSError as error:  # a full disk, say; the next turn tries again
                _LOG.warning(
                    "run %s cannot be %s yet: %s", run_id, "paused" if wanted else "continued", error
                )
                continue
            if not can_pause:
                self._refuse_pause(live)
                continue
            live.is_paused = wanted
            if wanted:
                self._dispatcher.lend(run_id)
            else:
                self._dispatcher.take_back(run_id)

    def _refuse_pause(self, live: _Watched) -> None:
        now = self._clock.now()
        live.is_paused = False
        with self._store:
            if self._store.unpause_run(live.run.id, state="running", now=now):
                why = "an older version of Errands started it"
                number = live.run.number
                self._store.add_event(live.task.id, "cannot be paused", run=number, now=now, detail=why)

    def report_silence(self, *, now: datetime, monotonic: float) -> list[str]:
        """Notify about runs that asked for it and have printed nothing for too long; return their tasks.

        Silence is measured on the monotonic clock, from the moment a change was last seen.
        """
        silent: list[str] = []
        since, self._looked_at = monotonic - (self._looked_at or monotonic), monotonic
        for live in self._live.values():
            if not live.reports_silence:
                continue
            task, run = live.task, live.run
            assert task.limits.idle is not None
            output = last_output(self._home.run(run.id))
            if live.output != output:
                live.output, live.output_seen_at = output, monotonic
            elif live.is_paused:  # the time of a pause does not count
                live.output_seen_at += since
            quiet, limit = monotonic - live.output_seen_at, task.limits.idle.total_seconds()
            if quiet >= limit and self._store.note_idle(run.id):
                self._store.add_event(task.id, "silent", run=run.number, now=now)
                if task.notify != "never":
                    why = f"no output for {limit:g} s; it keeps running"
                    enqueue(self._store, task, run.id, "silent", state="running", error=why, now=now)
                silent.append(task.id)
        return silent

    @property
    def watches_for_silence(self) -> bool:
        return any(live.reports_silence for live in self._live.values())

    def _watch(self, task: Task, run: Run) -> _Watched:
        """Watch a run, which takes a slot until it is over."""
        self._dispatcher.hold(task, run)
        self._live[run.id] = watched = _Watched(task, run)
        return watched

    def _end(self, run: Run, ending: Ending) -> None:
        self._ended[run.id] = Ended(run_id=run.id, attempt=run.attempt, ending=ending)

    def _receive(self, report: Report) -> None:
        if report.run_id not in self._live:
            _LOG.error("run %s is over or not ours, but was reported: %s", report.run_id, report)
            return
        run = self._live[report.run_id].run
        if report.attempt != run.attempt:
            _LOG.error("run %s is in attempt %d, so this is ignored: %s", run.id, run.attempt, report)
            return
        match report:
            case Started():
                # Not worth a transaction of its own: a short run ends before it would be written.
                self._started[report.run_id] = report
                self._wake_later()
                return
            case Ended():
                self._ended[report.run_id] = report
            case Asked():
                self._asked[report.run_id] = report
            case Refused():
                # Its record exists: this attempt was started or given up by another daemon.
                match self._runner.recover(run.id, attempt=run.attempt):
                    case Ended() as found:
                        self._ended[run.id] = found
                    case NotStarted():
                        self._refused.add(run.id)
                self._live[run.id].is_stopping = False  # the shim that was asked never ran it
        self._wake()
