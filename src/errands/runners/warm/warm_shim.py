"""A warm shim: its run is no new program but a fork of itself, which has the library loaded already.

The fork becomes what the program would have been: everything that was the shim's is let go of, and everything
that a process is started with is given to it, before the first line of its own is run.
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

from errands.runners.shim.shim import ALL_SIGNALS, Shim
from errands.runners.shim.sweep import MARK
from errands.runners.shim.zygote import MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from errands.runners.shim.run import FileActions

_ARG_START = 45  # the fields of /proc/self/stat behind the name: where words and variables begin and end
_UNFLUSHED = 120  # what Python says when its last words cannot be written


class WarmShim(Shim):
    def spawn(self, path: str, argv: list[str], env: dict[str, str], actions: FileActions) -> int:
        """Fork, and have the fork run the module that the last of the words names."""
        # A signal for the fork must neither get lost in our handlers nor be taken for one for us.
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, ALL_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                _become(argv, env, actions, shim=self.pid)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        return pid


def _become(argv: list[str], env: dict[str, str], actions: FileActions, *, shim: int) -> NoReturn:
    code = 1
    try:
        os.setsid()
        _take_files(actions)
        _forget_signals()
        _change_variables(env)
        _show(argv, env)
        if os.getppid() != shim:
            os._exit(1)  # it was killed before we could be found as its run: the run is lost, so are we
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        time.tzset()
        gc.enable()
        sys.orig_argv = list(argv)
        _renew_streams()
        code = _run(argv[-1])
        code = _leave(code)
    except BaseException as error:  # noqa: BLE001  # nothing of the shim's may go on in a fork
        _tell(error)
    finally:
        os._exit(code)


def _take_files(actions: FileActions) -> None:
    """Have the descriptors that the run is to have, and none besides: the record is locked through one."""
    for action in actions:
        match action:
            case os.POSIX_SPAWN_DUP2, file, wanted:
                os.dup2(file, wanted)
            case _, wanted, path, flags, mode:
                os.dup2(os.open(path, flags, mode), wanted)
    os.closerange(3, MOST_FILES)


def _forget_signals() -> None:
    """Have signals as an interpreter has them that has just begun."""
    signal.set_wakeup_fd(-1)
    for number in ALL_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)


def _change_variables(env: dict[str, str]) -> None:
    """Have the run's variables, with the changes that the interpreter and the library make to theirs."""
    before, now = _started_with(), dict(os.environ)
    changed = {name: value for name, value in now.items() if before.get(name) != value}
    os.environ.clear()
    os.environ.update({name: env[name] for name in env if name in now or name not in before} | changed)


def _renew_streams() -> None:
    """Make streams like those that the interpreter made for what was open when it began."""
    for file, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        mode = "w" if file else "r"
        buffer: Any = open(file, f"{mode}b", closefd=False)  # noqa: SIM115  # for as long as we live
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


def _run(module: str) -> int:
    """Run a module as `python -m` does; give the exit code."""
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
        _tell(error)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:  # noqa: BLE001  # the interpreter's edge: whatever it is, it is told
        _tell(error)
        return 1
    return 0


def _tell(error: BaseException) -> None:
    """Say what nobody has caught, beginning where the program begins."""
    ours = error.__traceback__
    error.__traceback__ = ours and ours.tb_next
    sys.excepthook(type(error), error, error.__traceback__)


def _leave(code: int) -> int:
    """Do what an interpreter does at its end; give the exit code after that."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code or _UNFLUSHED
    return code


def _started_with() -> dict[str, str]:
    """Return the variables that this process was started with, whatever became of them."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (os.fsdecode(each).partition("=") for each in file.read().split(b"\0") if each)
        return {name: value for name, _, value in pairs}


def _show(words: Iterable[str], variables: Mapping[str, str]) -> None:
    """Have `ps` show these words and as many variables as there is room for, the mark of the run first.

    A fork has those of its parent there, where the kernel put them when the program was started.

    The process must have set its variables anew before: those it was started with are written over.
    """
    with open("/proc/self/stat", "rb") as file:
        places = file.read().rpartition(b") ")[2].split()[_ARG_START : _ARG_START + 4]
    words_start, words_end, start, end = map(int, places)
    _overwrite([os.fsencode(word) for word in words], words_start, words_end)
    shown = sorted(variables.items(), key=lambda each: (each[0] != MARK, not each[0].startswith("ERRANDS_")))
    _overwrite([os.fsencode(f"{name}={value}") for name, value in shown], start, end)


def _overwrite(pieces: Iterable[bytes], start: int, end: int) -> None:
    content = b""
    for piece in pieces:
        if len(content) + len(piece) < end - start:
            content += piece + b"\0"
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)
