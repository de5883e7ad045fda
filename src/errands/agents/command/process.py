"""The process of an agent: it is told lines, tells lines, and never outlives whoever asked it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from errands.model.agent.errors import AgentUnavailable
from errands.model.agent.install_hints import no_program

GRACE = 3.0  # seconds from the polite signal to the last one
LONGEST_LINE = 64 << 20
TAIL = 4096  # bytes of its complaints that are kept


class Process:
    """Leads a session of its own, so that it can be ended with all it started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.was_ended = False
        self._complaints = b""
        self._listening = asyncio.create_task(self._listen())

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
                preexec_fn=_mortal(),
            )
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError) and os.path.isdir(cwd)
            why = no_program(argv[0]) if is_absent else error.strerror or error
            raise AgentUnavailable(f"{argv[0]} cannot be started: {why}") from error
        return cls(process)

    @property
    def complaints(self) -> str:
        """The end of what it wrote to standard error."""
        return self._complaints.decode(errors="replace").strip()

    async def tell(self, text: str) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # a process that is gone says so with its exit code
            self._process.stdin.write(text.encode())
            await self._process.stdin.drain()

    def hush(self) -> None:
        """Say that nothing more will be told."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def lines(self) -> AsyncIterator[bytes]:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield line

    async def everything(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.read()

    async def ended(self) -> int:
        """Wait for its end, and for its last complaint; give the exit code."""
        code = await self._process.wait()
        await asyncio.wait([self._listening], timeout=1)
        return code

    def stop(self) -> None:
        """Ask it to end; whoever reads its lines sees that it does."""
        if self._process.returncode is None:
            _send(self._process.pid, signal.SIGTERM)

    async def end(self) -> None:
        """See to it that it has ended, with all that it started."""
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
        self.hush()
        self._listening.cancel()
        await asyncio.wait([self._listening])

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(TAIL):
            self._complaints = (self._complaints + piece)[-TAIL:]


class Processes:
    """Those that answer now, one per session; none is left behind, not even while it is starting."""

    def __init__(self) -> None:
        self._starting: dict[str, asyncio.Future[Process]] = {}

    @asynccontextmanager
    async def start(
        self, session: str, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> AsyncIterator[Process]:
        """Start a process; whatever happens, it has ended afterwards, with all that it started."""
        starting = asyncio.ensure_future(Process.start(argv, cwd=cwd, env=env))
        self._starting[session] = starting
        try:
            yield await asyncio.shield(starting)
        finally:
            await asyncio.shield(_end(starting))
            self._starting.pop(session, None)

    async def end(self, session: str) -> None:
        """End the process of a session, if there is one."""
        if starting := self._starting.get(session):
            await asyncio.shield(_end(starting))


async def _end(starting: asyncio.Future[Process]) -> None:
    with suppress(AgentUnavailable):  # then there is none, and whoever started it was told
        await (await starting).end()


async def _gone(pids: Sequence[int]) -> None:
    """Wait until killed processes are no more: a signal is sent before it has had its effect."""
    deadline = asyncio.get_running_loop().time() + GRACE
    while any(is_alive(pid) for pid in pids) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has buried yet does not."""
    with suppress(OSError), open(f"/proc/{pid}/stat") as facts:
        return facts.read().rpartition(")")[2].split()[0] != "Z"
    return False


def descendants(pid: int) -> list[int]:
    """Name all processes that stem from one, where the system tells."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as children:
                for child in children.read().split():
                    found += [int(child), *descendants(int(child))]
    return found


async def end_strays(mark: str) -> None:
    """End what an earlier process of ours left behind: its command line has this mark in it."""
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


def _mortal() -> Callable[[], None] | None:
    """Give what a new process has to do so that it ends when its parent is killed; only Linux can."""
    if sys.platform != "linux":
        return None
    library, parent = ctypes.CDLL(None), os.getpid()

    def become_mortal() -> None:
        library.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return become_mortal
