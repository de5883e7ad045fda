"""The notice waiter: blocks until there is news of an agent's tasks.

It costs nothing while it waits and ends when no more news can come. Of all waiters that are started for
one session, one waits and at most one more is next in line.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from errands.engine.notices.agent_report import may_have_news, news
from errands.engine.waiting import LOOK
from errands.model.text.blake2 import blake2b
from errands.ports.home import process_mark
from errands.ports.own_file import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine

GATHER = 0.5  # seconds: tasks that end in a burst are reported together, and a blocking caller has its result


def attend(engine: Engine, owner: str, *, is_wanted: Callable[[], bool]) -> bool:
    """Wait until there is news for an owner; False if none can come, or the caller stopped wanting it."""
    bell = type(engine.bell)(engine.home.bell)
    watching = False
    try:
        while is_wanted():
            if news(engine, owner):
                time.sleep(GATHER)
                if news(engine, owner):
                    return True
            # Open tasks first: one that ends in between has its notice by then.
            is_open = may_have_news(engine, owner)
            is_coming = bool(news(engine, owner, kept_back=True))
            if not is_open and not is_coming:
                return False
            if not watching:
                watching = bell.watch()
                if not watching:
                    engine.ensure_daemon()
            # The bell does not ring when a notice has been kept back long enough.
            pause = GATHER if is_coming else LOOK
            select.select([bell.fileno()] if watching else [], [], [], pause if watching else 0.05)
            watching = watching and bell.read() is not None
        return False
    finally:
        bell.close()


@contextmanager
def turn(engine: Engine, owner: str) -> Iterator[bool]:
    """Take a turn to wait for an owner; False if one waiter is running and another is next.

    A rejected caller knows that another waiter starts after it.
    """
    path = _place(engine, owner)
    with _opened(f"{path}.next") as line, _opened(path) as place:
        try:
            fcntl.flock(line, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        fcntl.flock(place, fcntl.LOCK_EX)
        fcntl.flock(line, fcntl.LOCK_UN)
        yield True


def claim(engine: Engine, owner: str, pid: str) -> None:
    """Note that the program `pid` just used a session, and reports to it from now on."""
    replace_file(f"{_place(engine, owner)}.by", process_mark(int(pid)).encode())


def has_claim(engine: Engine, owner: str, pid: str) -> bool:
    """Return whether the program `pid` reports to a session: no live program has used it since."""
    try:
        with open(f"{_place(engine, owner)}.by") as file:
            claimant = file.read()
    except OSError:
        return True
    other = claimant.partition(".")[0]
    return other == pid or not other.isdecimal() or not _lives(int(other), claimant)


def _lives(pid: int, claimant: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it belongs to another user
    return process_mark(pid) == claimant


def _place(engine: Engine, owner: str) -> str:
    """Return the path of the lock for an owner."""
    name = blake2b(owner.encode("utf-8", "replace"), digest_size=12).hexdigest()
    os.makedirs(engine.home.waiters, mode=0o700, exist_ok=True)
    return os.path.join(engine.home.waiters, name)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
