"""Reports: the ends of tasks, for the sessions that are in use in this OpenCode.

A session is reported to by the OpenCode that used it last, and by none twice: a notice leaves the inbox when
OpenCode has accepted the message. Whatever ends while a session is busy is one report: it is written when the
plugin says that the session is ready for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.engine.notices.agent_report import MOST, may_have_news, message, news
from errands.engine.notices.notice_waiter import GATHER, claim, has_claim
from errands.engine.waiting import LOOK
from errands.frontends.opencode.calls import owner_of


class Reports:
    """`claimant` names the OpenCode that we serve; `send` writes a message to its plugin."""

    def __init__(self, engine: Engine, *, send: Callable[[Mapping[str, Any]], None]) -> None:
        self.claimant = ""
        self._engine = engine
        self._send = send
        self._sessions: dict[str, bool] = {}  # whether a report may be tried: not again after a refusal
        self._sent: dict[int, tuple[str, list[int]]] = {}
        self._numbers = count(1)
        self._changed = asyncio.Event()

    def watch(self, session: str) -> None:
        """Report to a session from now on; it was just used here."""
        self._engine.sessions.see_session(owner_of(session))
        claim(self._engine, owner_of(session), self.claimant)
        self.expect(session)

    def expect(self, session: str) -> None:
        """Look for something to report to a session, unless another OpenCode has used it since."""
        self._sessions[session] = True
        self._changed.set()

    def ready(self, number: int) -> None:
        """Send a report to a session that can take it now: all that has ended by now."""
        session, _ = self._sent[number]
        is_ours = has_claim(self._engine, owner_of(session), self.claimant)
        found = news(self._engine, owner_of(session))[:MOST]
        if not found or not is_ours:  # it was read meanwhile, or another OpenCode reports it
            del self._sent[number]
            self._changed.set()
            return
        self._sent[number] = session, [each.id for each in found]
        text = message(self._engine, found)
        self._send({"type": "notice", "id": number, "session": session, "text": text})

    def settle(self, number: int, *, is_delivered: bool) -> None:
        """Note whether OpenCode has accepted a report; otherwise it waits for the session's next use."""
        session, notices = self._sent.pop(number)
        if is_delivered:
            self._engine.notices.mark_delivered(notices)
        else:
            self._sessions[session] = False
        self._changed.set()

    async def run(self) -> None:
        """Send reports until cancelled; it costs nothing while no task of the sessions is open."""
        while True:
            await self._changed.wait()
            async with BellLine(self._engine, ("*",)) as line:
                while self._expecting():
                    self._changed.clear()
                    self._report()
                    await self._news(line)
                self._changed.clear()

    async def _news(self, line: BellLine) -> None:
        is_kept_back = any(news(self._engine, owner_of(each), kept_back=True) for each in self._sessions)
        rung = asyncio.ensure_future(line.news(GATHER if is_kept_back else LOOK))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({rung, changed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (rung, changed):
                each.cancel()
            await asyncio.gather(rung, changed, return_exceptions=True)
        await asyncio.sleep(GATHER / 5)  # tasks that end in a burst are reported together

    def _expecting(self) -> list[str]:
        """Return the sessions that have, or will have, something reported to them."""
        found = {each: owner_of(each) for each, may_try in self._sessions.items() if may_try}
        return [
            each
            for each, owner in found.items()
            if news(self._engine, owner, kept_back=True) or may_have_news(self._engine, owner)
        ]

    def _report(self) -> None:
        in_flight = {session for session, _ in self._sent.values()}
        for session in self._expecting():
            owner = owner_of(session)
            if session in in_flight or not has_claim(self._engine, owner, self.claimant):
                continue
            if news(self._engine, owner):
                number = next(self._numbers)
                self._sent[number] = session, []
                self._send({"type": "news", "id": number, "session": session})
