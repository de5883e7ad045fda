"""Presence: when a person was last there, at a chat or by what they started and answered elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime

from errands.model.approval import is_unattended
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.engine.engine import Engine
    from errands.ports.home import Home

RECENT = 100  # tasks and answers that are looked through for a person's


def note_presence(home: Home, at: datetime | None = None) -> None:
    """Note that somebody typed something."""
    path = f"{home.path}/present"
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(path, None if at is None else (at.timestamp(), at.timestamp()))


def last_presence(engine: Engine) -> datetime | None:
    """Tell when a person last typed, started or answered something; None when nobody ever did."""
    return max(_traces(engine), default=None)


def _traces(engine: Engine) -> Iterator[datetime]:
    with suppress(OSError):
        yield datetime.fromtimestamp(os.stat(f"{engine.home.path}/present").st_mtime, UTC)
    for view in engine.list(Query(limit=RECENT)):
        if view.door in ("terminal", "chat", "discord", "web", "top"):
            yield view.created_at
    for entry in engine.audit(limit=RECENT):
        answer = entry.approval
        if answer.at is not None and answer.door and not is_unattended(answer.by or "", answer.door):
            yield answer.at
