"""The shim of a watched command, run as `python -I -S watch_shim.py`, one process for each time it is run.

It makes a watched command part of Errands like every run: what it starts can neither leave the tree nor
consent to anything, and one that only reads is held to that. It ends when its standard input does.
"""

from __future__ import annotations

import os
import select
import sys

if __name__ == "__main__":
    # As in the zygote: our siblings under their real names, without importing the package itself.
    _SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for _name, _path in ("errands", _SOURCE), ("errands.runners", f"{_SOURCE}/runners"):
        sys.modules[_name] = type(sys)(_name)
        sys.modules[_name].__path__ = [_path]

from errands.runners.shim.program import explain_directory, explain_start, resolve
from errands.runners.shim.wire import Frames
from errands.runners.system import system, tree
from errands.runners.system.signals import ALL_SIGNALS, signal, wakeup_pipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.runners.shim.read_only import ReadOnly
    from errands.runners.system.system import System

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
_NOT_STARTED = 127


def main() -> int:
    """Run the command that standard input names; return its exit code, minus the signal that ended it."""
    asked = _received()
    if asked is None:
        return _NOT_STARTED  # the listener is gone
    here = system.choose()
    here.prepare_subreaper()
    here.become_subreaper()
    read_only: ReadOnly | None = None
    if asked["scratch"] and not here.missing_walls():
        from errands.runners.shim.read_only import ReadOnly

        read_only = ReadOnly(here.walls(), f"{asked['scratch']}/{os.getpid()}")
        asked["env"] |= read_only.variables
    try:
        return _Watched(here).run(asked, read_only)
    except OSError as error:
        os.write(_ERRORS, str(error.strerror).encode("utf-8", "replace"))
        return _NOT_STARTED
    finally:
        if read_only is not None:
            read_only.close()


def _received() -> dict[str, Any] | None:
    frames = Frames()
    while piece := os.read(_INPUT, 65536):
        for message in frames.feed(piece):
            found: dict[str, Any] = message
            return found
    return None


class _Watched:
    def __init__(self, here: System) -> None:
        self._system = here
        self._wake, _ = wakeup_pipe(signal.SIGCHLD)
        self._leader = 0
        self._status = 0
        self._groups: list[int] = []

    def run(self, asked: dict[str, Any], read_only: ReadOnly | None) -> int:
        self._start(asked, read_only)
        try:
            self._wait()
        finally:
            tree.kill(self._living, by_group=True, leader=self._leader)
            self._reap()
        return -int(signal.SIGKILL) if self._leader else os.waitstatus_to_exitcode(self._status)

    def _start(self, asked: dict[str, Any], read_only: ReadOnly | None) -> None:
        argv, env = asked["argv"], asked["env"]
        try:
            os.chdir(asked["cwd"])
        except OSError as error:
            raise OSError(error.errno, explain_directory(asked["cwd"], error)) from None
        path = resolve(argv[0], env)

        def spawn() -> int:
            return os.posix_spawn(
                path, argv, env, setsid=True, setsigmask=(), setsigdef=ALL_SIGNALS,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, _INPUT, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, _OUTPUT, _ERRORS),
                ],
            )  # fmt: skip

        try:
            self._leader = spawn() if read_only is None else read_only.call(spawn, env, asked["cwd"])
        except OSError as error:
            raise OSError(error.errno, explain_start(argv[0], path, error)) from None
        except ValueError as error:
            raise OSError(0, f"cannot start {argv[0]!r}: {error}") from None
        self._groups.append(self._leader)
        os.chdir("/")

    def _wait(self) -> None:
        """Wait until the command exits, or the listener does not want its output any more."""
        poll = select.poll()
        poll.register(_INPUT, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        self._reap()
        while self._leader:
            for file, _ in poll.poll():
                if file == self._wake:
                    os.read(self._wake, 64)
                elif not os.read(_INPUT, 65536):
                    return
            self._reap()

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._leader:
                self._leader, self._status = 0, status

    def _living(self) -> list[int]:
        self._reap()
        below = self._system.descendants(os.getpid(), groups=self._groups)
        return [pid for pid in below if self._system.is_alive(pid)]


if __name__ == "__main__":
    _code = main()
    if _code < 0:
        signal.signal(-_code, signal.SIG_DFL)
        os.kill(os.getpid(), -_code)
    os._exit(_code)
