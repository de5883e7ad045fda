"""Pass standard input on to a task, in a thread, until the input or the task ends."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.frontends.cli.context import Context

PIECE = 1 << 16
# How often to check whether the task takes input yet.
LOOK = 0.02


def feed(context: Context, task_id: str) -> None:
    """Start passing standard input on to a task; return at once."""
    import threading

    home, settings = context.home, context.config

    def pass_on() -> None:
        # A connection to the store belongs to the thread that opened it.
        engine = context.bootstrap.open_client(home, settings)
        try:
            _pass_on(engine, task_id, sys.stdin.fileno())
        finally:
            engine.close()

    threading.Thread(target=pass_on, daemon=True, name="stdin").start()


def has_input() -> bool:
    """Return whether there is input to read; an empty pipe is often only inherited."""
    import fcntl
    import termios

    source = sys.stdin.fileno()
    if os.isatty(source):
        return False
    try:
        count = fcntl.ioctl(source, termios.FIONREAD, bytes(4))
    except OSError:
        return False  # such as /dev/null
    return int.from_bytes(count, sys.byteorder) > 0


def _pass_on(engine: Engine, task_id: str, source: int) -> None:
    from errands.model.errors import ErrandsError

    _wait_until_it_runs(engine, task_id)
    piece = b"?"
    while piece:
        try:
            piece = os.read(source, PIECE)
            engine.send(task_id, piece, eof=not piece)
        except (ErrandsError, OSError):
            return  # the task has ended or closed its input, or the terminal is gone


def _wait_until_it_runs(engine: Engine, task_id: str) -> None:
    import time

    while (run := engine.view(task_id).latest).completed_at is None and run.pid is None:
        time.sleep(LOOK)
