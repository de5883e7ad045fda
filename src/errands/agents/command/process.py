"""The process of an agent: it reads and writes lines, and never outlives the process that started it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from errands.model.agent.install_hints import no_program
from errands.model.errors import AgentUnavailable

GRACE = 3.0  # seconds between SIGTERM and SIGKILL
LONGEST_LINE = 64 << 20
TAIL = 4096  # bytes of standard error that are kept


class Process:
    """It leads its own session, so that it can be ended with everything it started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.was_ended = False
        self._stderr = b""
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Process:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env={**os.environ, **env},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
                preexec_fn=_die_with_parent(),
            )
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError) and os.path.isdir(cwd)
            why = no_program(argv[0]) if is_absent else error.strerror or error
            raise AgentUnavailable(f"{argv[0]} cannot be started: {why}") from error
        return cls(process)

    @property
    def stderr(self) -> str:
        """The end of what it wrote to standard error."""
        return self._stderr.decode(errors="replace").strip()

    def ended(self, name: str, code: int) -> str:
        """Say how it ended, and why if it said so."""
        return f"{name} ended with exit code {code}: {self.stderr or 'it did not say why'}"

    async def write(self, text: str) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # a process that is gone says so with its exit code
            self._process.stdin.write(text.encode())
            await self._process.stdin.drain()

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def lines(self) -> AsyncIterator[bytes]:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield line

    async def read(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.read()

    async def wait(self) -> int:
        """Wait for its end and for the rest of its standard error; return the exit code."""
        code = await self._process.wait()
        await asyncio.wait([self._stderr_reader], timeout=1)
        return code

    def stop(self) -> None:
        """Ask it to end, without waiting."""
        if self._process.returncode is None:
            _send(self._process.pid, signal.SIGTERM)

    async def end(self) -> None:
        """End it, with everything it started."""
        if self._process.returncode is None:
            self.was_ended = True
            tree = descendants(self._process.pid)
            _send(self._process.pid, signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.wait(), GRACE)
            except TimeoutError:
                tree += descendants(self._process.pid)
            for pid in (self._process.pid, *tree):
                _send(pid, signal.SIGKILL)
            await self._process.wait()
            await _gone(tree)
        self.close_input()
        self._stderr_reader.cancel()
        await asyncio.wait([self._stderr_reader])

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(TAIL):
            self._stderr = (self._stderr + piece)[-TAIL:]


class Processes:
    """The running processes, one per session; none is left behind, even if cancelled while starting."""

    def __init__(self) -> None:
        self._starting: dict[str, asyncio.Future[Process]] = {}

    @asynccontextmanager
    async def start(
        self, session: str, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> AsyncIterator[Process]:
        """Start a process; when the context exits, it and everything it started have ended."""
        starting = asyncio.ensure_future(Process.start(argv, cwd=cwd, env=env))
        self._starting[session] = starting
        try:
            yield await asyncio.shield(starting)
        finally:
            await asyncio.shield(_end(starting))
            self._starting.pop(session, None)

    async def end(self, session: str) -> None:
        if starting := self._starting.get(session):
            await asyncio.shield(_end(starting))


async def _end(starting: asyncio.Future[Process]) -> None:
    with suppress(AgentUnavailable):  # it never started, which its caller knows
        await (await starting).end()


async def _gone(pids: Sequence[int]) -> None:
    """Wait until killed processes are gone: a signal takes a moment to have its effect."""
    deadline = asyncio.get_running_loop().time() + GRACE
    while any(is_alive(pid) for pid in pids) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    with suppress(OSError), open(f"/proc/{pid}/stat") as facts:
        return facts.read().rpartition(")")[2].split()[0] != "Z"
    return False


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process, where /proc has them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as children:
                for child in children.read().split():
                    found += [int(child), *descendants(int(child))]
    return found


async def end_strays(mark: str) -> None:
    """End processes that an earlier process left behind, recognised by this word of their command line."""
    loop = asyncio.get_running_loop()
    asked: set[int] = set()
    deadline = loop.time() + GRACE
    while strays := {pid for pid in _marked(mark.encode()) if pid != os.getpid()}:
        late = loop.time() > deadline
        for pid in strays if late else strays - asked:
            _send(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked |= strays
        await asyncio.sleep(0.05)


def _marked(mark: bytes) -> list[int]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        with suppress(OSError, ValueError):
            owner = os.stat(f"/proc/{name}").st_uid
            with open(f"/proc/{name}/cmdline", "rb") as words:
                if int(name) > 1 and owner == os.geteuid() and mark in words.read().split(b"\0"):
                    found.append(int(name))
    return found


def _send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, and to its group when it leads one."""
    for send in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            send(pid, number)


def _die_with_parent() -> Callable[[], None] | None:
    """Return a hook that ends a new process when its parent is killed; None except on Linux."""
    if sys.platform != "linux":
        return None
    library, parent = ctypes.CDLL(None), os.getpid()

    def set_death_signal() -> None:
        library.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return set_death_signal
