"""Held: how long a run has waited for others, which counts for none of its time-outs.

An agent that waits for a person, for its turn on a shared model or for a slot of its lane says so in the
file `held` of its run's directory: the seconds it waited before, since when it waits now (0: it does not),
and when it last stopped waiting, on the clock that nobody can set.
"""

from __future__ import annotations

import os

from errands.ports import rundir

_NEVER = 0.0


class WaitClock:
    """The shim's view of it; a file that says nonsense says nothing."""

    PERIOD = 0.5  # seconds between two looks at a run that waits

    def __init__(self, directory: str) -> None:
        self._path = directory + "/held"
        try:
            os.unlink(self._path)  # an earlier attempt of the run may have left it
        except OSError:
            pass

    def look(self, now: float) -> tuple[float, float]:
        """Give the seconds waited so far, and when the run last waited: now, if it does."""
        try:
            with open(self._path, "rb") as file:
                total, since, last = (float(each) for each in file.read(200).split())
        except (OSError, ValueError):
            return _NEVER, _NEVER
        return (total + max(0.0, now - since), now) if since else (total, last)


def keep_log(directory: str, *, attempt: int) -> None:
    """Put aside what an earlier attempt printed before its process died."""
    if attempt > 1 and rundir.has_begun(directory):
        try:
            os.rename(f"{directory}/output.log", f"{directory}/output.{attempt - 1}.log")
        except OSError:
            pass  # it printed nothing
