"""Commands that may only read: started by a thread of the shim on which the kernel enforces that.

Handing it the start costs each run 0.1 ms; a new thread for every run would cost 0.4 ms and more, a wrapper
program 10 ms. All that a command may write to is a scratch directory, which is emptied after its run. It
cannot open what is in the places of secrets in a home directory.
"""

from __future__ import annotations

import _thread
import os
import stat

from errands.ports.own_file import open_file
from errands.ports.rundir import LOG, read_at
from errands.runners.system.hidden_places import Readable
from errands.runners.system.signals import ALL_SIGNALS, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.runners.system.landlock import Walls

# Variables for programs that also write something, which fails here or is reported, or that read settings
# with secrets even when they only print their version.
QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "LESSHISTFILE": "-",
    "PYTHONDONTWRITEBYTECODE": "1",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "NPM_CONFIG_USERCONFIG": "/dev/null",
}
_SETTINGS = ("DOCKER_CONFIG", "GH_CONFIG_DIR")  # the same for settings in a directory
_NOTE = (
    "errands: this ran behind walls, which may be why: it started without approval because it only reads, "
    "so it cannot write (except to $TMPDIR), connect, or open places of secrets; use `errands propose` to "
    "approve more"
)
_REFUSALS = (b"ermission denied", b"not permitted", b"EACCES", b"EPERM", b"ermissionError")
_END = 1 << 16  # bytes of a log to look at


class ReadOnly:
    """Start commands behind walls; made by a shim for its first run that may only read."""

    def __init__(self, walls: Walls, scratch: str) -> None:
        self._walls = walls
        self._scratch = scratch
        for directory in (os.path.dirname(scratch), scratch):
            try:
                os.mkdir(directory, 0o700)
            except FileExistsError:
                pass  # another shim made it, or one with the same number before
        empty(scratch)  # a shim with the same number may have been killed
        walls.hide_memory()
        self._readable: Readable | None = None
        self._thread: _RestrictedThread | None = None

    @property
    def variables(self) -> dict[str, str]:
        return QUIET | dict.fromkeys(("TMPDIR", "TMP", "TEMP", *_SETTINGS), self._scratch)

    def call(self, spawn: Callable[[], int], env: dict[str, str], cwd: str, terminal: str = "") -> int:
        """Call a function behind the walls; what it starts may write to a terminal if it was given one."""
        home = env.get("HOME", "")
        if self._readable is None or not self._readable.is_still_true(home, cwd):
            self._readable = Readable(home, cwd, store=os.path.dirname(os.path.dirname(self._scratch)))
            if self._thread is not None:
                self._thread.end()
                self._thread = None
        if terminal:
            # The lasting thread must not get terminals: the next command would have those of others, too.
            thread = self._restricted_thread(self._readable, terminals=(terminal,))
            try:
                return thread.call(spawn)
            finally:
                thread.end()
        if self._thread is None:
            self._thread = self._restricted_thread(self._readable)
        return self._thread.call(spawn)

    def _restricted_thread(self, readable: Readable, terminals: tuple[str, ...] = ()) -> _RestrictedThread:
        rules = self._walls.ruleset(readable=readable.paths, writable=(self._scratch,), terminals=terminals)
        return _RestrictedThread(self._walls, rules)

    def explanation(self, run_directory: str) -> tuple[str, ...]:
        """Return what to say about a failed run: that it met the walls, if the end of its log suggests so."""
        try:
            log = open_file(f"{run_directory}/{LOG}")
        except OSError:
            return ()
        try:
            end = read_at(log, _END, max(0, os.fstat(log).st_size - _END))
        finally:
            os.close(log)
        return (_NOTE,) if any(words in end for words in _REFUSALS) else ()

    def clear(self) -> bool:
        """Remove what a run left; return False if that fails, because the next run must not see it."""
        try:
            empty(self._scratch)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Remove the scratch directory."""
        if self.clear():
            os.rmdir(self._scratch)


class _RestrictedThread:
    """A thread behind walls, which calls what it is given; it takes over the rules and closes them."""

    def __init__(self, walls: Walls, rules: int) -> None:
        self._walls = walls
        self._rules = rules
        self._given = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self._given.acquire()
        self._done.acquire()
        self._function: Callable[[], int] | None = None
        self._result = 0
        self._error: BaseException | None = None
        try:
            # Signals belong to the thread that waits for events, and a new thread inherits what is blocked.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, ALL_SIGNALS)
            try:
                _thread.start_new_thread(self._serve, ())
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self.call(self._restrict)
        except BaseException:
            self.end()
            raise
        finally:
            os.close(rules)

    def call(self, function: Callable[[], int]) -> int:
        self._function = function
        self._given.release()
        self._done.acquire()
        if self._error is not None:
            raise self._error
        return self._result

    def end(self) -> None:
        self._function = None
        self._given.release()

    def _serve(self) -> None:
        while self._given.acquire() and self._function is not None:
            self._error = None
            try:
                self._result = self._function()
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that called
                self._error = error
            self._done.release()

    def _restrict(self) -> int:
        self._walls.restrict_thread(self._rules, thread=_thread.get_native_id(), process=os.getpid())
        return 0


def remove_abandoned(directory: str) -> None:
    """Remove the scratch directories of shims that were killed."""
    try:
        names = os.listdir(directory)
    except OSError:
        return  # no run has needed one
    for name in names:
        if not os.path.exists(f"/proc/{name}"):
            try:
                empty(f"{directory}/{name}")
                os.rmdir(f"{directory}/{name}")
            except OSError:
                continue  # another zygote removed it


def empty(directory: str) -> None:
    """Remove everything in a directory, however deep it is and whatever its modes are."""
    number = 0
    while names := os.listdir(directory):
        for name in names:
            path = f"{directory}/{name}"
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            # Moving up what is in it keeps paths short, and only its owner must be able to enter it.
            for inner in os.listdir(path):
                if stat.S_ISDIR(os.lstat(f"{path}/{inner}").st_mode):
                    os.chmod(f"{path}/{inner}", 0o700)
                while os.path.lexists(to := f"{directory}/{number}"):
                    number += 1
                os.rename(f"{path}/{inner}", to)
            os.rmdir(path)
