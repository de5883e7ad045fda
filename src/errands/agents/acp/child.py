"""The child process: one agent, started when first needed, connected over its standard streams."""

from __future__ import annotations

import asyncio
import os
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import acp
from acp import PROTOCOL_VERSION, RequestError
from acp.client import ClientSideConnection
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    SessionCapabilities,
)

import errands
from errands.agents.acp.client import Client
from errands.agents.acp.terminals import close_pipes, exit_code
from errands.model.agent.install_hints import no_program
from errands.model.errors import AgentError, AgentUnavailable

_LINE = 64 * 2**20  # bytes of a message, which may hold a whole file
_SAID = 4000  # characters of standard error that are kept
_START = 60.0  # seconds that an agent may take to initialize
_PATIENCE = 2.0  # seconds that it may take to exit


class Child:
    def __init__(self, command: str | Sequence[str], env: Mapping[str, str], client: Client) -> None:
        self._argv = shlex.split(command) if isinstance(command, str) else list(command)
        self._env = env
        self._client = client
        self._process: Process | None = None
        self._connection: ClientSideConnection | None = None
        self._stderr_reader: asyncio.Task[None] | None = None
        self._said = ""
        self.can = AgentCapabilities()

    @property
    def sessions(self) -> SessionCapabilities:
        return self.can.session_capabilities or SessionCapabilities()

    async def connection(self, cwd: str) -> ClientSideConnection:
        """Return the connection to the agent; start it if it is not running."""
        if self._connection is None:
            await self._start(cwd)
        assert self._connection is not None
        return self._connection

    async def close(self) -> None:
        connection, process, reader = self._connection, self._process, self._stderr_reader
        self._connection = self._process = self._stderr_reader = None
        if connection is not None:
            with suppress(OSError):  # it may be broken already
                await connection.close()
        if process is not None:
            await _end(process)
        if reader is not None:
            await asyncio.wait([reader], timeout=_PATIENCE)
            reader.cancel()
        if process is not None:
            close_pipes(process)
            await asyncio.sleep(0)  # the loop closes them at its next turn

    async def trouble(self, error: Exception) -> AgentError:
        """Describe what went wrong, with the agent's standard error; release a dead agent."""
        if isinstance(error, RequestError):
            return AgentError(f"the agent {self._argv[0]} says: {_words(error)}")
        code = None if self._process is None else await exit_code(self._process, within=_PATIENCE)
        if self._stderr_reader is not None:
            await asyncio.wait([self._stderr_reader], timeout=_PATIENCE)
        await self.close()
        how = "hung up" if code is None else f"ended with {code}" if code >= 0 else f"died of signal {-code}"
        return AgentUnavailable(f"the agent {self._argv[0]} {how}. {self._said.strip()}".strip())

    async def _start(self, cwd: str) -> None:
        self._said = ""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LINE,
                env={**os.environ, **self._env}, cwd=cwd,
            )  # fmt: skip
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError) and os.path.isdir(cwd)
            why = no_program(self._argv[0]) if is_absent else error.strerror or error
            raise AgentError(f"the agent {self._argv[0]} cannot be started in {cwd}: {why}") from error
        assert process.stdin is not None
        self._process = process
        self._stderr_reader = asyncio.create_task(self._read_stderr(process))
        connection = ClientSideConnection(
            cast(acp.Client, self._client), process.stdin, process.stdout, use_unstable_protocol=True
        )
        self._connection = connection
        try:
            async with asyncio.timeout(_START):
                hello = await connection.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=ClientCapabilities(
                        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
                    ),
                    client_info=Implementation(name="errands", version=errands.__version__),
                )
        except TimeoutError:
            await self.close()
            said = f"the agent {self._argv[0]} did not initialize within {_START:g} s. {self._said}"
            raise AgentUnavailable(said.strip()) from None
        except (RequestError, ConnectionError, ValueError) as error:
            raise await self.trouble(error) from error
        if hello.protocol_version != PROTOCOL_VERSION:
            await self.close()
            raise AgentError(
                f"the agent {self._argv[0]} speaks version {hello.protocol_version} of the protocol, "
                f"and Errands speaks {PROTOCOL_VERSION}; update one of them"
            )
        self.can = hello.agent_capabilities or AgentCapabilities()

    async def _read_stderr(self, process: Process) -> None:
        """Keep reading standard error: a full pipe would block the agent."""
        assert process.stderr is not None
        while piece := await process.stderr.read(2**16):
            self._said = (self._said + piece.decode("utf-8", "replace"))[-_SAID:]


async def _end(process: Process) -> None:
    """End a child: close its input, then send signals."""
    assert process.stdin is not None
    process.stdin.close()
    for signal in (process.terminate, process.kill):
        if await exit_code(process, within=_PATIENCE) is None:
            with suppress(ProcessLookupError):
                signal()
    await exit_code(process, within=_PATIENCE)


def _words(error: RequestError) -> str:
    details = error.data
    if isinstance(details, Mapping):
        details = details.get("details") or details.get("message") or dict(details)
    return f"{error} ({details})" if details else str(error)
