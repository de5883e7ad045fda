"""A dialect: a set of tools in the words that some callers know, over the one engine.

It translates and never decides: who may do what is the engine's matter. A call never raises for what its
caller got wrong; the reply says it, in the dialect's own words.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Any, Protocol

    from errands.model.view import View
    from errands.ports.output import Piece

    class Dialect(Protocol):
        """What is said about a tool depends on the caller: nobody is promised to be told who will not be."""

        name: str

        def tools(self, caller: Caller) -> tuple[Tool, ...]:
            """List the tools, as they are described to this caller."""

        async def call(self, engine: Verbs, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Reply:
            """Call a tool; an unknown one and wrong arguments give a reply that failed."""

    class Verbs(Protocol):
        """What a dialect asks of the engine; `AsyncEngine` has it."""

        async def submit(self, command: str, /, **options: Any) -> View: ...
        async def ask(self, text: str, /, *, is_awaited: bool = False, **options: Any) -> View: ...
        async def resume(self, task_id: str, text: str, /, *, is_awaited: bool = False) -> View: ...
        async def restart(self, task_id: str, /) -> View: ...
        async def pause(self, task_id: str, /, *, by: str | None = None) -> View: ...
        async def unpause(self, task_id: str, /) -> View: ...
        async def fire(self, task_id: str, /) -> View: ...
        async def cancel(self, *task_ids: str, by: str | None = None) -> list[View]: ...
        async def clear(self, *task_ids: str) -> list[str]: ...
        async def wait(self, task_id: str, /, *, timeout: float | timedelta | None = None) -> View: ...
        async def output(self, task_id: str, /, *, offset: int = 0, limit: int | None = None) -> Piece: ...
        async def tail(self, task_id: str, lines: int | None = None, /) -> Piece: ...
        async def masked(self, task_id: str, text: str, /) -> str: ...
        async def mark_retrieved(self, view: View, /) -> None: ...
        async def expect(self, run_id: str, /) -> None: ...
        async def acknowledge(self, run_id: str, /, *, reader: str) -> None: ...
        async def give_up_waiting(self, run_id: str, /) -> None: ...
        def knows_agent(self, name: str, /) -> bool: ...
        def now(self) -> datetime: ...
        async def list(
            self,
            *,
            states: Iterable[str] = (),
            batch: str | None = None,
            parent: str | None = None,
            ids: Sequence[str] | None = None,
            limit: int | None = None,
        ) -> list[View]: ...


@record
class Tool:
    """One tool: `parameters` is a JSON schema; `asks` when a call may need a person's approval."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    reads_only: bool = False
    destructive: bool = False
    asks: bool = False


@record
class Caller:
    """Whoever calls: a program that speaks for an agent, never a person.

    `session` is whose tasks it sees, and who is told; `wake` is how an end reaches it, truthfully: `session`,
    `channel NAME` or `none`. `message` is the turn of the conversation it calls in: what is launched in one
    is a batch. `run` is the run that it is part of; with `everything` it sees the tasks of all sessions.
    """

    session: str | None
    cwd: str
    door: str
    client: str = ""
    run: str | None = None
    wake: str = "none"
    everything: bool = False
    message: str | None = None

    @property
    def who(self) -> str:
        """The name that is kept of a caller: the run it is part of, or the program it speaks through."""
        if self.run:
            return f"run {self.run}"
        return f"agent {self.client}" if self.client else "agent"


@record
class Reply:
    """What a call gives back: a text for the model, the same as plain values where the dialect has a shape.

    `tasks` were launched or touched, `proposed` among them wait for a person's yes.
    """

    text: str
    content: Mapping[str, Any] | None = None
    failed: bool = False
    tasks: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
