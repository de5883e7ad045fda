"""The host of an agent that was started from OpenCode: the person's own OpenCode, while it lives.

When it is provably gone (its process has ended, and its socket refuses), a headless server on the same data
takes over. Two processes that work on one session would answer each other forever, so a doubt is an error,
and what the headless server works on is held: our plugin refuses prompts to it in every other OpenCode.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from typing import Any

from errands.agents.opencode.server import Server
from errands.model.errors import AgentUnavailable
from errands.ports import bridges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.bridges import Bridge

MARK = "ERRANDS_OPENCODE"  # makes our plugin do nothing in a server that we start
STARTING = 60.0  # seconds for a server to listen
WAITING = 120.0  # seconds for its first reply: without a network, OpenCode tries to install a package first
HOLDING = 10.0  # seconds to start holding a session: checking whether it is held locks it for a moment
LEAVING = 5.0  # seconds in which an OpenCode that aborts its sessions closes its bridge, if it is leaving
ENDING = 60.0  # seconds until it has ended then


class Host:
    def __init__(self, settings: Mapping[str, Any], session: str, directory: str) -> None:
        self._settings = settings
        self._directory = directory
        self._notes = os.path.join(str(settings["home"]), bridges.NOTES)
        self._data = bridges.data_directory(os.environ)
        self._session = session.removeprefix(bridges.SESSION)
        self._bridge: Bridge | None = None
        self._headless: asyncio.subprocess.Process | None = None
        self._held: dict[str, int] = {}

    async def server(self, *, may_start: bool = True) -> Server:
        """Return the server to use: the OpenCode that has the session open, or else a headless one."""
        known = bridges.found(self._notes, self._data, self._session)
        living = [each for each in known if each.is_alive]
        for bridge in living:
            if not bridge.is_refused:
                self._bridge = bridge
                return Server(
                    {**self._settings, "url": f"http://opencode-{bridge.pid}"}, socket=bridge.socket
                )
        if living:
            raise AgentUnavailable(
                f"OpenCode (process {living[0].pid}) runs, but its plugin does not answer; restart OpenCode"
            )
        if not may_start:
            raise AgentUnavailable("OpenCode is not running; this will be tried again later")
        return await self._start(next((each.program for each in known), ""))

    async def takes_over(self) -> Server | None:
        """Return a headless server if the OpenCode that was used is gone; None if it lives."""
        bridge, deadline = self._bridge, time.monotonic() + LEAVING
        if bridge is None or self._headless is not None:
            return None
        is_leaving = False
        while bridge.is_alive or not bridge.is_refused:
            if not is_leaving and bridge.is_refused:
                is_leaving, deadline = True, time.monotonic() + ENDING
            if time.monotonic() > deadline:
                return None
            await asyncio.sleep(0.1)
        return await self._start(bridge.program)

    async def hold(self, session: str, run: str) -> None:
        """Keep other processes' prompts away from a session that the headless server works on."""
        deadline = time.monotonic() + HOLDING
        while self._headless is not None and session not in self._held:
            handle = bridges.hold(self._notes, session, run)
            if handle is not None:
                self._held[session] = handle
            elif time.monotonic() > deadline:
                other = bridges.holder(self._notes, session)
                raise AgentUnavailable(
                    f"another run ({other}) works on this session; wait until it has ended"
                )
            else:
                await asyncio.sleep(0.1)

    async def close(self) -> None:
        if self._headless is not None and self._headless.returncode is None:
            self._headless.kill()  # it is idle: its sessions are on disk
            await self._headless.wait()
        for session, handle in self._held.items():
            bridges.release(self._notes, session, handle)
        self._held.clear()

    async def _start(self, program: str) -> Server:
        if not self._settings.get("takeover", True):
            raise AgentUnavailable(
                "OpenCode is not running, and the setting `takeover` of the agent opencode is off, so "
                "nothing continues without it; start OpenCode, then restart the task"
            )
        program = program if os.path.exists(program) else shutil.which("opencode") or ""
        if not program:
            raise AgentUnavailable(
                "OpenCode is not running, and its program is not in the PATH; start OpenCode"
            )
        password = secrets.token_urlsafe(24)
        environ = {**os.environ, "OPENCODE_SERVER_PASSWORD": password, MARK: "headless"}
        environ.pop("OPENCODE_SERVER_USERNAME", None)
        words = ("serve", "--hostname", "127.0.0.1", "--port", "0")
        self._headless = await asyncio.create_subprocess_exec(
            program,
            *words,
            cwd=self._directory,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(STARTING):
                url = await self._address()
        except TimeoutError:
            raise AgentUnavailable(f"{program} serve did not start within {STARTING:g} s") from None
        timeout = max(WAITING, float(self._settings.get("timeout", 0)))
        settings = {**self._settings, "url": url, "username": "opencode", "timeout": timeout}
        server = Server(settings, password=password)
        await server.is_ready()
        return server

    async def _address(self) -> str:
        """Read where the server listens, from what it prints."""
        process = self._headless
        assert process is not None
        assert process.stdout is not None
        while line := (await process.stdout.readline()).decode("utf-8", "replace"):
            if "listening on http://" in line:
                self._reading = asyncio.create_task(_drain(process.stdout))
                return "http://" + line.partition("listening on http://")[2].split()[0].rstrip("/")
        raise AgentUnavailable(f"opencode serve ended at once, with exit code {await process.wait()}")


async def _drain(stream: asyncio.StreamReader) -> None:
    """Read what the server prints, so that it never has to wait for us."""
    while await stream.read(65536):
        pass
