"""The notice side: what this home reports for others, and what others report to owners here.

While the home of a task is asleep, another home that has a channel of the same name reports the end of the
task there; who does is decided in the fleet, so it is reported once. The owner of a schedule that another
home keeps gets its notices as letters. Everything here can be repeated: an outbox has each notice once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.engine.fleet.far_task import ending, error_of_outcome, state_of
from errands.engine.notices.outbox import clipped
from errands.model.approval import KEPT
from errands.model.notices.notice import Address, should_notify
from errands.model.text.json_text import plain_text
from errands.model.text.mask import Mask

if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.ports.fleet import Fleet
    from errands.ports.fleet.membership import Membership
    from errands.ports.fleet.notices import Letter, Unreported

LOOK = 2.0  # seconds between two looks


class NoticeSide:
    def __init__(self, engine: Engine, fleet: Fleet, membership: Membership) -> None:
        self._engine = engine
        self._fleet = fleet
        self._me = membership

    async def work(self) -> None:
        await self._receive()
        await self._pass_on()
        if channels := list(self._engine.config.channels):
            await self._stand_in(channels)

    async def _receive(self) -> None:
        """Put letters into the inboxes of their owners here."""
        letters = await self._fleet.letters(self._me.id)
        if not letters:
            return
        with self._engine.store:
            for letter in letters:
                self._keep(letter)
        await self._fleet.take_letters(self._me.id, [each.number for each in letters])
        self._engine.bell.ring()

    def _keep(self, letter: Letter) -> None:
        said = letter.body
        inbox = Address(channel="inbox", target=str(said["owner"]))
        now = self._engine.clock.now()
        self._engine.store.add_notice(
            str(said["run"]), str(said["event"]), inbox, body=str(said["body"]), now=now
        )

    async def _pass_on(self) -> None:
        """Send the notices of schedules that are kept here to their owners at other homes."""
        store = self._engine.store
        for notice in store.inbox_beginning(f"{KEPT}:"):
            _, home, owner = notice.address.target.split(":", 2)
            body = {"owner": owner, "run": notice.run_id, "event": notice.event, "body": notice.body}
            if await self._fleet.post(home, sender=self._me.id, token=str(notice.id), body=body):
                with store:
                    store.mark_delivered([notice.id], now=self._engine.clock.now())

    async def _stand_in(self, channels: list[str]) -> None:
        """Report what homes that are out of touch cannot report."""
        for each in await self._fleet.unreported(self._me.id, channels):
            if not _is_reported(each):
                continue
            address = Address(channel=each.channel, target=each.target)
            name = f"{each.channel}:{each.target}"
            if await self._fleet.claim_notices(each.number, self._me.id, [name]):
                continue  # another one was quicker
            state = state_of(each.outcome, is_taken=False)
            run_id, now = each.key.rpartition(":")[0], self._engine.clock.now()
            with self._engine.store:
                self._engine.store.add_notice(
                    run_id, state, address, body=_body(each, run_id, state), now=now
                )
            await self._fleet.queued_notice(each.number, self._me.id, name)
            self._engine.bell.ring()


def _is_reported(end: Unreported) -> bool:
    """Return whether the home of a task would report this end; what only it can know is left to it."""
    state, goes_on = state_of(end.outcome, is_taken=False), end.body.get("goes_on")
    failed = state == "failed"
    if state == "proposed" or (goes_on == "failed" and failed):
        return False
    policy = end.body.get("notify", "never")
    if policy == "on_change" and goes_on == "always":
        return False
    return should_notify(policy, failed=failed, is_empty=not int(end.outcome.get("bytes", 0)))


def _body(end: Unreported, run_id: str, state: str) -> str:
    """Return the body of a notice as the home of the task would write it, without the task's secrets."""
    found, mask = ending(end.outcome), Mask(dict(end.body.get("env", {})))
    error = error_of_outcome(end.outcome)
    texts = {
        "description": clipped(str(end.body.get("description", "")), 200),
        "command": clipped(str(end.body.get("shown", "")), 200),
        "error": clipped(error, 400) if error else None,
    }
    return plain_text(
        {
            "task": end.task,
            "run": run_id,
            "state": state,
            **{name: None if text is None else mask.text(text) for name, text in texts.items()},
            "exit_code": found.code,
            "signal": found.signal,
            "summary": None,
            "elapsed": None,
        }
    )
