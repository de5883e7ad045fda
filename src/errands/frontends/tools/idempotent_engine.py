"""The engine as one tool call sees it: a repeated call finds what it launched instead of launching it again.

A call is repeated after an approval, maybe in another process. Its Nth launch has the same idempotency key
each time, so it is found even if the process died before it could remember the task id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from errands.engine.async_engine import AsyncEngine
from errands.model.view import View


class IdempotentEngine:
    """`key` identifies the call; `launched` are the ids of what it already launched, in order."""

    def __init__(self, engine: AsyncEngine, key: str, launched: list[str] | None = None) -> None:
        self._engine = engine
        self._key = key
        self._launched = [] if launched is None else launched
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def submit(self, command: Any, /, **options: Any) -> View:
        return await self._once(lambda key: self._engine.submit(command, **{"key": key, **options}))

    async def ask(self, text: str, /, **options: Any) -> View:
        return await self._once(lambda key: self._engine.ask(text, **{"key": key, **options}))

    async def resume(self, task_id: str, text: str, /, **options: Any) -> View:
        return await self._once(lambda key: self._engine.resume(task_id, text, **{"key": key, **options}))

    async def restart(self, task_id: str, /) -> View:
        return await self._once(lambda key: self._engine.restart(task_id, key=key))

    async def edit(self, task_id: str, /, **changes: Any) -> View:
        # An edit that was approved must not be judged again when the call is repeated.
        return await self._once(lambda _: self._engine.edit(task_id, **changes))

    async def _once(self, launch: Callable[[str], Awaitable[View]]) -> View:
        self._count += 1
        if self._count <= len(self._launched):
            return self._engine.engine.summaries([self._launched[self._count - 1]])[0]
        view = await launch(f"{self._key}.{self._count}")
        self._launched.append(view.id)
        return view
