"""The core of the engine: the store, home, configuration, clock and bell that all parts share, and reading.

The parts of the engine depend on this, never on `engine.py`.
"""

from __future__ import annotations

from errands.model.errors import (
    Ambiguous,
    BadValue,
    ErrandsError,
    NoInput,
    NotFound,
    NotListening,
    unknown_task,
)
from errands.model.limits import lane_widths
from errands.model.record import evolve
from errands.model.states import not_running
from errands.model.text.ids import is_id
from errands.ports.rundir import NO_INPUT, STARTS_WITHIN, files_in, last_output, reported_progress
from errands.ports.store import MOST_IDS, Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from errands.config import Config
    from errands.engine.bell_client import BellClient
    from errands.model.approval import Approval, Consent
    from errands.model.run import Event, Run
    from errands.model.task import Task
    from errands.model.text.mask import Mask
    from errands.model.text.progress import Progress
    from errands.model.view import RunView, View
    from errands.ports.agent import SoughtSession
    from errands.ports.clock import Clock
    from errands.ports.home import Home
    from errands.ports.output import OutputPort, Piece
    from errands.ports.store import Store

_LOOK = 0.01  # seconds between two checks whether a run has taken its input


class EngineCore:
    """The engine without its verbs.

    `consent` applies to everything that is submitted here. With `start_daemon` this is the engine of a
    client, which starts the daemon when a verb needs one. `has_session` looks up whether an agent still has a
    session.
    """

    def __init__(
        self,
        *,
        store: Store,
        home: Home,
        config: Config,
        clock: Clock,
        output: Callable[[], OutputPort],
        bell: BellClient,
        consent: Consent = "none",
        start_daemon: Callable[[], None] | None = None,
        has_session: Callable[[SoughtSession], bool] | None = None,
    ) -> None:
        self.store = store
        self.home = home
        self.config = config
        self.clock = clock
        self.bell = bell
        self.consent = consent
        self._output = output
        self.start_daemon = start_daemon
        self.has_session = has_session

    def close(self) -> None:
        self.bell.close()
        self.store.close()

    def ensure_daemon(self) -> None:
        """Start the daemon if none answers; only the engine of a client does."""
        if self.start_daemon is not None and not self.bell.is_answered():
            self.start_daemon()

    def resolve(self, task_id: str) -> str:
        """Complete a unique prefix of a task's id, or an id that a list has shortened.

        What cannot be an id is not found.
        """
        if not is_id(task_id):
            raise unknown_task(task_id)
        return self.store.resolve(task_id)

    def means(self, text: str, task_id: str) -> bool:
        """Return whether a text, typed as the id of a task, resolves to this one."""
        try:
            return self.resolve(text) == task_id
        except (Ambiguous, NotFound):
            return False

    def id_by_key(self, key: str) -> str | None:
        return self.store.id_by_key(key)

    def has_ended(self, task_id: str) -> bool:
        return self.store.ended(task_id)

    def view(self, task_id: str) -> View:
        """Return a task as the store has it, without what only its run directory shows."""
        return self.store.view(task_id)

    def task(self, task_id: str) -> Task:
        return self.store.task(task_id)

    def run(self, run_id: str) -> Run:
        return self.store.run(run_id)

    def history(self, task_id: str, *, limit: int = -1) -> tuple[RunView, ...]:
        return self.store.history(task_id, limit=limit)

    def question(self, task_id: str) -> Approval | None:
        return self.store.question(task_id)

    def environment(self, task_id: str) -> Mapping[str, str]:
        """Return the variables that a task inherited from the process that submitted it."""
        return self.store.environment(self.store.task(task_id).action.environment)

    def running(self) -> list[tuple[Task, Run]]:
        return self.store.running()[0]

    def counts(self) -> dict[str, int]:
        return self.store.counts()

    def next_pending(
        self, *, limit: int, batch: str | None = None, lane: str | None = None
    ) -> tuple[list[str], int]:
        return self.store.next_pending(limit=limit, batch=batch, lane=lane)

    def start_order(self, task_ids: Sequence[str]) -> list[str]:
        return self.store.start_order(task_ids)

    def lane_place(self, run_id: str) -> tuple[int, int] | None:
        return self.store.lane_place(run_id)

    def lane_widths(self) -> dict[str, int]:
        """Return the width of each lane: as a person set it, or else as configured."""
        return lane_widths(self.config.lanes, self.store.lane_widths())

    def lane_load(self) -> dict[str, tuple[int, int]]:
        return self.store.lane_load()

    def live_batches(self) -> dict[str, tuple[int, int]]:
        return self.store.live_batches()

    def output(self, task_id: str, *, offset: int = 0, limit: int | None = None) -> Piece:
        """Read a task's output from an offset; the piece says where to continue."""
        if offset < 0:
            raise BadValue(f"offset must be 0 or more, not {offset}")
        return self._output().read(self._run_directory(task_id), offset=offset, limit=limit)

    def tail(self, task_id: str, lines: int | None = None) -> Piece:
        """Read the last lines of a task's output, whatever its size."""
        count = self.config.runs.tail_lines if lines is None else lines
        return self._output().tail(self._run_directory(task_id), count)

    def files(self, run_id: str) -> list[str]:
        """Return the names of the files that a run left in its directory."""
        return files_in(self.home.run(run_id))

    def open_file(self, run_id: str, name: str) -> int:
        """Open a file that a run left in its directory, by its name as listed; links are not followed."""
        from errands.engine.run_files import open_run_file

        return open_run_file(self.home.run(run_id), name)

    def mask(self, *task_ids: str) -> Mask:
        """Return the mask that hides the secrets of tasks, and well-known tokens, in what they show."""
        from errands.model.text.mask import Mask

        mask, seen = Mask({}), set()
        for task_id in task_ids:
            action = self.store.task(self.resolve(task_id)).action
            if action.environment not in seen:  # most tasks share one
                seen.add(action.environment)
                mask.add(self.store.environment(action.environment))
            mask.add(action.env)
        return mask

    def events(self, task_id: str) -> list[Event]:
        return self.store.events(self.resolve(task_id))

    def send(self, task_id: str, content: bytes, *, eof: bool = False) -> None:
        """Send input to a running task that was started to take it."""
        for _ in self.sending(task_id, content, eof=eof):
            import time

            time.sleep(_LOOK)

    def sending(self, task_id: str, content: bytes, *, eof: bool = False) -> Iterator[None]:
        """Send input to a running task; yield while it has not been taken."""
        view = self.summaries([self.resolve(task_id)])[0]
        if view.latest.state != "running":
            raise ErrandsError(not_running(view.id, view.state))
        directory = self.home.run(view.latest.id)
        if not view.host:
            yield from self._sending_here(directory, view.id, content, eof=eof)
            return
        from errands.ports.fleet.spool import sending

        if not self.task(view.id).takes_input:
            raise NoInput(NO_INPUT)
        yield from sending(directory, lambda: self.bell.ring_about([view.id]), content, eof=eof)

    def _sending_here(self, directory: str, task_id: str, content: bytes, *, eof: bool) -> Iterator[None]:
        """Send input to a run on this machine; yield while it is starting and takes none yet."""
        import time

        give_up = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                return self._output().send(directory, content, eof=eof)
            except NotListening:
                if time.monotonic() > give_up or not self.task(task_id).takes_input:
                    raise
            yield

    def _run_directory(self, task_id: str) -> str:
        """Return the directory of a run, or of the latest run of a task."""
        if "." in task_id:
            parent, _, number = task_id.rpartition(".")
            return self.home.run(self.store.run(f"{self.resolve(parent)}.{number}").id)
        return self.home.run(self.store.view(self.resolve(task_id)).latest.id)

    def summaries(self, task_ids: Sequence[str]) -> list[View]:
        """Return tasks without their details, in the order asked for."""
        ids = tuple(task_ids)
        views = {
            view.id: view
            for start in range(0, len(ids), MOST_IDS)
            for view in self.list(Query(ids=ids[start : start + MOST_IDS]))
        }
        # A missing one is damaged or was cleared; the store's error says which.
        return [views.get(each) or self.with_live_facts(self.store.view(each)) for each in ids]

    def with_live_facts(self, view: View) -> View:
        """Add what only the directory of a running run shows, and the open question about a proposed task."""
        if view.latest.cause == "retry" and view.latest.state in ("pending", "running"):
            from errands.engine.daemon.outcome import retry_view

            view = evolve(view, retry=retry_view(self.store, view))
        if view.latest.state != "running":
            if view.host and view.latest.started_at is not None:
                view = self._placed(view, self.home.run(view.latest.id))
            if view.state == "proposed" and view.question is None:
                return evolve(view, question=self.store.question(view.id))
            return view
        directory = self.home.run(view.latest.id)
        if view.host and (view := self._placed(view, directory)).latest.state == "pending":
            return view
        if (agent := view.agent) is not None:
            # A call that waits for approval is a question before its agent is noted as waiting.
            question, seen = self.store.question(view.id), reported_progress(directory)
            return evolve(view, progress=seen, activity_at=agent.activity_at, question=question)
        seen = reported_progress(directory) or _recognised_progress(self._output(), directory)
        return evolve(view, progress=seen, activity_at=_moment(last_output(directory)))

    def answerable(self, *, batch: str | None = None) -> list[View]:
        """List what waits for approval, newest first: proposed tasks, and agents with a waiting call."""
        views = self.list(Query(states=("proposed", "running"), batch=batch))
        return [view for view in views if view.needs_approval]

    def list(self, query: Query) -> list[View]:
        return [self.with_live_facts(each) for each in self.store.views(query)]

    def _placed(self, view: View, directory: str) -> View:
        """Add which host has a run; until one has begun it, it is pending, whatever this home calls it."""
        from errands.ports.fleet import outlook, placement

        found = placement.read(directory)
        host = "" if found is None else found.host
        if view.latest.state != "running" or (found is not None and host and found.has_begun):
            return evolve(view, runs_on=host)
        if host:
            why = f"waiting to start on {host}"
        else:
            wanted = outlook.sought(view.host, found, view.lane)
            why = outlook.read(self.home.outlook, wanted) or f"waiting for a host: {wanted[0]}"
        latest = evolve(view.latest, state="pending")
        return evolve(view, state="pending", latest=latest, runs_on=host, no_host=why)


def _moment(seconds: float | None) -> datetime | None:
    from datetime import UTC, datetime

    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _recognised_progress(output: OutputPort, directory: str) -> Progress | None:
    """Find progress in the last line of output, for tasks that do not report it explicitly."""
    from errands.model.text import progress

    try:
        piece = output.tail(directory, 1)
    except OSError:
        return None  # the task removed its log
    return progress.latest(piece.content.decode("utf-8", "replace"))
