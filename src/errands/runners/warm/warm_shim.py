"""A warm shim: it does not start a new program but forks itself, with the library already loaded.

Before the fork runs its module it drops everything of the shim and sets up everything that a new process
would start with, so that it is indistinguishable from one.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import runpy
import signal
import sys
import threading
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from errands.runners.shim.shim import Shim
from errands.runners.shim.sweep import MARK
from errands.runners.shim.zygote import MOST_FILES
from errands.runners.system.signals import ALL_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from errands.runners.shim.parent import FileActions

_ARG_START = 45  # index in /proc/self/stat, after the name: arg_start, arg_end, env_start, env_end
_UNFLUSHED = 120  # Python's exit code when it cannot flush its output


class WarmShim(Shim):
    def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int:
        """Fork, and run the module that the last argument names in the fork."""
        # Signals to the fork must not reach the shim's handlers: they would be lost, or wake up the shim.
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, ALL_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                _run_as_new_process(argv, env, actions, shim=self.pid)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        return pid


def _run_as_new_process(argv: list[str], env: dict[str, str], actions: FileActions, *, shim: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        _set_up_files(actions)
        _reset_signals()
        _set_variables(env)
        _set_proc_title(argv, env)
        if os.getppid() != shim:
            os._exit(1)  # the shim was killed before this process could be found as part of its run
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        time.tzset()
        gc.enable()
        sys.orig_argv = list(argv)
        _reopen_streams()
        code = _run_module(argv[-1])
        code = _shut_down(code)
    except BaseException as error:  # noqa: BLE001  # the shim's code must not continue in a fork
        _print_exception(error)
    finally:
        os._exit(code)


def _set_up_files(actions: FileActions) -> None:
    """Set up the descriptors of the run and close all others: one of them locks the run record."""
    for action in actions:
        match action:
            case os.POSIX_SPAWN_DUP2, file, wanted:
                os.dup2(file, wanted)
            case _, wanted, path, flags, mode:
                os.dup2(os.open(path, flags, mode), wanted)
    os.closerange(3, MOST_FILES)


def _reset_signals() -> None:
    """Set all signals as a new interpreter has them."""
    signal.set_wakeup_fd(-1)
    for number in ALL_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)


def _set_variables(env: dict[str, str]) -> None:
    """Set the run's variables, with the changes that the interpreter and the library made to them."""
    before, now = _initial_variables(), dict(os.environ)
    changed = {name: value for name, value in now.items() if before.get(name) != value}
    os.environ.clear()
    os.environ.update({name: env[name] for name in env if name in now or name not in before} | changed)


def _reopen_streams() -> None:
    """Create standard streams as a new interpreter would."""
    for file, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        mode = "w" if file else "r"
        buffer: Any = open(file, f"{mode}b", closefd=False)  # noqa: SIM115  # open until the process exits
        buffer.raw.name = f"<{name}>"
        renewed: Any = io.TextIOWrapper(
            buffer,
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        renewed.mode = mode
        setattr(sys, name, renewed)
        setattr(sys, f"__{name}__", renewed)


def _run_module(module: str) -> int:
    """Run a module as `python -m` does; return the exit code."""
    sys.argv = ["-m"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]  # what `-m` itself calls
    except SystemExit as error:
        if isinstance(error.code, int | None):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        _print_exception(error)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:  # noqa: BLE001  # as the interpreter does for an uncaught exception
        _print_exception(error)
        return 1
    return 0


def _print_exception(error: BaseException) -> None:
    """Print an uncaught exception, without our frame in the traceback."""
    ours = error.__traceback__
    error.__traceback__ = ours and ours.tb_next
    sys.excepthook(type(error), error, error.__traceback__)


def _shut_down(code: int) -> int:
    """Shut down as an interpreter does; return the exit code."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code or _UNFLUSHED
    return code


def _initial_variables() -> dict[str, str]:
    """Return the variables that this process was started with."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (os.fsdecode(each).partition("=") for each in file.read().split(b"\0") if each)
        return {name: value for name, _, value in pairs}


def _set_proc_title(argv: Iterable[str], variables: Mapping[str, str]) -> None:
    """Make `ps` show these arguments, and as many variables as fit, the mark of the run first.

    The kernel shows the memory in which the parent's arguments and variables were put when it started. So the
    process must have replaced its variables before: the memory of the original ones is overwritten.
    """
    with open("/proc/self/stat", "rb") as file:
        places = file.read().rpartition(b") ")[2].split()[_ARG_START : _ARG_START + 4]
    argv_start, argv_end, start, end = map(int, places)
    _overwrite([os.fsencode(word) for word in argv], argv_start, argv_end)
    shown = sorted(variables.items(), key=lambda each: (each[0] != MARK, not each[0].startswith("ERRANDS_")))
    _overwrite([os.fsencode(f"{name}={value}") for name, value in shown], start, end)


def _overwrite(pieces: Iterable[bytes], start: int, end: int) -> None:
    content = b""
    for piece in pieces:
        if len(content) + len(piece) < end - start:
            content += piece + b"\0"
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)
