"""A retry policy: how often a failure is tried again, and how long each wait is.

It applies to failed runs of recurring tasks, to one-shot tasks with `--retries`, and to agents that died.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.states import Failure

# Failures of a one-shot task that a retry may cure: what cannot be started, or breaks a limit or a budget,
# would only fail again.
RETRIED: tuple[Failure, ...] = ("exit", "signal", "timeout", "idle", "agent", "lost", "interrupted")
_MOST_DOUBLINGS = 16


@record
class Retry:
    """Try `retries` times more; the wait starts at `backoff` and doubles each time, up to `longest`."""

    retries: int
    backoff: timedelta = timedelta()
    longest: timedelta = timedelta(hours=1)

    def next_delay(self, failures: int) -> timedelta | None:
        """Return how long to wait after this many failures in a row; None means give up."""
        if failures > self.retries:
            return None
        doubled: timedelta = self.backoff * 2 ** min(failures - 1, _MOST_DOUBLINGS)
        return min(doubled, max(self.longest, self.backoff))
