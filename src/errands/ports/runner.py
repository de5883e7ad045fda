"""The runner: starts and stops the processes of runs.

It never blocks and never decides. It reports later, through `listener`, and every report names the attempt
that it is about; the supervisor turns reports into state.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime
    from typing import Literal, Protocol

    from errands.model.action import Input
    from errands.model.ending import Ending

    Role = Literal["before", "main", "finally"]

    class Runner(Protocol):
        listener: Callable[[Report], None]

        def start(self, launch: Launch) -> None:
            """Start a run; its `Ended` follows, or `Refused` when its record exists already.

            Unless the run is over in a moment, a `Started` comes first.
            """

        def stop(self, run_id: str, *, grace: float) -> None:
            """End the run's whole process tree; its `Ended` follows. Unknown runs are ignored."""

        def pause(self, run_id: str, *, wanted: bool) -> bool:
            """Stop all processes of a run until they are to continue; meanwhile its time-outs do not count.

            Idempotent. False means that the run's shim is too old to do it.
            """

        def recover(self, run_id: str, *, attempt: int) -> Found:
            """Find out what became of an attempt that an earlier daemon started.

            `Alive` runs are watched from now on: their `Ended` follows. `NotStarted` means that
            this attempt never ran and never will.
            """

        def look(self, task_ids: Collection[str] | None) -> None:
            """Report what others wrote about runs that have no process here: of these tasks, or of all."""

        async def open(self) -> None:
            """Get ready to start runs."""

        async def close(self) -> None:
            """Release everything; the processes of live runs continue."""


@record
class Step:
    """One command of a run, as words; `label` is how the caller wrote it."""

    role: Role
    argv: tuple[str, ...]
    label: str


@record
class Walls:
    """A sandbox around the commands of a run: `program` starts them, with `words` and a `seccomp` filter.

    `unprotected` are names in directories that may not change, but cannot be mounted, because they are
    missing ("") or links; the shim looks at them after the run.
    """

    program: str
    words: tuple[str, ...]
    seccomp: bytes
    unprotected: Mapping[str, Mapping[str, str]] = {}


@record
class Launch:
    """All that a shim needs to know about an attempt at a run.

    `base` is the environment of the caller, which many runs share; `env` is added to it. A run that
    `may_wait` notes in the file `held` how long it waited for others, which does not count towards time-outs.
    Where it can, the kernel keeps a `read_only` run from writing and connecting. One that `may_be_warm` may
    be forked from a process that has loaded its library, if that changes nothing. One with a `fuse`, a file,
    ends by itself once the deadline in it has passed, or cannot be read. One with a `host` has no process
    here: another host carries it out.
    """

    run_id: str
    attempt: int
    directory: str
    header: bytes
    steps: tuple[Step, ...]
    cwd: str
    env: Mapping[str, str]
    cap: int
    grace: float
    base: Mapping[str, str] = {}
    timeout: float | None = None
    idle: float | None = None
    limits: Mapping[str, float] = {}
    nice: int | None = None
    input: Input = "none"
    may_wait: bool = False
    may_be_warm: bool = False
    read_only: bool = False
    walls: Walls | None = None
    fuse: str = ""
    host: str = ""


@record
class Started:
    run_id: str
    attempt: int
    pid: int
    at: datetime


@record
class Ended:
    run_id: str
    attempt: int
    ending: Ending


@record
class Refused:
    """The attempt has a record already, so the shim did not start it."""

    run_id: str
    attempt: int


@record
class Asked:
    """The host that was given an attempt wants a person to approve it first; it never ran.

    `reasons` is a JSON list of reasons.
    """

    run_id: str
    attempt: int
    host: str
    reasons: str


@record
class NotStarted:
    run_id: str
    attempt: int


@record
class Alive:
    run_id: str
    attempt: int
    pid: int | None


if TYPE_CHECKING:
    Report = Started | Ended | Refused | Asked
    Found = NotStarted | Alive | Ended
