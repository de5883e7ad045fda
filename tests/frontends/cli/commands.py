"""Commands of `errands`, each in a process of its own that is forked from a loaded one (`loaded.py`)."""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.frontends.cli import loaded

COMMAND = [sys.executable, "-m", "errands"]
ROOT = Path(__file__).parents[3]
WITHIN = 60.0  # seconds
_AT_START = ("PYTHON", "LANG", "LC_")  # variables that an interpreter reads when it starts


def run(
    words: Sequence[str],
    *,
    given: bytes,
    cwd: Path,
    environ: Mapping[str, str],
    frozen: tuple[str, str] | None = None,
    within: float = WITHIN,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; return what it printed and its exit code.

    `frozen` are the moment at which time stands still for it, and what its ids are made of.
    """
    facts = {"words": words, "cwd": str(cwd), "environ": dict(environ), "frozen": frozen}
    request = json.dumps(facts).encode()
    if frozen is None and (len(request) > loaded.LARGEST or not reads_the_same_at_start(environ)):
        return subprocess.run(
            [*COMMAND, *words],
            input=given,
            capture_output=True,
            cwd=cwd,
            env=environ,
            timeout=within,
            check=False,
        )
    pipes = [os.pipe() for _ in range(loaded.FILES)]
    (its_input, write), (out, its_output), (err, its_errors), (status, its_report) = pipes
    theirs = [its_input, its_output, its_errors, its_report]
    socket.send_fds(_loaded(), [request], theirs)
    for file in theirs:
        os.close(file)
    said = _converse(write, given, {out: b"", err: b"", status: b""}, within)
    code = int(said[status].split()[1])
    return subprocess.CompletedProcess([*COMMAND, *words], code, said[out], said[err])


def run_on_terminal(
    words: Sequence[str], *, columns: int, cwd: Path, environ: Mapping[str, str], frozen: tuple[str, str]
) -> str:
    """Run a command to its end on a terminal of its own, at one moment; return what the terminal got."""
    screen, status = start_on_terminal(words, size=(24, columns), cwd=cwd, environ=environ, frozen=frozen)
    said, deadline = b"", time.monotonic() + WITHIN
    while select.select([screen], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            said += os.read(screen, 65536)
        except OSError:  # nothing has the terminal open any more
            break
    else:
        raise AssertionError(f"it did not end within {WITHIN:g} s: {said!r}")
    os.close(screen)
    with open(status) as report:
        report.read()  # to the end, or the loaded process could not write down the exit code
    return said.decode()


def start_on_terminal(
    words: Sequence[str],
    *,
    size: tuple[int, int],
    cwd: Path,
    environ: Mapping[str, str],
    frozen: tuple[str, str] | None = None,
    more: str = "",
) -> tuple[int, int]:
    """Start a command on a terminal of its own; return the terminal, and where pid and exit code come from.

    `more` names a module that the process it is forked from has loaded as well.
    """
    facts = {"words": words, "cwd": str(cwd), "environ": dict(environ), "frozen": frozen, "on_terminal": True}
    screen, its_screen = os.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    status, its_report = os.pipe()
    files = [its_screen, its_screen, its_screen, its_report]
    socket.send_fds(_loaded(more), [json.dumps(facts).encode()], files)
    for file in (its_screen, its_report):
        os.close(file)
    return screen, status


def reads_the_same_at_start(environ: Mapping[str, str]) -> bool:
    """Return whether an interpreter of its own would begin as the loaded one did."""
    return _read_at_start(environ) == _read_at_start(os.environ)


def _converse(write: int, given: bytes, said: dict[int, bytes], within: float) -> dict[int, bytes]:
    """Write all input and read all that comes until the end of all files, as subprocess does."""
    deadline = time.monotonic() + within
    with selectors.DefaultSelector() as selector:
        for file in said:
            selector.register(file, selectors.EVENT_READ)
        os.set_blocking(write, False)
        selector.register(write, selectors.EVENT_WRITE)
        while files := [key.fd for key in selector.get_map().values()]:
            for key, _ in selector.select(deadline - time.monotonic()):
                file, is_over = key.fd, False
                if file == write:
                    try:
                        given = given[os.write(write, given[:65536]) :]
                    except BrokenPipeError:
                        given = b""
                    is_over = not given
                else:
                    piece = os.read(file, 65536)
                    said[file] += piece
                    is_over = not piece
                if is_over:
                    selector.unregister(file)
                    os.close(file)
            if time.monotonic() > deadline:
                for file in files:
                    os.close(file)
                *_, status = said.values()
                os.kill(int(status.split()[0]), signal.SIGKILL)
                raise AssertionError(f"it did not end within {within:g} s: {said}")
    return said


@functools.cache
def _loaded(more: str = "") -> socket.socket:
    """Start the loaded process; it ends when this one does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.set_inheritable(its.fileno(), True)
    # Without the marks of a test's own processes, which are killed at its end.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ERRANDS_")}
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", loaded.__name__, str(its.fileno()), *([more] if more else [])],
        {**environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ],
    )
    its.close()
    atexit.register(ours.close)
    return ours


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_AT_START)}
