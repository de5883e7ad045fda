"""The host side: runs of other homes, which this host carries out as ordinary tasks of its own.

A run that was taken is noted in a file until the fleet has its end, so that it is known here whatever the
fleet forgets. Its task has a key of its own, so it is submitted once however often that is tried.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from errands.engine.approval.approve import refuse_inside_a_run
from errands.engine.fleet import agent_report
from errands.engine.fleet.ahead import Ahead
from errands.engine.fleet.guest import GIVEN_UP, Guest, GuestInput, GuestNotes, next_output, outcome_of
from errands.engine.fleet.placed_run import draft_of, own_environ
from errands.model.approval import FLEET
from errands.model.errors import (
    BadValue,
    ErrandsError,
    IllegalMove,
    NotAPerson,
    NotFound,
    SessionGone,
    StoreError,
)
from errands.model.record import evolve
from errands.model.text.json_text import plain_text
from errands.ports.fleet import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.engine.engine import Engine
    from errands.engine.fleet.guest import ExitFacts, SendInput
    from errands.model.view import View
    from errands.ports.fleet import Fleet, Stop, Taken


SHORT = 0.1  # seconds after which a home is told that a run of it goes on
STREAM = 0.3  # seconds between two checks of the output of runs
POLL = 1.0  # seconds between two checks while there are none
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
        self._running: dict[str, int] = {}  # runs here by id, and their attempts
        self.epoch = 0
        os.makedirs(engine.home.guests, 0o700, exist_ok=True)
        self._notes = GuestNotes(engine.home)
        self.ahead = Ahead(engine, self._notes)

    @property
    def count(self) -> int:
        return len(self._guests)

    def tasks(self) -> set[str]:
        """Return the tasks of this home that carry out runs of others."""
        return {guest.task_id for guest in self._guests.values()}

    @property
    def rest(self) -> float:
        """Return the seconds until there may be something to send that nothing announces."""
        is_news_near = any(self._is_young(each) or each.waits for each in self._guests.values())
        return SHORT if is_news_near else STREAM if self._guests else POLL

    def _is_young(self, guest: Guest) -> bool:
        return self._engine.clock.monotonic() < guest.since + SHORT

    async def find_again(self) -> None:
        """Take up the runs that this host had when its last host process ended, or lost touch."""
        known = {each.number: each for each in await self._fleet.held(self._host, self.epoch)}
        noted = [each for each in self._notes.read() if each.number not in known]
        refused = await self._fleet.affirm(self._host, self.epoch, noted) if noted else []
        for taken in [*known.values(), *noted]:
            if taken.number in self._guests:
                continue
            guest = Guest(taken, now=self._engine.clock.monotonic())
            task_id = self._engine.id_by_key(guest.key)
            if taken.number in refused:
                self._cancel(task_id, GIVEN_UP)
                self._notes.forget(taken.number)
                continue
            if taken.ahead and taken.number in known and task_id is None:
                # It may have been given back before, and the fleet has lost that, or not said it yet.
                guest.is_given_back = True
            self._begin([guest])

    async def affirm(self) -> None:
        """Say what this host has, because the fleet may have lost its last commits."""
        mine = [each.taken for each in self._guests.values() if not each.is_given_back]
        refused = await self._fleet.affirm(self._host, self.epoch, mine)
        for number in refused:
            if (guest := self._guests.get(number)) is not None:
                self._cancel(guest.task_id, GIVEN_UP)

    def begin(self, *several: Taken) -> None:
        """Start runs that this host has taken; one can come twice, and again after this host lost it."""
        new, now = dict[int, Guest](), self._engine.clock.monotonic()
        for taken in several:
            known = new.get(taken.number) or self._guests.get(taken.number)
            if known is None or known.attempt < taken.attempt:
                new[taken.number] = Guest(taken, now=now)
        self._begin([*new.values()])

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
        if not self._guests:
            return
        self.ahead.retract_late_ones([*self._guests.values()])
        unstarted = [each for each in self._guests.values() if each.is_unstarted]
        for guest in unstarted:
            if guest.needs_steps:
                guest.steps = await self._fleet.steps(guest.number)
                guest.sent_steps = len(guest.steps)
        self._begin(unstarted)
        self._running = self._engine.store.running_attempts()
        await self._send_output([each for each in self._guests.values() if each.task_id])
        for guest in [each for each in self._guests.values() if each.task_id and each.is_agent]:
            await agent_report.report(self._engine, self._fleet, guest, host=self._host, epoch=self.epoch)
        await self._report_commands()
        if any((each.reported or {}).get("questions") for each in self._guests.values()):
            await self._apply_answers()
        over = [each for each in self._guests.values() if each.outcome is not None]
        back = [each for each in self._guests.values() if each.is_given_back]
        said = await asyncio.gather(
            *map(self._finish, over), *map(self._give_back, back), return_exceptions=True
        )
        self._drop(*(guest for guest, error in zip([*over, *back], said, strict=True) if error is None))
        if failed := [error for error in said if error is not None]:
            raise failed[0]

    async def _send_output(self, guests: Sequence[Guest]) -> None:
        """Look at runs, and send what they printed; of those that have ended, all of it."""
        while guests:
            pieces: list[Piece] = []
            one_waits = False
            for guest in guests:
                # Runs taken ahead begin in order: behind one that waits, none needs a look until it is late.
                behind_another = one_waits and guest.waits and not self.ahead.is_late(guest)
                if guest.outcome is None and not behind_another:
                    self._look_at(guest, pieces)
                    one_waits = one_waits or guest.waits
            if not pieces:
                return
            await self._fleet.store_output(pieces, host=self._host, epoch=self.epoch)
            guests = []
            for piece in pieces:
                # Meanwhile the fleet may have given it up.
                sender = self._guests.get(piece.number)
                if sender is not None and sender.attempt == piece.attempt:
                    sender.sent = piece.start + len(piece.content)
                    if sender.view is not None and not sender.view.is_live:
                        guests.append(sender)

    async def _report_commands(self) -> None:
        """Let the homes of commands know what their logs do not show; most have ended before that."""
        news: dict[Guest, dict[str, object]] = {}
        for guest in self._guests.values():
            view = guest.view
            if guest.is_agent or view is None or guest.outcome is not None or view.state == "proposed":
                continue
            if guest.waits or self._is_young(guest):
                continue
            facts = agent_report.live_facts(self._engine, view)
            if guest.body["consent"] == "none":
                facts["begun"] = True  # its home does not know before whether this host asks
            if facts != guest.reported:
                news[guest] = facts
        if news:
            views = {(guest.number, guest.attempt): facts for guest, facts in news.items()}
            await self._fleet.report_all(views, host=self._host, epoch=self.epoch)
            for guest, facts in news.items():
                guest.reported = facts

    async def _give_back(self, guest: Guest) -> None:
        await self._fleet.give_back(guest.number, attempt=guest.attempt, host=self._host, epoch=self.epoch)

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
        self._drop(*self._guests.values())
        self._notes.forget(*(taken.number for taken in self._notes.read()))

    def _begin(self, guests: Sequence[Guest]) -> None:
        if not guests:
            return
        for guest in guests:
            self._guests[guest.number] = guest
            if self.ahead.was_given_back(guest):
                guest.is_given_back = True  # and this was on its way here meanwhile
        mine = [guest for guest in guests if not guest.is_given_back]
        if mine:
            self._notes.write([guest.taken for guest in mine])
        ready = [guest for guest in mine if not guest.needs_steps]
        alone = [guest for guest in ready if guest.body.get("resume") or guest.steps]
        together = [guest for guest in ready if guest not in alone]
        for several in (*([guest] for guest in alone), *([together] if together else [])):
            self._start(several)

    def _start(self, guests: Sequence[Guest]) -> None:
        """Start several in one transaction; one that cannot be read does not keep the others from it."""
        answers: Sequence[View | ErrandsError]
        try:
            answers = [self._resumed(guests[0])] if guests[0].body.get("resume") else self._submitted(guests)
        except StoreError as error:
            _LOG.error("runs of the fleet cannot be stored yet: %s", error)
            return
        except ErrandsError as error:
            answers = [error]
        except (KeyError, TypeError, ValueError) as error:
            if len(guests) > 1:
                for guest in guests:
                    self._start([guest])
                return
            answers = [BadValue(f"its host cannot read it ({error!r}); is that an older version?")]
        for guest, answer in zip(guests, answers, strict=True):
            if isinstance(answer, ErrandsError):
                guest.outcome = {"error": str(answer)}
            else:
                guest.task_id = answer.id

    def _submitted(self, guests: Sequence[Guest]) -> Sequence[View | ErrandsError]:
        environ, drafts = own_environ(), []
        for guest in guests:
            self._notes.write_event(guest.taken)
            drafts.append(draft_of(guest.body, key=guest.key, environ=environ))
        try:
            refuse_inside_a_run(self._engine)
        except NotAPerson:  # this daemon was started there
            drafts = [evolve(draft, consent="none") for draft in drafts]
        if steps := [(each.run, each.body) for each in guests[0].steps or ()]:
            return [self._engine.sessions.take_over(drafts[0], steps)]
        return self._engine.submit_each(drafts)

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
        if not self._is_running(guest):
            waited = guest.waits
            try:
                guest.view = self._engine.store.view(guest.task_id)
            except NotFound:
                guest.outcome = {"lost": "its task was removed on the host that ran it"}
                return
            if guest.waits:
                return
            if waited:
                guest.since = self._engine.clock.monotonic()
        view = guest.view
        assert view is not None
        if view.state == "proposed":
            return self._answer(guest)
        facts = None if view.is_live else outcome_of(self._engine, view, self._exit_facts)
        if facts is None and not guest.has_grown(self._engine.home.run(view.latest.id)):
            return
        rest = next_output(self._engine, guest, facts)
        if rest is not None:
            pieces.append(rest)
        else:
            guest.outcome = facts

    def _is_running(self, guest: Guest) -> bool:
        """Return whether a run still does what it did at the last look, which says all about most of them."""
        if guest.view is None:
            return False
        last = guest.view.latest
        return last.state == "running" and self._running.get(last.id) == last.attempt

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

    async def _finish(self, guest: Guest) -> None:
        assert guest.outcome is not None
        self.ahead.note_end(guest)
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

    def _drop(self, *guests: Guest) -> None:
        gone = []
        for guest in guests:
            if guest.passing is not None:
                guest.passing.cancel()
            if self._guests.get(guest.number) is guest:
                del self._guests[guest.number]
                gone.append(guest.number)
        self._notes.forget(*gone)

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
