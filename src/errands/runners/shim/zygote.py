"""The zygote: a tiny process that forks shims, run as `python -I -S zygote.py`.

It imports next to nothing, so that forks are cheap and shims are small. It belongs to one pool: when that is
gone it exits, and its shims finish their runs. It inherits the orphans of a killed shim and ends them.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import sys

if __name__ == "__main__":
    # Load our siblings from beside this file under their real names, without importing the package itself
    # and without a folder on the path that could shadow the standard library.
    _SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for _name, _path in ("errands", _SOURCE), ("errands.runners", f"{_SOURCE}/runners"):
        sys.modules[_name] = type(sys)(_name)
        sys.modules[_name].__path__ = [_path]

    # Before any fork: the first run of a shim that may only read then starts 1.3 ms sooner, and the shim has
    # 0.7 MB less to itself; one whose run takes input has 0.9 MB less. Before everything else: after it, all
    # other shims would have 0.03 MB more.
    import errands.runners.shim.read_only
    import errands.runners.shim.stdin_socket  # noqa: F401
    from errands.runners.system import system

    system.choose().missing_walls()

from errands.ports.rundir import scratch_of
from errands.runners.output.capped_log import Log
from errands.runners.shim.shim import Shim
from errands.runners.shim.sweep import sweep
from errands.runners.shim.wire import FORK, Frames, frame
from errands.runners.system import system, tree
from errands.runners.system.signals import signal, wakeup_pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.runners.system.system import System

MOST_FILES = 1 << 20
_PREWARM_RUNS = 24  # the interpreter specialises code that ran eight times; beyond 24 nothing more is saved
_REHEARSED = (["no such program"], ["/bin/echo", "a line"])


class Zygote:
    """Fork a shim for every channel that the pool sends, and clean up after shims that were killed."""

    def __init__(
        self,
        pool: _socket.socket,
        runs: str,
        *,
        shim: Callable[..., Shim] = Shim,
        facts: tuple[object, ...] = (),
    ) -> None:
        """`shim` is what a fork becomes; `facts` are sent to the pool with `ready`."""
        self._pool = pool
        self._shim = shim
        self._facts = facts
        self._system = system.choose()
        self._system.prepare_subreaper()
        self._system.become_subreaper()
        scratch = scratch_of(f"{runs}/", os.getpid())
        _remove_abandoned_scratch(os.path.dirname(scratch))
        self._boot = self._system.boot_id()
        _prewarm(self._system, scratch, boot=self._boot)
        self._shims: set[int] = set()
        self._frames = Frames()
        self._wake, self._wakes = wakeup_pipe(signal.SIGCHLD)

    def serve(self) -> None:
        """Serve the pool until it is gone; a fork returns from here when its work as a shim is done."""
        poll = select.poll()
        poll.register(self._pool.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        self._answer(("ready", *self._facts))
        gc.freeze()
        while True:
            for file, _ in poll.poll():
                if file == self._wake:
                    os.read(self._wake, 64)
                    self._reap()
                    continue
                received, channel = self._receive()
                if not received:
                    return
                if channel >= 0 and self._is_forked(channel):
                    return self._shim(self._system, channel, boot=self._boot).serve()
                # A fork request needs no parsing, which would cost every shim some memory pages.
                if received != FORK:
                    self._handle(self._frames.feed(received))

    def _handle(self, requests: list[tuple[str, ...]]) -> None:
        for request, *words in requests:
            if request == "sweep":
                run, path = words
                sweep(self._system, path, orphans=self._orphans, spared=self._shims)
                self._answer(("swept", run))

    def _receive(self) -> tuple[bytes, int]:
        try:
            received, ancillary, _, _ = self._pool.recvmsg(65536, _socket.CMSG_SPACE(4))
        except OSError:
            return b"", -1
        if not ancillary:
            return received, -1
        return received, int.from_bytes(ancillary[0][2], sys.byteorder)

    def _answer(self, message: tuple[object, ...]) -> None:
        try:
            self._pool.send(frame(message))
        except OSError:
            pass  # the pool is gone, which the next read will show

    def _is_forked(self, channel: int) -> bool:
        """Fork; return whether this process is the new shim."""
        try:
            pid = os.fork()
        except OSError:  # no room for another process; the pool sees the channel close and tries again
            os.close(channel)
            return False
        if pid:
            self._shims.add(pid)
            os.close(channel)
            return False
        os.set_inheritable(channel, False)
        self._pool.close()
        os.close(self._wake)
        os.close(self._wakes)
        return True

    def _reap(self) -> None:
        was_killed = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            if pid in self._shims:
                self._shims.discard(pid)
                was_killed = was_killed or status != 0
        if was_killed:
            tree.kill(self._orphans, by_group=True)

    def _orphans(self) -> list[int]:
        """List the living processes that we inherited from dead shims."""
        inherited = [pid for pid in self._system.children(os.getpid()) if pid not in self._shims]
        found = inherited + [pid for child in inherited for pid in self._system.descendants(child)]
        return [pid for pid in found if self._system.is_alive(pid)]


def _remove_abandoned_scratch(directory: str) -> None:
    """Remove what killed shims and zygotes left."""
    if os.path.isdir(directory) and os.listdir(directory):
        from errands.runners.shim.read_only import remove_abandoned

        remove_abandoned(directory)


def _prewarm(system: System, directory: str, *, boot: str) -> None:
    """Execute a few runs of a command that cannot start, and of one that can, before any fork.

    Python fills caches and specialises code as it runs. What the zygote has warmed up lies in pages that all
    shims share; otherwise each shim would do it again, and need a quarter more memory of its own.
    """
    for each in (os.path.dirname(directory), directory):  # `makedirs` would leave the first to the umask
        try:
            os.mkdir(each, 0o700)
        except OSError:
            pass  # it is there already, or the disk is unusable, as the first real run reports
    ours, theirs = _socket.socketpair()
    shim = Shim(system, theirs.detach(), boot=boot)
    message = {
        "op": "start",
        "run": "rehearsal",
        "attempt": 1,
        "header": b"",
        "cwd": "/",
        "env": dict(os.environ),
        "cap": 0,
        "timeout": None,
        "idle": None,
        "grace": 0.0,
        "limits": {},
        "nice": None,
        "input": "none",
        "may_wait": False,
        "read_only": False,
        "walls": None,
        "fuse": "",
    }
    for time in range(_PREWARM_RUNS):
        argv = _REHEARSED[time % len(_REHEARSED)]
        ours.send(frame(message | {"dir": f"{directory}/{time}", "steps": [("main", argv, "")]}))
        shim.take_turn()
        shim.take_turn()
        ours.recv(65536)
        log = Log(f"{directory}/{time}", header=b"", cap=8192)
        log.write(b"a line\n", lines=1)
        log.finish()
    shim.close()
    ours.close()
    try:
        for each in os.listdir(directory):
            for name in os.listdir(f"{directory}/{each}"):
                os.unlink(f"{directory}/{each}/{name}")
            os.rmdir(f"{directory}/{each}")
        os.rmdir(directory)
    except OSError:
        pass  # the disk is unusable


def detach() -> _socket.socket:
    """Detach from everything but the pool at the other end of standard input; return that socket."""
    try:
        os.setsid()
    except OSError:
        pass  # we lead a session already
    os.closerange(3, MOST_FILES)  # files that leaked into the pool's process must not reach tasks
    pool = _socket.socket(fileno=os.dup(0))
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.chdir("/")
    gc.disable()
    return pool


def main() -> None:
    Zygote(detach(), sys.argv[1]).serve()


if __name__ == "__main__":
    main()
    os._exit(0)
