"""A source: where something happens outside that tasks wait for.

It is made with its options and the ground it stands on, opened with what it remembered last, and asked for
looks, one after the other. What a look found and what is to be remembered are written down together before
the next one is asked for: so what was told is remembered, and what was not told is found again.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Protocol


@record
class Happening:
    """Something that happened: `text` says it in a line, `facts` in plain values.

    One with a `key` is told once, however often it is found. `chain` names the tasks whose runs led to it: a
    task in it does not hear it, and neither does one whose own doing it is (`is_own`).
    """

    text: str
    facts: Mapping[str, Any] = {}
    key: str | None = None
    chain: tuple[str, ...] = ()
    is_own: bool = False


@record
class Look:
    """What was found since the look before, and what to remember, in words of the source's own."""

    baseline: str
    happenings: tuple[Happening, ...] = ()


@record
class Printed:
    """How a command that was looked at ended: the last of its output, and a print of all of it."""

    code: int
    output: str
    digest: str


@record
class End:
    """A run of another task that has ended."""

    task_id: str
    run: int
    state: str
    facts: Mapping[str, Any]
    chain: tuple[str, ...]


if TYPE_CHECKING:

    class SourceContext(Protocol):
        """What a source may know and ask of the engine.

        `since` is when the task began to listen: what happened later counts, also if the first look at it
        comes too late to see the change itself. `is_harmless` tells that the task is known to change little.
        """

        task_id: str
        cwd: str
        home: str
        since: datetime
        is_harmless: bool

        async def wait(self, seconds: float) -> None:
            """Wait so long, or until something changed in the store."""

        async def execute(self, line: str, *, timeout: float) -> Printed:
            """Run the line that was judged with the task; none other is run."""

        def are_own(self, moments: Sequence[datetime]) -> Sequence[bool | None]:
            """Tell whether the task itself ran at each moment; None as long as its run goes on."""

        def ends(self, *, task: str | None, batch: str | None, after: Mapping[str, int]) -> Sequence[End]:
            """Give the runs of tasks that ended since the ones whose numbers are given, oldest first."""

        def hook(self, name: str) -> Mapping[str, Any]:
            """Give the settings of a webhook, and where to listen (`listen`)."""

        def setting(self, name: str) -> str:
            """Give a setting of the section `events`."""

    class Source(Protocol):
        """It raises `SourceError` when it cannot look; then it is closed, and opened again later."""

        async def open(self, baseline: str | None) -> None: ...
        def looks(self) -> AsyncIterator[Look]: ...
        async def close(self) -> None: ...
