"""The mirror of a run that another host carries out: its log and its run record, as a shim would write them.

So everything that reads runs works for placed ones, too. The output comes in pieces, of which some may be
missing or come twice; a line says where bytes are missing. What the host measured becomes the exit line,
except its times, which are from another clock.
"""

from __future__ import annotations

import os

from errands.ports import rundir
from errands.ports.own_file import open_own
from errands.runners.output.capped_log import Log
from errands.runners.shim import run_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Facts of an exit line that are copied from the other host's; those about the log are our own.
_TAKEN = ("code", "signal", "stop", "error", "lost", "step", "elapsed", "cpu", "rss", "leftovers", "hooks")
_TAKEN_TOO = ("peak", "disk", "wall", "survivors", "errno")


class Mirror:
    """Write what a run printed elsewhere; one that is opened again starts over.

    `position` counts the bytes that the run printed up to the end of what was written.
    """

    def __init__(self, directory: str, run_id: str, *, attempt: int, header: bytes, cap: int) -> None:
        self.position = 0
        self._path = rundir.record_path(directory, attempt)
        self._is_cut = False
        os.makedirs(directory, 0o700, exist_ok=True)
        first = rundir.first_line(
            run_id, attempt=attempt, shim=0, boot="elsewhere", header=len(header), cap=cap
        )
        file = open_own(self._path, os.O_WRONLY)
        try:
            os.ftruncate(file, 0)
            os.write(file, first)
        finally:
            os.close(file)
        self._log = Log(directory, header=header, cap=cap)

    def feed(self, start: int, content: bytes) -> None:
        """Write a piece that begins at `start`; what is there already is left out."""
        if start > self.position:
            self._note_gap(start)
        new = content[self.position - start :]
        if new:
            self._log.write(new, lines=new.count(b"\n"))
            self.position += len(new)

    def finish(self, facts: Mapping[str, object]) -> None:
        """Complete the log and write the exit line; from then on the run has ended."""
        printed = facts.get("bytes")
        if isinstance(printed, str) and printed.isdecimal() and int(printed) > self.position:
            self._note_gap(int(printed))
        own = self._log.finish()
        if self._is_cut or facts.get("truncated"):
            own["truncated"] = 1
        taken = {name: _word(facts[name]) for name in (*_TAKEN, *_TAKEN_TOO) if name in facts}
        file = open_own(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, rundir.record_line("exit", {**taken, **own}))
        finally:
            os.close(file)

    def _note_gap(self, until: int) -> None:
        note = f"\n[... {until - self.position:,} bytes were not brought from the host ...]\n".encode()
        self._log.write(note, lines=2)
        self.position, self._is_cut = until, True


def has_ended(directory: str, attempt: int) -> bool:
    """Return whether the mirror of an attempt is complete."""
    found = run_record.read(directory, attempt)
    return found is not None and found.exit is not None


def exit_facts(directory: str, attempt: int) -> dict[str, str]:
    """Return the exit line of an attempt that ran here; empty if it has none."""
    found = run_record.read(directory, attempt)
    return {} if found is None or found.exit is None else dict(found.exit)


def _word(value: object) -> str | int | float:
    return value if isinstance(value, int | float) else str(value)
