"""An ending: what the outside world reports about how a run ended.

It is the shim's exit line in our words. `how` reads it as exactly one of several ways to end, and `rollup`
decides what that means.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from errands.model.states import Failure

    # A limit at which the shim ended the run's processes.
    Limit = Literal["timeout", "idle", "memory", "cpu", "processes"]
    StopReason = Limit | Literal["cancel", "fuse"]


# Begins what is said about a run that failed at a wall of its sandbox, after its exit code.
AT_WALL = "; it seems "
OUT_OF_TOUCH = "its host lost touch with the fleet, which may have given it to another host"


@record
class Exited:
    code: int


@record
class Killed:
    signal: int


@record
class Cancelled:
    """A person or program asked for the end, however the processes reacted."""


@record
class LimitExceeded:
    limit: Limit


@record
class SpawnFailed:
    error: str


@record
class AgentFailed:
    """The agent itself reported why it gave up."""

    failure: Failure
    error: str


@record
class Lost:
    reason: str


@record
class Interrupted:
    """The machine restarted during the run."""


if TYPE_CHECKING:
    How = Exited | Killed | Cancelled | LimitExceeded | SpawnFailed | AgentFailed | Lost | Interrupted


@record
class Ending:
    """The facts as reported; a task can write into its own record, so they may contradict each other."""

    code: int | None = None
    signal: int | None = None
    error: str | None = None
    stop: StopReason | None = None
    lost: str | None = None
    interrupted: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None
    pid: int | None = None
    elapsed: float | None = None
    step: int = 0
    bytes: int = 0
    lines: int = 0
    lost_bytes: int = 0
    truncated: bool = False
    cpu: float = 0.0
    rss: int = 0
    leftovers: int = 0
    survivors: tuple[int, ...] = ()
    hooks: tuple[str, ...] = ()
    peak: str | None = None
    disk: str | None = None
    wall: str = ""
    failure: Failure | None = None

    @property
    def how(self) -> How:
        """How it ended; a success has to be beyond doubt."""
        if self.stop == "cancel":
            return Cancelled()
        if self.interrupted:
            return Interrupted()
        if self.lost is not None:
            return Lost(reason=self.lost)
        if self.stop == "fuse":
            return Lost(reason=OUT_OF_TOUCH)
        if self.failure is not None:
            return AgentFailed(failure=self.failure, error=self.error or "")
        if self.error is not None:
            return SpawnFailed(error=self.error)
        if self.stop is not None:
            return LimitExceeded(limit=self.stop)
        if self.signal is not None:
            return Killed(signal=self.signal)
        if self.code is not None:
            return Exited(code=self.code)
        return Lost(reason="its record does not say how it ended")
