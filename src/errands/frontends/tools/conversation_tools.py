"""The background tools of a conversation, for its agent: what it starts reports to the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from errands.engine.async_engine import AsyncEngine
from errands.engine.engine import Engine
from errands.frontends.tools.idempotent_engine import IdempotentEngine
from errands.model.view import View
from errands.ports.dialect import Caller, Reply, Tool

if TYPE_CHECKING:
    from errands.ports.dialect import EngineApi

DIALECT = "native"


class ConversationTools:
    def __init__(self, engine: Engine, caller: Caller) -> None:
        from errands import dialects  # not for agents without these tools, which import this module, too

        self._engine = AsyncEngine(engine)
        self._caller = caller
        self._dialect = dialects.named(DIALECT)

    @property
    def tools(self) -> Sequence[Tool]:
        return self._dialect.tools(self._caller)

    async def call(
        self, key: str, name: str, arguments: Mapping[str, Any], environ: Mapping[str, str]
    ) -> Reply:
        """Call a tool; what it launches gets this environment, and a repeated `key` launches nothing."""
        engine = cast("EngineApi", _Launcher(self._engine, key, environ))
        return await self._dialect.call(engine, self._caller, name, arguments)


class _Launcher(IdempotentEngine):
    """Launches in the environment of the person, not in that of the agent's process."""

    def __init__(self, engine: AsyncEngine, key: str, environ: Mapping[str, str]) -> None:
        super().__init__(engine, key)
        self._environ = environ

    async def submit(self, command: Any, /, **options: Any) -> View:
        return await super().submit(command, environ=self._environ, **options)

    async def ask(self, text: str, /, **options: Any) -> View:
        return await super().ask(text, environ=self._environ, **options)
