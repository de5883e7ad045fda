"""The answer on a terminal to the question whether a command may start.

Only a typed yes is a yes; anything else, including silence, is a no.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context

ANSWER_WITHIN = 600.0  # seconds
LONGEST_ANSWER = 1024
DECLINED = 4  # the exit code when a person said no


def answered(prompt: str, *, timeout: float = ANSWER_WITHIN) -> bool:
    """Ask on the terminal; only `y` or `yes` is a yes, not a timeout or the end of input.

    An interrupt is raised instead, so that a command with more questions ends.
    """
    return typed(prompt, timeout=timeout).lower() in ("y", "yes")


def agrees(prompt: str) -> bool:
    """Ask the last question before something is written; an interrupt is a no."""
    try:
        return answered(prompt)
    except KeyboardInterrupt:
        return False


def unwritten(context: Context) -> int:
    """Say that a person's no has kept everything as it was; return the exit code for that."""
    context.note("nothing was written")
    return DECLINED


def typed(prompt: str, *, timeout: float = ANSWER_WITHIN) -> str:
    """Ask on the terminal and return the line that is typed; empty for none. An interrupt is raised.

    Input typed before the question appeared is discarded.
    """
    import termios

    source, line = sys.stdin.fileno(), b""
    try:
        with _NoOnSignals() as signals:
            termios.tcflush(source, termios.TCIFLUSH)
            sys.stdout.flush()
            sys.stderr.write(prompt)
            sys.stderr.flush()
            line = _line(source, signals, timeout)
        if not line:
            _end_line()
    except KeyboardInterrupt:
        _end_line()
        raise
    except (OSError, termios.error):
        line = b""
    return line.decode("utf-8", "replace").strip()


def _end_line() -> None:
    """Begin a new line behind a question without an answer; the terminal may be gone as well."""
    try:
        sys.stderr.write("\n")
        sys.stderr.flush()
    except OSError:
        pass


def _line(source: int, signals: int, timeout: float) -> bytes:
    """Read a line; empty at the end of input or after the timeout.

    A signal that arrives just before the wait does not interrupt it; its byte in `signals` does.
    """
    deadline = time.monotonic() + timeout
    said = b""
    while not said.endswith(b"\n"):
        ready = select.select([source, signals], [], [], max(0, deadline - time.monotonic()))[0]
        if signals in ready:
            os.read(signals, 1)
            continue
        if not ready:
            return b""
        # One byte at a time: what follows the line may be meant for the task.
        piece = os.read(source, 1)
        if not piece or len(said) > LONGEST_ANSWER:
            return b""
        said += piece
    return said


class _NoOnSignals:
    """Turns the signals that end a program into a no; returns a file with a byte for each that arrived."""

    def __enter__(self) -> int:
        import signal

        self._signals, self._report = os.pipe()
        os.set_blocking(self._report, False)  # as `set_wakeup_fd` wants it
        self._reported_before = signal.set_wakeup_fd(self._report, warn_on_full_buffer=False)
        self._before = {each: signal.signal(each, _interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}
        return self._signals

    def __exit__(self, *error: object) -> None:
        import signal

        for each, former in self._before.items():
            signal.signal(each, former)
        signal.set_wakeup_fd(self._reported_before)
        os.close(self._signals)
        os.close(self._report)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
