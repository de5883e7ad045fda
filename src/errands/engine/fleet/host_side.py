"""The host side: runs of other homes, which this host carries out as ordinary tasks of its own.

A run that was taken is noted in a file until the fleet has its end, so that it is known here whatever the
fleet forgets. Its task has a key of its own, so it is submitted once however often that is tried.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from typing import TYPE_CHECKING

from errands.engine.fleet import agent_report
from errands.engine.fleet.guest import Guest, GuestInput
from errands.engine.fleet.placed_run import draft_of, own_environ
from errands.engine.triggers import event_payload
from errands.model.approval import FLEET
from errands.model.ending import OUT_OF_TOUCH
from errands.model.errors import (
    ErrandsError,
    IllegalMove,
    NotAPerson,
    NotFound,
    SessionGone,
    StoreError,
)
from errands.model.record import evolve, fields
from errands.model.text.json_text import plain_text
from errands.ports import rundir
from errands.ports.fleet import Piece, Taken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from errands.engine.engine import Engine
    from errands.engine.fleet.guest import SendInput
    from errands.model.options.draft import Draft
    from errands.model.view import View
    from errands.ports.fleet import Fleet, Stop

    class ExitFacts(Protocol):
        def __call__(self, directory: str, attempt: int) -> dict[str, str]: ...


AT_ONCE = 64 << 10  # bytes of output of a run that are sent in one go
BEHIND = 256 << 10  # bytes of output that are sent later; of more, the beginning is left out
GIVEN_UP = "the fleet, which gave it up"  # who cancels a run that another host may have by now
PATIENCE = 30.0  # seconds for all runs to end that the fleet gave up
_LOG = logging.getLogger("errands.host")


class HostSide:
    def __init__(
        self, engine: Engine, fleet: Fleet, host: str, exit_facts: ExitFacts, send_input: SendInput
    ) -> None:
        self._engine = engine
        self._fleet = fleet
        self._host = host
        self._exit_facts = exit_facts
        self._inputs = GuestInput(engine, fleet, host, send_input)
        self._guests: dict[int, Guest] = {}
        self.epoch = 0
        os.makedirs(engine.home.guests, 0o700, exist_ok=True)

    @property
    def count(self) -> int:
        return len(self._guests)

    async def find_again(self) -> None:
        """Take up the runs that this host had when its last host process ended, or lost touch."""
        known = {each.number: each for each in await self._fleet.held(self._host, self.epoch)}
        noted = [each for each in self._notes() if each.number not in known]
        refused = await self._fleet.affirm(self._host, self.epoch, noted) if noted else []
        for taken in [*known.values(), *noted]:
            if taken.number in self._guests:
                continue
            guest = Guest(taken)
            if taken.number in refused:
                self._cancel(self._engine.id_by_key(guest.key), GIVEN_UP)
                self._forget(taken.number)
            else:
                self._begin(guest)

    async def affirm(self) -> None:
        """Say what this host has, because the fleet may have lost its last commits."""
        refused = await self._fleet.affirm(
            self._host, self.epoch, [each.taken for each in self._guests.values()]
        )
        for number in refused:
            if (guest := self._guests.get(number)) is not None:
                self._cancel(guest.task_id, GIVEN_UP)

    def begin(self, taken: Taken) -> None:
        """Start a run that this host has taken; it can come twice, and again after this host lost it."""
        known = self._guests.get(taken.number)
        if known is None or known.attempt < taken.attempt:
            self._begin(Guest(taken))

    def stop(self, stop: Stop) -> None:
        """End a run; its home asked for it."""
        guest = self._guests.get(stop.number)
        if guest is not None and guest.attempt == stop.attempt and guest.outcome is None:
            self._cancel(guest.task_id, f"{FLEET} {guest.body['from']}")

    def pause(self, number: int, *, wanted: bool) -> None:
        """Pause or continue a run; its home asked for it."""
        guest = self._guests.get(number)
        if guest is None or not guest.task_id or guest.pause == wanted:
            return
        act = self._engine.queue.pause if wanted else self._engine.queue.unpause
        try:
            act(guest.task_id, by=f"{FLEET} {guest.body['from']}")
        except (IllegalMove, NotFound):
            pass  # it is about to end
        guest.pause = wanted

    def pass_input(self, number: int, last: int) -> None:
        """Pass on the input of a run, up to the piece `last`, without holding up anything else."""
        guest = self._guests.get(number)
        if guest is not None and guest.task_id and guest.taken_inputs < last:
            self._inputs.pass_on(guest, epoch=self.epoch)

    async def work(self) -> None:
        """Send what runs printed, and report those that ended."""
        pieces: list[Piece] = []
        for guest in list(self._guests.values()):
            if guest.needs_steps and not guest.task_id:
                guest.steps = await self._fleet.steps(guest.number)
                guest.sent_steps = len(guest.steps)
            if guest.outcome is None:
                self._look_at(guest, pieces)
        if pieces:
            await self._fleet.store_output(pieces, host=self._host, epoch=self.epoch)
            for piece in pieces:
                # Meanwhile the fleet may have given it up.
                sender = self._guests.get(piece.number)
                if sender is not None and sender.attempt == piece.attempt:
                    sender.sent = piece.start + len(piece.content)
        for guest in [each for each in self._guests.values() if each.task_id]:
            await (self._report(guest) if guest.is_agent else self._report_command(guest))
        if any(each.reported.get("questions") for each in self._guests.values()):
            await self._apply_answers()
        await asyncio.gather(
            *(self._finish(each) for each in self._guests.values() if each.outcome is not None)
        )

    async def _report_command(self, guest: Guest) -> None:
        """Let the home of a command know what its log does not show; of most there is nothing to say."""
        view = guest.view
        if view is None or guest.outcome is not None or view.state == "proposed":
            return
        facts = self._live_facts(view)
        if guest.body["consent"] == "none":
            facts["begun"] = True  # its home does not know before whether this host asks
        if facts != guest.reported:
            await self._fleet.report(
                guest.number, attempt=guest.attempt, host=self._host, epoch=self.epoch, view=facts
            )
            guest.reported = facts

    def _live_facts(self, view: View) -> dict[str, object]:
        """Return what only the directory of a run shows."""
        directory, facts = self._engine.home.run(view.latest.id), dict[str, object]()
        if (text := rundir.progress_text(directory)) is not None:
            facts["progress"] = text
        if view.is_live and rundir.is_paused(directory):
            facts["paused"] = True
        return facts

    async def _report(self, guest: Guest) -> None:
        """Let the home of an agent know what is new about it."""
        try:
            view = self._engine.view(guest.task_id)
        except NotFound:
            return
        await self._send_steps(guest, view)
        events = agent_report.events_of(self._engine, view)
        facts = {
            **agent_report.facts_of(self._engine, view), **self._live_facts(view), "events": len(events)
        }  # fmt: skip
        if facts == guest.reported:
            return
        number, attempt = guest.number, guest.attempt
        events = events[guest.sent_events :]
        if events:
            await self._fleet.store_events(
                number, attempt=attempt, host=self._host, epoch=self.epoch, since=guest.sent_events,
                events=events,
            )  # fmt: skip
            guest.sent_events += len(events)
        await self._fleet.report(number, attempt=attempt, host=self._host, epoch=self.epoch, view=facts)
        guest.reported = facts

    async def _send_steps(self, guest: Guest, view: View) -> None:
        """Send the fleet what another host needs to continue an agent, if this one is lost."""
        steps = agent_report.steps_of(self._engine, view)[guest.sent_steps :]
        if steps:
            await self._fleet.store_steps(
                guest.number, attempt=guest.attempt, host=self._host, epoch=self.epoch,
                since=guest.sent_steps, run=view.latest.id, bodies=steps,
            )  # fmt: skip
            guest.sent_steps += len(steps)

    async def _apply_answers(self) -> None:
        for reply in await self._fleet.agent_answers(self._host, self.epoch):
            guest = self._guests.get(reply.number)
            if guest is not None and guest.attempt == reply.attempt and guest.task_id:
                origin = str(guest.body["from"])
                agent_report.apply(self._engine, guest.task_id, reply.question, reply.answer, origin=origin)

    async def end_all(self) -> None:
        """End every run, because the fleet has given this host up: another one may have them by now."""
        for guest in self._guests.values():
            self._cancel(guest.task_id, GIVEN_UP)
        limit = asyncio.get_running_loop().time() + PATIENCE
        while any(self._is_live(guest) for guest in self._guests.values()):
            if asyncio.get_running_loop().time() > limit:
                _LOG.error("runs that the fleet gave up do not end")
                break
            await asyncio.sleep(0.1)
        for guest in list(self._guests.values()):
            self._drop(guest)
        for taken in self._notes():
            self._forget(taken.number)

    def _begin(self, guest: Guest) -> None:
        self._guests[guest.number] = guest
        self._write_note(guest.taken)
        if guest.needs_steps:
            return
        try:
            view = self._resumed(guest) if guest.body.get("resume") else self._submitted(guest)
        except StoreError as error:
            _LOG.error("run %d of the fleet cannot be stored yet: %s", guest.number, error)
        except ErrandsError as error:
            guest.outcome = {"error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            guest.outcome = {"error": f"its host cannot read it ({error!r}); is that an older version?"}
        else:
            guest.task_id = view.id

    def _submitted(self, guest: Guest) -> View:
        if "event" in guest.body:
            event_payload.keep(self._event_note(guest.number), guest.body["event"])
        draft = draft_of(guest.body, key=guest.key, environ=own_environ())
        steps = [(each.run, each.body) for each in guest.steps or ()]

        def submit(draft: Draft) -> View:
            return self._engine.sessions.take_over(draft, steps) if steps else self._engine.submit(draft)

        try:
            return submit(draft)
        except NotAPerson:  # this daemon was started inside a run
            return submit(evolve(draft, consent="none"))

    def _resumed(self, guest: Guest) -> View:
        """Send another prompt to the session of an agent that ran here before."""
        task_id = str(guest.body["resume"])
        try:
            if self._engine.task(task_id).door != FLEET:
                raise NotFound(task_id)  # only what other homes started here is theirs
            return self._engine.sessions.resume(task_id, guest.body["prompt"], key=guest.key, may_start=False)
        except (NotFound, SessionGone) as error:
            raise SessionGone(f"its host no longer has the session ({error}); start a new prompt") from error

    def _look_at(self, guest: Guest, pieces: list[Piece]) -> None:
        if not guest.task_id:
            return self._begin(guest)
        try:
            view = self._engine.view(guest.task_id)
        except NotFound:
            guest.outcome = {"lost": "its task was removed on the host that ran it"}
            return
        guest.view = view
        if view.state == "proposed":
            return self._answer(guest)
        rest = self._new_output(guest, has_ended=not view.is_live)
        if rest is not None:
            pieces.append(rest)
        elif not view.is_live:
            guest.outcome = self._outcome(view)

    def _new_output(self, guest: Guest, *, has_ended: bool) -> Piece | None:
        """Return the next piece of output; leave some out if the run prints more than can be sent."""
        try:
            total = self._engine.tail(guest.task_id, 0).next_offset
            most = BEHIND if has_ended else AT_ONCE
            start = total - most if total - guest.sent > BEHIND else guest.sent
            if start >= total:
                return None
            piece = self._engine.output(guest.task_id, offset=start, limit=AT_ONCE)
        except OSError:
            return None  # the task removed its log
        if not piece.content:
            return None
        return Piece(number=guest.number, attempt=guest.attempt, start=piece.offset, content=piece.content)

    def _answer(self, guest: Guest) -> None:
        """Start a task that a person approved at its home; otherwise have that person asked."""
        engine, task = self._engine, self._engine.task(guest.task_id)
        question = engine.question(task.id)
        if question is None:
            return
        if guest.body["digest"] == task.digest:
            by = f"{guest.body['approved_by']} ({guest.body['from']})"
            now = engine.clock.now()
            with engine.store:
                if engine.store.answer(question.id, "granted", by=by, door=FLEET, now=now, scope="once"):
                    engine.store.grant(task.id, by=by, door=FLEET, now=now)
            engine.bell.ring_about([task.id])
            return
        reasons = [{"text": each.text, "undo": each.undo, "kind": each.kind} for each in question.reasons]
        guest.outcome = {"ask": plain_text(reasons), "digest": task.digest}
        self._cancel(task.id, f"{FLEET}: its home is asked")

    def _outcome(self, view: View) -> dict[str, object]:
        run = view.latest
        facts: Mapping[str, object] = self._exit_facts(self._engine.home.run(run.id), run.attempt)
        if facts.get("stop") == "fuse":
            return {"lost": OUT_OF_TOUCH}
        if run.failure in ("lost", "interrupted"):
            return {"lost": run.error or "its host does not know how it ended"}
        if facts:
            return dict(facts)
        return {"stop": "cancel"} if run.state == "cancelled" else {"error": run.error or run.state}

    async def _finish(self, guest: Guest) -> None:
        assert guest.outcome is not None
        if "lost" in guest.outcome:
            accepted = await self._fleet.lose(
                guest.number,
                attempt=guest.attempt,
                host=self._host,
                epoch=self.epoch,
                why=str(guest.outcome["lost"]),
            )
        else:
            accepted = await self._fleet.finish(
                guest.number, attempt=guest.attempt, host=self._host, epoch=self.epoch, outcome=guest.outcome
            )
        if not accepted:
            _LOG.warning("the fleet had given up run %d before it ended here", guest.number)
        self._drop(guest)

    def _drop(self, guest: Guest) -> None:
        if guest.passing is not None:
            guest.passing.cancel()
        if self._guests.get(guest.number) is guest:
            del self._guests[guest.number]
            self._forget(guest.number)

    def _is_live(self, guest: Guest) -> bool:
        try:
            return bool(guest.task_id) and self._engine.view(guest.task_id).is_live
        except NotFound:
            return False

    def _cancel(self, task_id: str | None, by: str) -> None:
        if task_id:
            try:
                self._engine.cancel([task_id], by=by)
            except NotFound:
                pass  # it was removed

    def _note(self, number: int) -> str:
        return f"{self._engine.home.guests}/{number}"

    def _event_note(self, number: int) -> str:
        return event_payload.guest_file(self._engine.home, number)

    def _write_note(self, taken: Taken) -> None:
        path = self._note(taken.number)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(plain_text({name: getattr(taken, name) for name in fields(taken)}))
        os.replace(f"{path}.new", path)

    def _notes(self) -> list[Taken]:
        """Read what this host has by its own account."""
        found = []
        for name in filter(str.isdecimal, os.listdir(self._engine.home.guests)):
            with open(self._note(int(name)), encoding="utf-8") as file:
                found.append(Taken(**json.load(file)))
        return found

    def _forget(self, number: int) -> None:
        for path in (self._note(number), self._event_note(number)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
