"""Ctrl-C and Ctrl-Z as events instead of exceptions, so that they do not cut output in two."""

from __future__ import annotations

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPT, SUSPEND = signal.SIGINT, signal.SIGTSTP
# If the presses are not taken, because the terminal hangs, this many Ctrl-C end the program.
ENOUGH = 3


class KeyPresses:
    """The keys pressed while inside `with`; `fileno` becomes readable with each."""

    def __enter__(self) -> KeyPresses:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._waiting: list[int] = []
        self._before = {each: signal.signal(each, self._note) for each in (INTERRUPT, SUSPEND)}
        return self

    def __exit__(self, *error: object) -> None:
        for each, former in self._before.items():
            signal.signal(each, former)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        return self._reader

    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def next(self, timeout: float = 0.0) -> int | None:
        """Take the oldest press, waiting for one up to `timeout`."""
        if not self._waiting and timeout:
            select.select([self._reader], [], [], timeout)
        if not self._waiting:
            return None
        os.read(self._reader, 1)
        return self._waiting.pop(0)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append(number)
        os.write(self._writer, b".")
        if self._waiting.count(INTERRUPT) >= ENOUGH:
            raise KeyboardInterrupt
