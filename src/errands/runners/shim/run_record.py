"""The run record: what happened to an attempt of a run, whichever daemon started it.

`record.<attempt>` is created exclusively, either by the shim that runs the attempt or by a daemon that finds
it was never started; whichever creates it decides. The shim keeps it locked until the run is over, so no pid
has to be trusted, and writes its exit line last.
"""

from __future__ import annotations

import errno
import fcntl
import os
from datetime import UTC, datetime

from errands.model.ending import Ending
from errands.model.record import record
from errands.ports import home, own_file, rundir
from errands.ports.rundir import record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_MOST = 1 << 20  # bytes to read of a run record


@record
class RunRecord:
    """The content of a run record; `exit` is None until the run is over."""

    attempt: int
    is_tombstone: bool
    shim: int | None
    boot: str | None
    header: int | None
    head: int | None
    pid: int | None
    version: int
    exit: Mapping[str, str] | None


def read(directory: str, attempt: int) -> RunRecord | None:
    """Read the run record of an attempt; return None if it does not exist, or was replaced."""
    try:
        file = own_file.open_file(record_path(directory, attempt))
    except FileNotFoundError:
        return None
    try:
        content = os.read(file, _MOST)
    finally:
        os.close(file)
    return parse(content, attempt)


def latest(directory: str) -> RunRecord | None:
    """Read the run record of the attempt that ran; all others are tombstones."""
    found = None
    for attempt in rundir.attempts(directory):
        found = read(directory, attempt)
        if found is not None and not found.is_tombstone:
            break
    return found


def parse(content: bytes, attempt: int) -> RunRecord:
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
    return RunRecord(
        attempt=attempt,
        is_tombstone=lines[:1] == [rundir.TOMBSTONE],
        shim=number(first.get("shim")),
        boot=first.get("boot"),
        header=number(first.get("header")),
        head=number(first.get("head")),
        pid=pid,
        version=number(first.get("v")) or 1,
        exit=exit_fields,
    )


def number(text: str | None) -> int | None:
    """Parse a number; return None for anything else, because a task can write into its own run record."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def write_tombstone(directory: str, attempt: int) -> bool:
    """Make sure that an attempt never runs; return False if it has run or is about to.

    This daemon and a late shim may try at once: the one that creates the file wins. If that one died before
    it wrote anything, the one that locks the empty file wins.
    """
    if not os.path.lexists(record_path(directory, attempt)) and _create_with_tombstone(directory, attempt):
        return True
    try:
        file = own_file.open_file(record_path(directory, attempt), os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except own_file.ReplacedError:
        return False
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


def _create_with_tombstone(directory: str, attempt: int) -> bool:
    """Create the run directory with the tombstone in it; return False if it exists and is not empty.

    A directory without a run record looks as if the run had removed the record, so both appear at once.
    """
    new = f"{directory}.new"
    try:
        os.makedirs(new, 0o700, exist_ok=True)
        with open(own_file.open_own(record_path(new, attempt), os.O_WRONLY), "wb") as file:
            file.write(rundir.TOMBSTONE.encode() + b"\n")
        os.rename(new, directory)
    except OSError as error:
        import shutil  # slow to import, and rarely needed

        shutil.rmtree(new, ignore_errors=True)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def was_removed(directory: str, attempt: int) -> bool:
    """Return whether the run started and its task then removed or replaced the run record.

    If it was removed the log says that it started, or is missing as well: a launch creates the directory with
    a log, and the daemon creates it with nothing but the event file.
    """
    if rundir.is_replaced(directory):
        return True
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    if f"record.{attempt}" in names:
        return not own_file.is_own(record_path(directory, attempt))
    if rundir.LOG in names:
        return rundir.has_begun(directory)
    return names != [rundir.EVENT_FILE] and not any(name.startswith("record.") for name in names)


def is_locked(directory: str, attempt: int) -> bool:
    """Return whether the shim of an attempt is alive."""
    return home.is_locked(record_path(directory, attempt))


def ending(facts: Mapping[str, Any]) -> Ending:
    """Build an ending from the facts of an exit line, or from those that the shim reported."""
    found = {}
    for name, value in facts.items():
        reader = _READERS.get(name)
        if reader is not None:
            try:
                found[reader[0]] = reader[1](value)
            except (ValueError, OverflowError, OSError):
                continue  # the task wrote into its own run record
    return Ending(**found)


def _moment(text: str) -> datetime:
    return datetime.fromtimestamp(float(text), UTC)


# The field of an ending that each fact belongs to, and its parser; facts for readers of the log are left out.
_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **{name: (name, int) for name in ("code", "signal", "pid", "step", "bytes", "lines", "lost_bytes")},
    **{name: (name, int) for name in ("rss", "leftovers")},
    **{name: (name, str) for name in ("error", "stop", "lost", "peak", "disk", "wall")},
    **{name: (name, float) for name in ("elapsed", "cpu")},
    "started": ("started_at", _moment),
    "ended": ("ended_at", _moment),
    "truncated": ("truncated", bool),
    "survivors": ("survivors", lambda text: tuple(int(pid) for pid in text.split(",") if pid)),
    "hooks": ("hooks", lambda text: tuple(text.split(","))),
}
