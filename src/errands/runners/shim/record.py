"""The run record as others read it: what became of a run, whoever started it.

`record.<attempt>` is created exclusively, by the shim that runs the attempt or by a holder that finds
it was never run: whoever creates it decides. The lock on it is held for as long as the run goes on and the
shim lives, so no process number has to be trusted, and its exit line is the shim's last act.
"""

from __future__ import annotations

import errno
import fcntl
import os
from datetime import UTC, datetime

from errands.model.ending import Ending
from errands.model.record import record
from errands.ports import rundir
from errands.ports.home import is_locked
from errands.ports.rundir import record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST = 1 << 20  # bytes that are read of a record


@record
class Record:
    """What a run record says. `exit` is there once the run is over."""

    attempt: int
    is_tombstone: bool
    shim: int | None
    boot: str | None
    header: int | None
    head: int | None
    pid: int | None
    exit: Mapping[str, str] | None


def read(directory: str, attempt: int) -> Record | None:
    """Read the record of an attempt. None: there is none."""
    try:
        file = os.open(record_path(directory, attempt), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        content = os.read(file, _MOST)
    finally:
        os.close(file)
    return parse(content, attempt)


def latest(directory: str) -> Record | None:
    """Read the record of the attempt that ran: the others, if any, are tombstones."""
    found = None
    for attempt in rundir.attempts(directory):
        found = read(directory, attempt)
        if found is not None and not found.is_tombstone:
            break
    return found


def parse(content: bytes, attempt: int) -> Record:
    """Understand a record."""
    first: dict[str, str] = {}
    pid = None
    exit_fields = None
    lines = rundir.record_lines(content)
    for entry in lines:
        word, _, rest = entry.partition(" ")
        if word == "run":
            first = rundir.fields_of(rest)
        elif word == "pid":
            pid = number(rest.split(" ")[0])
        elif word == "exit":
            exit_fields = rundir.fields_of(rest)
    return Record(
        attempt=attempt,
        is_tombstone=lines[:1] == [rundir.TOMBSTONE],
        shim=number(first.get("shim")),
        boot=first.get("boot"),
        header=number(first.get("header")),
        head=number(first.get("head")),
        pid=pid,
        exit=exit_fields,
    )


def number(text: str | None) -> int | None:
    """Read a number; whatever is none counts as absent, because a task can write into its own record."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else None


def bury(directory: str, attempt: int) -> bool:
    """Make sure that an attempt never runs. False: it has run, or somebody is about to.

    Two may try at once, this holder and a late shim: the one that creates the file wins, and if it
    died before it wrote a word, the one that locks the empty file does.
    """
    if not os.path.lexists(record_path(directory, attempt)) and _bury_whole(directory, attempt):
        return True
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(record_path(directory, attempt), flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        content = os.pread(file, _MOST, 0)
        if not content:
            os.write(file, rundir.TOMBSTONE.encode() + b"\n")
        return not content or rundir.record_lines(content)[:1] == [rundir.TOMBSTONE]
    except BlockingIOError:
        return False
    finally:
        os.close(file)


def _bury_whole(directory: str, attempt: int) -> bool:
    """Make the directory together with the tombstone; False: there is one that has something in it.

    A directory without a record is one whose run removed it, so there must be none in between.
    """
    new = f"{directory}.new"
    try:
        os.makedirs(new, 0o700, exist_ok=True)
        with open(record_path(new, attempt), "wb") as file:
            file.write(rundir.TOMBSTONE.encode() + b"\n")
        os.rename(new, directory)
    except OSError as error:
        import shutil  # no command needs it

        shutil.rmtree(new, ignore_errors=True)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def was_removed(directory: str, attempt: int) -> bool:
    """Return whether the run has begun all the same, though no record says so any more.

    Then the log says so, or is not there either: what a launch creates has one, and what a run came of
    stands alone in a directory that the daemon makes.
    """
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    if f"record.{attempt}" in names:
        return False
    if rundir.LOG in names:
        return rundir.has_begun(directory)
    return names != [rundir.EVENT_FILE] and not any(name.startswith("record.") for name in names)


def is_held(directory: str, attempt: int) -> bool:
    """Return whether the shim of an attempt lives."""
    return is_locked(record_path(directory, attempt))


def ending(facts: Mapping[str, Any]) -> Ending:
    """Turn the facts of an exit line, as text or as told by the shim, into an ending."""
    found = {}
    for name, value in facts.items():
        reader = _READERS.get(name)
        if reader is not None:
            try:
                found[reader[0]] = reader[1](value)
            except (ValueError, OverflowError, OSError):
                continue  # a task wrote into its own record: what cannot be read is not known
    return Ending(**found)


def _moment(text: str) -> datetime:
    return datetime.fromtimestamp(float(text), UTC)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


# Which field of an ending each fact is, and how it is read; what only readers of the log need is left out.
_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **{name: (name, int) for name in ("code", "signal", "pid", "step", "bytes", "lines", "lost_bytes")},
    **{name: (name, int) for name in ("rss", "leftovers")},
    **{name: (name, str) for name in ("error", "stop", "lost", "peak", "disk")},
    **{name: (name, float) for name in ("elapsed", "cpu")},
    "started": ("started_at", _moment),
    "ended": ("ended_at", _moment),
    "truncated": ("truncated", bool),
    "survivors": ("survivors", _numbers),
    "hooks": ("hooks", _words),
}
