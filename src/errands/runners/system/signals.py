"""Signals without the `signal` module, which would import `enum` into every shim."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["ALL_SIGNALS", "signal", "wakeup_pipe"]

ALL_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def wakeup_pipe(*numbers: int) -> tuple[int, int]:
    """Return both ends of a pipe that receives the number of each of these signals as it arrives."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _wake_up)
    return reading, writing


def _wake_up(number: int, frame: object) -> None:
    """Do nothing: the pipe is what ends the wait."""
