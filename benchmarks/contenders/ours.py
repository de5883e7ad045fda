"""Errands: a coroutine for each command, through the Python API to a daemon."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import errands
from benchmarks.cases import Words
from benchmarks.contenders import SLOTS
from errands import bootstrap
from errands.engine.async_engine import AsyncEngine
from errands.engine.connection import EngineConnection
from errands.engine.daemon.lock import daemon_facts


class Errands:
    def __init__(self, directory: str, durability: str) -> None:
        self._home = f"{directory}/home"
        self._durability = durability
        self._loop = asyncio.Runner()
        self._connected: EngineConnection
        self._engine: AsyncEngine
        self._last = ""

    def open(self) -> str:
        os.environ["ERRANDS_LANES_SHELL"] = str(SLOTS)
        os.environ["ERRANDS_STORE_DURABILITY"] = self._durability
        self._connected = errands.connect(self._home, embedded=False, yes=True)
        self._engine = self._loop.run(self._connected.__aenter__())
        return f"errands {errands.__version__}, durability {self._durability}"

    def burst(self, commands: Sequence[Words]) -> list[int]:
        return self._loop.run(self._burst(commands))

    def last_output(self) -> str:
        return self._loop.run(self._engine.output(self._last)).content.decode()

    def close(self) -> None:
        self._loop.run(self._connected.__aexit__(None, None, None))
        self._loop.close()
        facts = daemon_facts(bootstrap.open_home(self._home))
        assert facts is not None
        os.kill(int(facts["pid"]), signal.SIGTERM)
        os.waitpid(int(facts["pid"]), 0)

    async def _burst(self, commands: Sequence[Words]) -> list[int]:
        views = await asyncio.gather(*[self._engine.submit(words) for words in commands])
        ids = [view.id for view in views]
        self._last = ids[-1]
        views = await self._engine.wait_all(ids)
        return [-1 if view.latest.exit_code is None else view.latest.exit_code for view in views]


def make(name: str, directory: str) -> Errands:
    return Errands(directory, "full" if name.endswith("full") else "normal")
