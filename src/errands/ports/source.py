"""An event source: something outside that tasks wait for.

It is created with a trigger and a context, opened with its last baseline, and iterated for observations. The
events of an observation and its baseline are stored together before the next one is requested, so an event
that was reported is remembered, and one that was not is found again.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Protocol


@record
class SourceEvent:
    """Something that happened: `text` describes it in a line, `facts` in plain values.

    An event with a `key` is reported once, however often it is found. It starts none of the tasks in `chain`,
    whose runs led to it, nor the task that caused it itself (`is_own`).
    """

    text: str
    facts: Mapping[str, Any] = {}
    key: str | None = None
    chain: tuple[str, ...] = ()
    is_own: bool = False


@record
class Observation:
    """What happened since the previous observation, and what to remember, in the source's own format."""

    baseline: str
    events: tuple[SourceEvent, ...] = ()


@record
class WatchedCommand:
    """A command to run and look at; with a `scratch` directory it cannot write anywhere else."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    scratch: str = ""


@record
class CommandOutput:
    """How a watched command ended: the end of its output, and a digest of all of it."""

    code: int
    output: str
    digest: str


@record
class RunEnd:
    """A run of another task that has ended."""

    task_id: str
    run: int
    state: str
    facts: Mapping[str, Any]
    chain: tuple[str, ...]


if TYPE_CHECKING:

    class RunWatched(Protocol):
        async def __call__(self, command: WatchedCommand, *, timeout: float) -> CommandOutput:
            """Run a command like a run: in a tree of its own, where nothing can be approved.

            Raise `SourceError` if it cannot be started, or takes longer than `timeout` seconds.
            """

    class SourceContext(Protocol):
        """What a source may know and ask of the engine.

        `since` is when the task began to watch: later events count, even if the first observation comes too
        late to see the change itself. `is_harmless` says that the task is known to change little.
        """

        task_id: str
        cwd: str
        home: str
        since: datetime
        is_harmless: bool

        async def wait(self, seconds: float) -> None:
            """Wait this long, or until something changes in the store."""

        async def execute(self, line: str, *, timeout: float) -> CommandOutput:
            """Run the line that was judged with the task; refuse any other."""

        def ran_at(self, moments: Sequence[datetime]) -> Sequence[bool | None]:
            """Return whether the task itself was running at each moment; None while that run is not over."""

        def ended_runs(
            self, *, task: str | None, batch: str | None, after: Mapping[str, int]
        ) -> Sequence[RunEnd]:
            """Return the runs of other tasks that ended after the given run numbers, oldest first."""

        def webhook_settings(self, name: str) -> Mapping[str, Any]:
            """Return the settings of a webhook, and the address to listen on as `listen`."""

        def setting(self, name: str) -> str:
            """Return a setting of the section `events`."""

    class Source(Protocol):
        """It raises `SourceError` when it cannot observe; it is then closed, and reopened later."""

        async def open(self, baseline: str | None) -> None: ...
        def observe(self) -> AsyncIterator[Observation]: ...
        async def close(self) -> None: ...
