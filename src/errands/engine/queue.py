"""The queue: pause and hold tasks, edit them before they start, move them, and set the widths of lanes.

One word for each thing: a *schedule* or a *running task* is paused and unpaused, a *pending task* is held and
released; `resume` stays the word for continuing an agent's conversation. In the store holding and pausing
are one fact about the live run, so a task that starts at the wrong moment is paused instead of held.
"""

from __future__ import annotations

from errands.engine.bell_client import LANE
from errands.model.errors import BadValue, IllegalMove
from errands.model.limits import UNKNOWN_LANE, Lane, lane_widths
from errands.model.record import evolve
from errands.model.states import LIVE, predicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from errands.engine.approval.ruling import Ruling, Seen
    from errands.engine.core import EngineCore
    from errands.engine.triggers.schedules import Schedules
    from errands.model.approval import Consent
    from errands.model.options.draft import Draft
    from errands.model.states import RunState
    from errands.model.view import View

MOST_WIDE = 10_000
AGENT = (
    "a running agent cannot be paused: its request to the model would break off; "
    "cancel it, or pause the commands that it has started"
)


class Queue:
    def __init__(
        self,
        core: EngineCore,
        *,
        schedules: Callable[[], Schedules],
        rule: Callable[[Draft, Seen], tuple[Draft, Ruling]],
    ) -> None:
        self._core = core
        self._store = core.store
        self._schedules = schedules
        self._rule = rule

    # Pausing and holding.

    def pause(self, task_id: str, *, by: str | None = None, run: bool = False) -> View:
        """Pause a task: suspend all processes of a running one, hold a pending one.

        Of a recurring task the schedule is paused, or with `run` its current run. Idempotent.
        """
        view = self._core.view(self._core.resolve(task_id))
        if view.standing is not None and not run:
            return self._schedules().pause(view.id, by=by)
        return self._pause(view.id, LIVE, by)

    def unpause(self, task_id: str, *, by: str | None = None, run: bool = False) -> View:
        """Continue a paused task, release a held one, or let a paused schedule fire again. Idempotent."""
        view = self._core.view(self._core.resolve(task_id))
        if view.standing is not None and not run:
            return self._schedules().unpause(view.id)
        return self._unpause(view.id, LIVE, by)

    def hold(self, task_id: str, *, by: str | None = None) -> View:
        """Keep a pending task from starting until it is released. Idempotent."""
        return self._pause(self._core.resolve(task_id), ("pending",), by)

    def release(self, task_id: str) -> View:
        """Let a held task start when its turn comes. Idempotent."""
        return self._unpause(self._core.resolve(task_id), ("pending",), None)

    def _pause(self, task_id: str, states: tuple[RunState, ...], by: str | None) -> View:
        from errands.engine.actor import actor

        now, who = self._core.clock.now(), by or actor()
        with self._store:
            view = self._store.view(task_id)
            run, state = view.latest, self._state(view)
            is_pending = state == "pending"
            if not view.is_live:
                what = "pause" if "running" in states else "hold"
                other = f"; `errands pause {task_id}` pauses its schedule" if view.state == "active" else ""
                raise IllegalMove(
                    f"task {task_id} {predicate(view.state)}; there is nothing to {what}{other}"
                )
            if state not in states:
                raise IllegalMove(f"task {task_id} is running already; `errands pause {task_id}` suspends it")
            if view.is_cancelling:
                raise IllegalMove(f"task {task_id} is being cancelled, so it cannot be paused")
            if view.agent is not None and not is_pending:
                raise IllegalMove(f"task {task_id}: {AGENT}")
            if self._store.pause_run(run.id, state=run.state, by=who, now=now):
                self._note(view, "held" if is_pending else "paused", f"by {who}")
        return self._changed(view)

    def _unpause(self, task_id: str, states: tuple[RunState, ...], by: str | None) -> View:
        from errands.engine.actor import actor

        now, who = self._core.clock.now(), by or actor()
        with self._store:
            view = self._store.view(task_id)
            run = view.latest
            is_paused = run.paused_at is not None if view.is_live else view.state == "paused"
            if not view.is_live and not is_paused:
                what = "paused" if "running" in states else "held"
                raise IllegalMove(f"task {task_id} {predicate(view.state)}; it is not {what}")
            state = self._state(view)
            if state not in states and is_paused:
                raise IllegalMove(
                    f"task {task_id} is paused, not held; `errands unpause {task_id}` continues it"
                )
            if self._store.unpause_run(run.id, state=run.state, now=now):
                self._note(view, "released" if state == "pending" else "continued", f"by {who}")
        return self._changed(view)

    def _state(self, view: View) -> RunState:
        """Return the state of the latest run; a placed one is pending until a host has begun it."""
        return (self._core.with_live_facts(view) if view.host else view).latest.state

    def _note(self, view: View, what: str, detail: str) -> None:
        now = self._core.clock.now()
        self._store.add_event(view.id, what, run=view.latest.number, now=now, detail=detail)

    def _changed(self, view: View) -> View:
        self._core.bell.ring_about([view.id])
        self._core.ensure_daemon()  # only the daemon stops processes, or starts what is released
        return self._core.summaries([view.id])[0]

    def has_settled(self, view: View) -> bool:
        """Return whether the processes of a running task have stopped, or continued, as the store says."""
        from errands.ports.rundir import is_paused

        if view.latest.state != "running" or view.is_cancelling:
            return True
        return is_paused(self._core.home.run(view.latest.id)) == view.is_paused

    # Order.

    def move(self, task_id: str, *, before: str | None = None, last: bool = False) -> View:
        """Move a pending task in its lane: to the front, to the end, or before another task of the lane.

        It takes the priority of its new neighbour, which a higher one would overtake otherwise.
        """
        if before is not None and last:
            raise BadValue("a task moves before another one or to the end, not both; leave one out")
        core, store = self._core, self._store
        task_id = core.resolve(task_id)
        other_id = None if before is None else core.resolve(before)
        with store:
            view = _pending(store.view(task_id), "only a pending task can be moved")
            queue = [each for each in store.lane_order(view.lane) if each != view.latest.id]
            target = queue[0] if queue and not last else None
            if other_id is not None:
                other = _pending(store.view(other_id), "another one can only be put before a pending task")
                if other.lane != view.lane or other.id == view.id:
                    raise BadValue(
                        f"{other.id} is in lane {other.lane}, and {view.id} in lane {view.lane}"
                        if other.lane != view.lane
                        else f"{view.id} cannot be moved before itself"
                    )
                target = other.latest.id
            store.move_run(view.latest.id, before=target)
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    def order(self, lane: str) -> list[str]:
        """Return the tasks that wait in a lane, in the order they would start."""
        return [each.rpartition(".")[0] for each in self._store.lane_order(lane)]

    # Editing.

    def edit(
        self,
        task_id: str,
        *,
        consent: Consent = "none",
        door: str = "python",
        within: str | None = None,
        **changes: Any,
    ) -> View:
        """Change a pending task before it starts, or a recurring one between two runs.

        It is judged again, and its question is asked again. `changes` are the command or the prompt and task
        options, as in a draft. What is not given stays as it is.
        """
        from errands.engine.submit.edit import Editor, check_changes, drafted

        core, store = self._core, self._store
        task_id = core.resolve(task_id)
        view, task = store.view(task_id), store.task(task_id)
        check_changes(view, task, changes)
        draft = drafted(task, changes, store.environment(task.action.environment))
        draft, ruling = self._rule(evolve(draft, consent=consent, door=door, within=within), {})
        core.ensure_daemon()
        with store:
            editor = Editor(store, core.config, core.home.runs, core.consent)
            editor.edit(task, view, draft, ruling, changes, now=core.clock.now())
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    # Lanes.

    def lanes(self) -> list[Lane]:
        """List the lanes: how wide each is, who set that, and how many runs it has."""
        configured = self._core.config.lanes
        chosen = {each.name: each for each in self._store.lane_widths()}
        widths = lane_widths(configured, chosen.values())
        use = self._store.lane_load()
        found = []
        for name in dict.fromkeys((*widths, *sorted(use))):
            setting = chosen.get(name)
            running, pending = use.get(name, (0, 0))
            found.append(
                Lane(
                    name=name,
                    width=widths.get(name, UNKNOWN_LANE),
                    configured=configured.get(name),
                    running=running,
                    pending=pending,
                    set_by=None if setting is None else setting.by,
                    set_at=None if setting is None else setting.at,
                )
            )
        return found

    def has_room(self, name: str) -> bool:
        """Return whether a lane has a free slot."""
        used, _ = self._store.lane_load().get(name, (0, 0))
        return used < self._core.lane_widths().get(name, UNKNOWN_LANE)

    def set_lane(self, name: str, width: int | None, *, by: str | None = None) -> Lane:
        """Set how many tasks a lane runs at once, from now on; None: as the configuration says.

        Runs beyond a smaller width continue; 0 starts nothing until the lane is wider. A new name is a new
        lane.
        """
        from errands.engine.actor import actor

        check_lane(name, width)
        with self._store:
            if width is None:
                self._store.unset_lane(name)
            else:
                self._store.set_lane(name, width, by=by or actor(), now=self._core.clock.now())
        self._core.bell.ring_about([f"{LANE}{name}"])
        return next(
            (each for each in self.lanes() if each.name == name),
            Lane(name=name, width=UNKNOWN_LANE, configured=None, running=0, pending=0),
        )


def _pending(view: View, rule: str) -> View:
    if view.latest.state != "pending" or not view.latest.number:
        raise IllegalMove(f"task {view.id} {predicate(view.state)}; {rule}")
    return view


def check_lane(name: str, width: int | None) -> None:
    """Refuse a name or a width that no lane can have."""
    from errands.config.keys import LANE_NAME, key_of

    if key_of("lanes", name) is None:
        raise BadValue(f"a lane cannot be called {name!r}; {LANE_NAME}")
    if width is not None and not 0 <= width <= MOST_WIDE:
        raise BadValue(f"the width of a lane must be between 0 and {MOST_WIDE} (got {width})")
