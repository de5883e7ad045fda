"""Limits: how much a run may use before it is stopped, how it is stopped, and how often it is retried.

A lane is a named limit on how many tasks run at once.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.codec import JsonCodec
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Literal

    OnIdle = Literal["stop", "report"]
    # What becomes of a run whose host is lost: it fails, or another host starts it again.
    OnLoss = Literal["lost", "again"]

ON_IDLE: tuple[OnIdle, ...] = ("stop", "report")
ON_LOSS: tuple[OnLoss, ...] = ("lost", "again")
UNLIMITED = timedelta.max  # explicitly no limit, whatever the configuration says
SMALLEST_OUTPUT = 4096  # bytes of output that can be kept
SMALLEST_MEMORY = 1 << 20  # bytes: no program runs with less
# The width of a lane that only a submitter's configuration knows: its runs must not wait forever.
UNKNOWN_LANE = 1
# What an agent's run can be limited in.
BUDGETS = ("input_tokens", "output_tokens", "total_tokens", "requests", "tool_calls", "cost_microdollars")


@record
class Limits:
    """None means no limit. Memory, CPU time and processes count over the run's whole process tree."""

    timeout: timedelta | None = None
    idle: timedelta | None = None
    on_idle: OnIdle = "stop"
    memory: int | None = None
    cpu: timedelta | None = None
    processes: int | None = None
    output: int = 10 * 1024 * 1024
    grace: timedelta = timedelta(seconds=5)
    nice: int | None = None  # the niceness of the run's processes; None: as the daemon's
    retries: int = 0  # new runs of a one-shot task that failed
    on_loss: OnLoss = "lost"  # of a run on another host


LIMITS = JsonCodec(Limits)


@record
class LaneWidth:
    """The width of a lane that a person set, which overrides the configuration until it is removed."""

    name: str
    width: int
    by: str
    at: datetime


def lane_widths(configured: Mapping[str, int], chosen: Iterable[LaneWidth]) -> dict[str, int]:
    """Return the width of each known lane: as a person set it, or else as configured."""
    return {**configured, **{each.name: each.width for each in chosen}}


@record
class Lane:
    """A lane as it is now; `configured` is its width in the configuration, None if it is not there.

    Paused runs are not counted, nor are held ones.
    """

    name: str
    width: int
    configured: int | None
    running: int
    pending: int
    set_by: str | None = None
    set_at: datetime | None = None
