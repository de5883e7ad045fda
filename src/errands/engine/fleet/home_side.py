"""The home side: runs of this home that other hosts carry out, from their offer to their recorded end.

Everything here can be repeated, and is, after a crash: an offer counts once, the mirror of a run is written
again from what the fleet has stored, and an end is acknowledged only when the store of this home has it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from errands.engine.fleet.agent_mirror import AgentMirror
from errands.engine.fleet.far_task import FOLLOWED
from errands.engine.fleet.input_side import InputSide
from errands.engine.fleet.placed_run import Asked, key_of, may_be_asked, placed
from errands.engine.fleet.requests import carry_out
from errands.engine.log_header import log_header
from errands.engine.triggers.event_payload import packed, prompt_with_event
from errands.model.action import Prompt
from errands.model.agent.session import remote_place
from errands.model.errors import NotFound
from errands.model.run import task_of
from errands.ports import rundir
from errands.ports.fleet.placement import LOST_HOST, Places

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from errands.engine.engine import Engine
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.fleet import Fleet, Placed, PlacedView, Request
    from errands.ports.fleet.membership import Membership
    from errands.ports.fleet.placement import Placement

    class Mirror(Protocol):
        """Writes the log and the run record of an attempt that another host carries out."""

        position: int

        def feed(self, start: int, content: bytes) -> None: ...
        def finish(self, facts: Mapping[str, object]) -> None: ...

    class Mirrors(Protocol):
        def __call__(
            self, directory: str, run_id: str, *, attempt: int, header: bytes, cap: int
        ) -> Mirror: ...

    class HasEnded(Protocol):
        def __call__(self, directory: str, attempt: int) -> bool: ...

    _Mirrored = tuple[PlacedView, Task, Run, Mirror]


READ_AT_ONCE = 500  # runs of this home that are read in one query
AT_ONCE = 32  # runs that are offered in one call, or recorded before the daemon looks at them
OFFERING = 1.0  # seconds in which runs are offered before everything else has its turn
SHORT = 0.2  # seconds after which the output of a run is followed
REQUESTS = 0.5  # seconds between two checks of what other homes want
ABANDONED_GRACE = 5.0  # seconds for a run that its home has no use for any more


class HomeSide:
    def __init__(
        self, engine: Engine, fleet: Fleet, membership: Membership, mirrors: Mirrors, has_ended: HasEnded
    ) -> None:
        self._engine = engine
        self._fleet = fleet
        self._me = membership
        self._open_mirror = mirrors
        self._has_ended = has_ended
        self._known: dict[str, tuple[Task, Run]] = {}
        self._offered: set[str] = set()
        self._places = Places()
        self.has_news = True  # whether the fleet may know something about runs of this home
        self.is_behind = False  # there is more to offer than fits into one turn
        self._cancelled: set[str] = set()
        self._told_pauses: dict[str, bool] = {}
        self._recorded: list[str] = []  # tasks that the daemon is to be told about
        self._inputs = InputSide(engine, fleet, membership.id)
        self._mirrors: dict[tuple[str, int], Mirror] = {}
        self._followed: dict[int, float] = {}
        self._streams: set[int] = set()  # the runs whose output was asked for as it is printed
        self._next_requests = 0.0
        self._requests_under_way: list[Request] = []
        self._agents = AgentMirror(engine, fleet)

    @property
    def rest(self) -> float:
        """Return the seconds until there is something to do that nothing announces."""
        if self.is_behind:
            return 0.0
        due = min(self._followed.values(), default=math.inf)
        return max(0.0, due - self._engine.clock.monotonic())

    def unplaced(self) -> list[tuple[Task, Placement]]:
        """Return the tasks with runs that were offered and that no host has yet."""
        offered = [self._known[key] for key in self._offered & self._known.keys()]
        places = [(task, self._place_of(run)) for task, run in offered]
        return [(task, where) for task, where in places if where is not None and not where.host]

    def offer_again(self) -> None:
        """Offer all that is placed once more, because the fleet may have lost its last commits."""
        self._offered.clear()
        self._cancelled.clear()
        self._told_pauses.clear()
        self._inputs.send_again()

    async def work(self) -> None:
        """Offer what was claimed, pass on what is cancelled, and record what the fleet knows."""
        await self._look_for_requests()
        running = self._running()
        paused = set(self._engine.store.paused_runs()) if running else set()
        await self._offer_new(running)
        for key, (task, run) in running.items():
            if key not in self._offered:
                continue
            if run.stop_requested_at is not None and key not in self._cancelled:
                grace = task.limits.grace.total_seconds()
                await self._fleet.cancel(self._me.id, key, grace=grace)
                self._cancelled.add(key)
            if self._told_pauses.get(key) != (wanted := run.id in paused):
                await self._tell_pause(key, run, wanted=wanted)
            if task.takes_input:
                await self._inputs.send(key, run)
        self._offered &= running.keys()
        self._cancelled &= running.keys()
        self._told_pauses = {key: each for key, each in self._told_pauses.items() if key in running}
        self._inputs.keep_only(running)
        results: list[PlacedView] = []
        if running or self.has_news:
            self.has_news = False
            results = await self._fleet.results(self._me.id)
            self.has_news = bool(results)
        self._note_losses(running, {view.key for view in results})
        await self._follow([each.number for each in results if each.outcome is None and each.key in running])
        try:
            recorded = await self._record_all(results, running)
        finally:  # the fleet may become unreachable before all is recorded
            self._ring()
        await self._answer_requests(self._requests_under_way)
        if recorded:
            continued = [key for key, task_id in recorded.items() if self._goes_on(task_id)]
            await self._fleet.acknowledge(self._me.id, [*recorded], continued=continued)
        self._mirrors = {key: each for key, each in self._mirrors.items() if key[0] in running}
        self._agents.keep_only(running)

    def _running(self) -> dict[str, tuple[Task, Run]]:
        """Return what is placed; of what is known already, only a request to stop it is news."""
        store, known = self._engine.store, self._known
        attempts = store.running_attempts(placed=True)
        new = [task_of(each)[0] for each, attempt in attempts.items() if f"{each}:{attempt}" not in known]
        found = dict(known)
        for at in range(0, len(new), READ_AT_ONCE):
            # For a damaged one it is as for the daemon: it is not there.
            found |= {key_of(run): (task, run) for task, run in store.running(new[at : at + READ_AT_ONCE])[0]}
        keys = [f"{run_id}:{attempt}" for run_id, attempt in attempts.items()]
        self._known = {key: found[key] for key in keys if key in found}
        for run in store.stopping():
            if (before := self._known.get(key_of(run))) is not None:
                self._known[key_of(run)] = (before[0], run)
        for key in known.keys() - self._known.keys():
            self._places.forget(self._engine.home.run(known[key][1].id))
        return self._known

    async def _record_all(
        self, results: list[PlacedView], running: Mapping[str, tuple[Task, Run]]
    ) -> dict[str, str]:
        """Record what is new; return the keys whose ends the store of this home has, and their tasks."""
        recorded: dict[str, str] = {}
        mirrored: list[_Mirrored] = []
        for view in results:
            if view.key in running:
                if view.state == "doubted":
                    continue  # it is offered again with the next renewal
                found = await self._record(view, *running[view.key])
                if found is not None:
                    mirrored.append(found)
                if len(mirrored) == AT_ONCE:
                    await self._bring_output(mirrored)
                    mirrored.clear()
                self._ring(at=AT_ONCE)
            elif view.state == "ended":
                recorded[view.key] = view.task
            else:
                await self._fleet.cancel(self._me.id, view.key, grace=ABANDONED_GRACE)
        await self._bring_output(mirrored)
        return recorded

    async def _bring_output(self, mirrored: list[_Mirrored]) -> None:
        """Bring what several runs printed, as much as one answer has each time; then record their ends."""
        by_number = {view.number: mirror for view, *_, mirror in mirrored}
        while wanted := [
            (view.number, view.attempt, mirror.position)
            for view, *_, mirror in mirrored
            if self._may_have_more(view, mirror)
        ]:
            pieces = await self._fleet.outputs(wanted)
            for piece in pieces:
                by_number[piece.number].feed(piece.start, piece.content)
            if not pieces:
                break
        for view, task, run, mirror in mirrored:
            if view.outcome is not None:
                await self._claim_notices(view, task, run)
                mirror.finish(view.outcome)
                self._recorded.append(task.id)

    def _may_have_more(self, view: PlacedView, mirror: Mirror) -> bool:
        """Return whether the fleet may have output of a run; most are over before any is asked for."""
        if view.outcome is None:
            return view.number in self._streams
        return str(view.outcome.get("bytes")) != str(mirror.position)

    def _goes_on(self, task_id: str) -> bool:
        """Return whether a task is not over, although its run has ended."""
        try:
            return not self._engine.has_ended(task_id)
        except NotFound:
            return False

    async def _look_for_requests(self) -> None:
        """Do what other homes want done with tasks that are placed; rarely, because it costs a question."""
        now = self._engine.clock.monotonic()
        if now < self._next_requests:
            return
        await self._answer_requests(await self._fleet.requests(self._me.id))
        self._next_requests = now + REQUESTS

    async def _answer_requests(self, requests: list[Request]) -> None:
        self._requests_under_way = []
        for request in requests:
            reply = carry_out(self._engine, request)
            if reply is None:
                self._requests_under_way.append(request)
            else:
                await self._fleet.reply(self._me.id, request.number, reply)

    async def _tell_pause(self, key: str, run: Run, *, wanted: bool) -> None:
        """Tell the fleet that a run is to be paused or continued."""
        # After a restart, or when the fleet may have lost it, only the directory knows what was ever wanted.
        is_known = key in self._told_pauses or wanted
        if is_known or rundir.pause_wanted(self._engine.home.run(run.id)) is not None:
            await self._fleet.pause(self._me.id, key, wanted=wanted)
        self._told_pauses[key] = wanted

    async def _offer_new(self, running: Mapping[str, tuple[Task, Run]]) -> None:
        """Offer what was claimed, a few in one call; what is to be cancelled comes first."""
        new = [each for key, each in running.items() if key not in self._offered]
        new.sort(key=lambda each: each[1].stop_requested_at is None)
        until = self._engine.clock.monotonic() + OFFERING
        self.is_behind = False
        while new and not self.is_behind:
            offers = [
                offer for task, run in new[:AT_ONCE] if (offer := self._offer_of(task, run)) is not None
            ]
            if offers:
                await self._fleet.offer_all(offers)
                self._offered.update(offer.key for offer in offers)
            new = new[AT_ONCE:]
            self.is_behind = bool(new) and self._engine.clock.monotonic() > until

    def _offer_of(self, task: Task, run: Run) -> Placed | None:
        where = self._place_of(run)
        if where is None:
            return None  # the daemon is about to start it
        asked = self._asked(task, run) if isinstance(task.action, Prompt) else None
        event = packed(self._engine.store, task, run)
        offer = placed(task, run, where, home=self._me.id, name=self._me.name, asked=asked, event=event)
        if offer.selector != (where.sought or task.host):
            self._note_place(run, sought=offer.selector)
        return offer

    def _asked(self, task: Task, run: Run) -> Asked:
        """Return what an agent is asked in a run; a resume goes to the host that has the session."""
        store = self._engine.store
        with store:
            store.add_exchange(run.id, prompt_with_event(self._engine, task, run.id, task.action.line))
        exchange, session = store.exchange(run.id), store.session(task.id)
        assert exchange is not None
        place = None if session is None or run.cause != "resume" else remote_place(session.name)
        if place is None:
            return Asked(text=exchange.text)
        return Asked(text=exchange.text, host=place[0], session=place[1])

    async def _record(self, view: PlacedView, task: Task, run: Run) -> _Mirrored | None:
        """Record what is known about a run but its output, which may be missing."""
        directory = self._engine.home.run(run.id)
        if self._has_ended(directory, run.attempt):
            self._recorded.append(task.id)  # the daemon has not noticed, or is not there
            return None
        outcome = view.outcome
        if outcome is not None and "ask" in outcome:
            where = self._place_of(run)
            if where is None or not where.asked:
                asked, digest = str(outcome["ask"]), str(outcome.get("digest", ""))
                self._note_place(run, host="", asked=asked, asked_on=view.host, digest=digest)
            self._recorded.append(task.id)
            return None
        if view.host:
            has_begun = outcome is not None or bool(view.view) or not may_be_asked(task)
            self._note_host(run, view.host, task.id, has_begun=has_begun)
        if not view.host and outcome is None:
            return None
        await self._agents.record(view, task, run)
        self._mirror_facts(view, directory, task.id)
        if task.takes_input:
            await self._inputs.receive(view, directory)
        return view, task, run, self._mirror(view, task, run, directory)

    def _ring(self, *, at: int = 1) -> None:
        """Have the daemon look at what was recorded, but rarely: it looks at everything placed."""
        if len(self._recorded) >= at:
            told, self._recorded = self._recorded, []
            self._engine.bell.ring_about(told)

    def _mirror_facts(self, view: PlacedView, directory: str, task_id: str) -> None:
        """Keep what only the directory of a run shows: its progress, and whether it is paused."""
        said = view.view.get("progress")
        if said is not None and said != rundir.progress_text(directory):
            rundir.write_progress(directory, str(said).encode())
            self._engine.bell.announce([task_id])
        is_paused = bool(view.view.get("paused")) and view.outcome is None
        if is_paused != rundir.is_paused(directory):
            rundir.note_paused(directory, is_paused)
            self._engine.bell.announce([task_id])

    async def _claim_notices(self, view: PlacedView, task: Task, run: Run) -> None:
        """Find out where another home has reported this end, while this one was asleep."""
        if not task.channels:
            return
        wanted = [f"{each.channel}:{each.target}" for each in task.channels]
        reported = await self._fleet.claim_notices(view.number, self._me.id, wanted)
        if reported:
            self._note_place(run, reported="\n".join(reported))

    def _note_losses(self, running: Mapping[str, tuple[Task, Run]], on_hosts: set[str]) -> None:
        """Let runs whose host was lost wait for another one, if they may run there."""
        for key, (task, run) in running.items():
            may_go_on = task.limits.on_loss == "again" or isinstance(task.action, Prompt)
            if not may_go_on or key in on_hosts or key not in self._offered:
                continue
            where = self._place_of(run)
            if where is None or not where.host:
                continue
            self._note_place(run, host="", has_begun=False)
            self._note_loss(run, where.host)
            self._engine.bell.announce([task.id])

    def _note_loss(self, run: Run, host: str) -> None:
        now = self._engine.clock.now()
        with self._engine.store as store:
            store.add_event(run.task_id, LOST_HOST, run=run.number, now=now, detail=host)

    async def _follow(self, numbers: list[int]) -> None:
        """Ask for the output of runs as it is printed, so that their logs here are up to date."""
        now = self._engine.clock.monotonic()
        # Most runs are short, and a home that is told of every start need not follow those.
        self._followed = {each: self._followed.get(each, now + SHORT) for each in numbers}
        due = sorted(each for each, at in self._followed.items() if at <= now)
        self._streams = (self._streams & self._followed.keys()) | {*due}
        if due:
            await self._fleet.follow(due, seconds=FOLLOWED)
            self._followed.update(dict.fromkeys(due, now + FOLLOWED / 2))

    def _note_host(self, run: Run, host: str, task_id: str, *, has_begun: bool) -> None:
        where = self._place_of(run)
        known = ("", False) if where is None else (where.host, where.has_begun)
        if known != (host, has_begun):
            if known[0] not in ("", host):  # another one was quick
                self._note_loss(run, known[0])
            self._note_place(run, host=host, has_begun=has_begun)
            self._engine.bell.announce([task_id])

    def _place_of(self, run: Run) -> Placement | None:
        return self._places.of(self._engine.home.run(run.id), run.attempt)

    def _note_place(self, run: Run, **facts: Any) -> None:
        self._places.note(self._engine.home.run(run.id), run.attempt, **facts)

    def _mirror(self, view: PlacedView, task: Task, run: Run, directory: str) -> Mirror:
        found = self._mirrors.get((view.key, view.attempt))
        if found is None:
            started = run.started_at or run.created_at
            is_asked = isinstance(task.action, Prompt)
            exchange = self._engine.store.exchange(run.id) if is_asked else None
            found = self._open_mirror(
                directory,
                run.id,
                attempt=run.attempt,
                header=log_header(task, run, started=started, prompt=exchange.text if exchange else None),
                cap=task.limits.output,
            )
            self._mirrors[view.key, view.attempt] = found
        return found
