"""Once: the engine as one call of a model sees it, which launches what it launches once.

A call that was held for an approval is made again when the answer is there, maybe in another process; what it
launched the first time is then found again instead of launched anew.
"""

from __future__ import annotations

from typing import Any

from errands.engine.async_engine import AsyncEngine
from errands.model.view import View


class IdempotentEngine:
    """`key` names the call."""

    def __init__(self, engine: AsyncEngine, key: str) -> None:
        self._engine = engine
        self._key = key
        self._launched = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def submit(self, command: str, /, **options: Any) -> View:
        return await self._engine.submit(command, **self._keyed(options))

    async def ask(self, text: str, /, *, is_awaited: bool = False, **options: Any) -> View:
        return await self._engine.ask(text, is_awaited=is_awaited, **self._keyed(options))

    def _keyed(self, options: dict[str, Any]) -> dict[str, Any]:
        self._launched += 1
        return {"key": f"{self._key}.{self._launched}", **options}
