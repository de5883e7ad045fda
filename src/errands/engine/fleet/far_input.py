"""Input for a run that another host carries out: stored at home first, then sent piece by piece.

Like input for a run of this host, a piece counts as sent when the run has taken it.
"""

from __future__ import annotations

from errands.model.errors import NoInput
from errands.ports.fleet import spool
from errands.ports.rundir import NO_INPUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from errands.model.task import Task

PIECE = 256 << 10  # bytes that are sent at once; the next ones wait until the run has taken them


def sending(
    directory: str, task: Task, ring: Callable[[], object], content: bytes, *, eof: bool
) -> Iterator[None]:
    """Send input to a placed run in this directory; yield while the run has not taken all of it."""
    if not task.takes_input:
        raise NoInput(NO_INPUT)
    for start in range(0, max(len(content), 1), PIECE):
        is_last = eof and start + PIECE >= len(content)
        number = spool.put(directory, content[start : start + PIECE], is_last=is_last)
        ring()
        while (answer := spool.reply_to(directory, number)) is None:
            yield
        if answer:
            raise NoInput(not_taken(answer))


def not_taken(answer: str) -> str:
    """Say what became of a piece of input; nothing if the run took it."""
    return f"the input was not taken: {answer}" if answer else ""
