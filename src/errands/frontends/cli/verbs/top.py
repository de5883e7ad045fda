"""top: watch all tasks full screen, and act on them."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def top(context: Context, arguments: Arguments) -> int:
    import gc

    gc.enable()  # it runs for long
    return context.bootstrap.run_top(context.engine, look=context.look)


VERBS = (
    Verb(
        name="top",
        summary="watch all tasks full screen, and act on them",
        run=top,
        details="What waits for you, what runs, what has failed and what comes next, live; with keys to "
        "open, cancel, restart, resume, pause and approve. The key ? lists them. It needs the extra tui "
        "(docs/how-to/install.md). See docs/how-to/top.md.",
        examples=(("errands top", ""),),
    ),
)
