"""The placement of a run: a file in its directory that says which host has it.

The daemon writes it when it starts an attempt, and the host process adds what it learns from the fleet. Each
line has all that is known, in the form of the run record, and the last one counts. Lines are added, because
replacing a file makes some file systems wait for the disk, for every run anew.
"""

from __future__ import annotations

import errno
import os

from errands.model.record import evolve, fields, record
from errands.ports import rundir
from errands.ports.own_file import open_file, open_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOST_HOST = "its host was lost"  # the event of a run that another host starts over
_WORD = "placed"
_MOST = 1 << 20


@record
class Placement:
    """Where an attempt at a run is: on the host `host`, once one has it.

    If a host wants a person to approve it first, `asked` has its reasons, one per line, and `digest` stands
    for exactly what it would run. Both stay for the next attempt, which goes to the host `asked_on`. It
    `has_begun` once it is certain that the host does not ask. `reported` are the addresses, one a line, to
    which another home has reported how it ended. `sought` is the host it is for, if that differs from its
    task's.
    """

    attempt: int
    host: str = ""
    asked: str = ""
    asked_on: str = ""
    digest: str = ""
    reported: str = ""
    sought: str = ""
    has_begun: bool = False


def read(directory: str) -> Placement | None:
    """Return the placement of a run; None for one that is not placed on another host."""
    try:
        file = open_file(f"{directory}/{rundir.PLACEMENT}")
    except OSError:
        return None
    try:
        lines = rundir.record_lines(os.read(file, _MOST))
    finally:
        os.close(file)
    word, _, rest = (lines or [""])[-1].partition(" ")
    found = rundir.fields_of(rest)
    if word != _WORD or not found.get("attempt", "").isdecimal():
        return None
    texts = {name: found.get(name, "") for name in fields(Placement)[1:-1]}
    return Placement(attempt=int(found["attempt"]), has_begun=found.get("has_begun") == str(True), **texts)


def write(directory: str, placement: Placement) -> None:
    """Replace what is known about a run."""
    facts = {name: getattr(placement, name) for name in fields(placement)}
    line, path = rundir.record_line(_WORD, facts), f"{directory}/{rundir.PLACEMENT}"
    file = open_own(path, os.O_WRONLY | os.O_APPEND)
    try:
        written = os.write(file, line)
        if written < len(line):  # the next line must not continue this one
            os.ftruncate(file, os.fstat(file).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(file)


class Places:
    """The placements of attempts, each read once: for the process that alone adds to them once they began."""

    def __init__(self) -> None:
        self._known: dict[str, Placement] = {}

    def of(self, directory: str, attempt: int) -> Placement | None:
        """Return the placement of an attempt; None if it is not placed yet."""
        known = self._known.get(directory)
        if known is None or known.attempt != attempt:
            known = read(directory)
            if known is None or known.attempt != attempt:
                return None
            self._known[directory] = known
        return known

    def note(self, directory: str, attempt: int, **facts: Any) -> None:
        """Add what is known about an attempt."""
        new = evolve(self.of(directory, attempt) or Placement(attempt=attempt), **facts)
        write(directory, new)
        self._known[directory] = new

    def forget(self, directory: str) -> None:
        self._known.pop(directory, None)


def begin(directory: str, *, attempt: int) -> None:
    """Note that an attempt is to be carried out by another host; what was asked before it stays known."""
    before = read(directory)
    kept = (
        Placement(attempt=attempt)
        if before is None
        else evolve(before, attempt=attempt, host="", asked="", has_begun=False)
    )
    os.makedirs(directory, 0o700, exist_ok=True)
    write(directory, kept)
