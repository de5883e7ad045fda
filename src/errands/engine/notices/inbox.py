"""The verbs and questions about notices: what an owner has not read, and what was not delivered."""

from __future__ import annotations

from errands.model.errors import NotFound
from errands.model.notices.delivery import question_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.engine.core import EngineCore
    from errands.model.notices.notice import Address, Notice
    from errands.ports.store import Store


class Inbox:
    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._store = core.store

    def unread(self, owner: str) -> list[Notice]:
        return self._store.inbox(owner)

    def after(self, owner: str, notice_id: int) -> list[Notice]:
        """List the notices of an owner that are newer than one, read or not."""
        return self._store.inbox(owner, after=notice_id)

    def last_id(self) -> int:
        return self._store.last_notice()

    def mark_delivered(self, notice_ids: Sequence[int]) -> None:
        with self._store:
            self._store.mark_delivered(notice_ids, now=self._core.clock.now())

    def is_answered(self, notice: Notice) -> bool:
        return is_answered(self._store, notice)

    def is_own(self, conversation: str, notice: Notice) -> bool:
        return is_own(self._store, conversation, notice)

    def undelivered(self, *, given_up: bool = False) -> list[Notice]:
        """List what was not delivered yet; with `given_up` only what will not be tried again."""
        return self._store.undelivered(given_up=given_up)

    def retry(self, notices: Sequence[Notice], *, everything: bool = False) -> list[int]:
        """Queue notices again that were given up, and send those now that wait for their next try.

        Notices before them in the queue of the same address are sent now as well. With `everything`, all
        that were given up are queued, whether listed in `notices` or not.
        """
        core, now = self._core, self._core.clock.now()
        core.ensure_daemon()
        with self._store:
            held_up = _held_up(self._store.undelivered(), notices)
            dead = [each.id for each in notices if each.state != "waiting"]
            again = self._store.send_again(None if everything else dead)
            for each in held_up:
                self._store.defer([each.id], error=each.error or "", next_at=now, is_attempt=False)
                again.append(each.id)
        core.bell.ring()
        return again


def _held_up(undelivered: Sequence[Notice], wanted: Sequence[Notice]) -> list[Notice]:
    """List what was tried and waits for its next try: the wanted ones, and those before them."""
    last: dict[Address, int] = {}
    for notice in wanted:
        last[notice.address] = max(notice.id, last.get(notice.address, 0))
    return [
        each
        for each in undelivered
        if each.state == "waiting" and each.error is not None and each.id <= last.get(each.address, 0)
    ]


def is_own(store: Store, conversation: str, notice: Notice) -> bool:
    """Return whether a notice is about a conversation itself, or about a command that its agent runs."""
    from errands.model.agent.session import session_name

    if notice.task_id == conversation:
        return True
    try:
        return store.task(notice.task_id).parent == session_name(conversation)
    except NotFound:
        return False


def is_answered(store: Store, notice: Notice) -> bool:
    """Return whether a notice asks a question that is no longer open."""
    asked = question_of(notice)
    if asked is None:
        return False
    question = store.question(asked[0])
    return question is None or question.id != asked[1]
