"""A dialect: a set of tools with the names and texts that some callers know, on top of the one engine.

It translates and never decides: the engine says who may do what. A call never raises for a caller's mistake;
the reply explains it, in the dialect's own words.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Any, Protocol, Unpack

    from errands.model.limits import Lane
    from errands.model.options.typed import PromptOptions, TaskOptions
    from errands.model.text.mask import Mask
    from errands.model.view import View
    from errands.ports.output import Piece

    class Dialect(Protocol):
        """Descriptions depend on the caller: only one that will be notified is promised a notification."""

        name: str

        def tools(self, caller: Caller) -> tuple[Tool, ...]:
            """Return the tools as described to this caller."""

        async def call(
            self, engine: EngineApi, caller: Caller, name: str, arguments: Mapping[str, Any]
        ) -> Reply:
            """Call a tool; an unknown tool or wrong arguments return a failed reply."""

    class EngineApi(Protocol):
        """What a dialect uses of the engine; `AsyncEngine` implements it."""

        async def submit(self, command: str, /, **options: Unpack[TaskOptions]) -> View: ...
        async def ask(self, text: str, /, **options: Unpack[PromptOptions]) -> View: ...
        async def resume(self, task_id: str, text: str, /, *, is_awaited: bool = False) -> View: ...
        async def restart(self, task_id: str, /) -> View: ...
        async def pause(self, task_id: str, /, *, by: str | None = None) -> View: ...
        async def unpause(self, task_id: str, /) -> View: ...
        async def hold(self, task_id: str, /, *, by: str | None = None) -> View: ...
        async def release(self, task_id: str, /) -> View: ...
        async def move(self, task_id: str, /, *, last: bool = False) -> View: ...
        async def edit(self, task_id: str, /, **changes: Any) -> View: ...
        async def lanes(self) -> Sequence[Lane]: ...
        async def fire(self, task_id: str, /) -> View: ...
        async def cancel(self, *task_ids: str, by: str | None = None) -> list[View]: ...
        async def clear(self, *task_ids: str) -> list[str]: ...
        async def get(self, task_id: str, /) -> View: ...
        async def wait(self, task_id: str, /, *, timeout: float | timedelta | None = None) -> View: ...
        async def output(self, task_id: str, /, *, offset: int = 0, limit: int | None = None) -> Piece: ...
        async def tail(self, task_id: str, lines: int | None = None, /) -> Piece: ...
        async def mask(self, *task_ids: str) -> Mask: ...
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
            owner: str | None = None,
            ids: Sequence[str] | None = None,
            limit: int | None = None,
        ) -> list[View]: ...


@record
class Tool:
    """One tool; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    reads_only: bool = False
    destructive: bool = False
    may_need_approval: bool = False

    @property
    def launches(self) -> bool:
        """Whether it can start something; reading about a proposal asks for nothing."""
        return not self.reads_only and not self.destructive


@record
class Caller:
    """The program that calls a tool on behalf of an agent, never a person.

    It sees the tasks of its `session`, or of all sessions with `everything`. `wake` says truthfully how the
    end of a task reaches it: `session`, `channel NAME` or `none`. Tasks launched in the same conversation
    turn (`message`) form a batch. `run` is the run that the caller is part of. `conversation` is what a fork
    copies: a session, or the task it belongs to; None where the frontend does not know it, and then
    tools offer no `fork`. `ID@CALL` is the conversation up to a call in it. `agents` are the client's own,
    each with its name here; `model` is what they use. `subagents_of` is the agent whose own agents an
    unknown name means, where the frontend cannot list them.
    """

    session: str | None
    cwd: str
    door: str
    client: str = ""
    run: str | None = None
    wake: str = "none"
    everything: bool = False
    message: str | None = None
    conversation: str | None = None
    agents: Mapping[str, str] = {}
    model: str | None = None
    subagents_of: str = ""

    @property
    def actor(self) -> str:
        """The name recorded for this caller: the run it is part of, or its client program."""
        if self.run:
            return f"run {self.run}"
        return f"agent {self.client}" if self.client else "agent"


@record
class Reply:
    """The result of a call: a text for the model, and the same as plain values if the dialect defines them.

    `tasks` were launched or touched; those in `proposed` wait for approval.
    """

    text: str
    content: Mapping[str, Any] | None = None
    failed: bool = False
    tasks: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
