"""An ending: what the outside world says about how a run ended.

It is the shim's exit line in our words, nothing decided yet; `rollup` says what it means.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from errands.model.states import Failure

    # Why the shim ended the run's processes, when it was not their own doing.
    StopReason = Literal["cancel", "timeout", "idle", "memory", "cpu", "processes"]


@record
class Ending:
    """How the processes of a run ended.

    Exactly one of `code`, `signal`, `error` tells it: an exit, a death by signal, or a command that
    could not be started; `lost` and `interrupted` mean that nobody knows. `failure` is there when an agent
    said itself why it gave up, and `error` has its words.
    """

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
    failure: Failure | None = None
