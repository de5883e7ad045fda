"""The functions of the public API: start a task from a script, or open the engine in an async program."""

from __future__ import annotations

from errands import bootstrap
from errands import config as configuration
from errands.engine.async_engine import drafted
from errands.engine.connection import EngineConnection
from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from errands.model.action import Command
    from errands.model.options.draft import Draft
    from errands.model.options.typed import TaskOptions
    from errands.model.view import View


def submit(
    command: Command | Sequence[str] | Draft, /, *, home: str | None = None, yes: bool = False,
    **options: Unpack[TaskOptions],
) -> View:  # fmt: skip
    """Start a task from a script and return at once; the daemon runs it.

    With `yes` the program approves the task itself; without it, a command that is not known to be harmless
    becomes a proposal.
    """
    draft = drafted(command, options)
    _check_typed(draft)
    engine = bootstrap.open_engine(
        bootstrap.open_home(home), consent="yes" if yes else "none", is_client=True
    )
    try:
        return engine.submit(draft)
    finally:
        engine.close()


def _check_typed(draft: Draft) -> None:
    """Refuse obvious mistakes of a script before anything is stored."""
    import os

    if draft.key == "":
        raise BadValue("key cannot be empty; leave it out to start a new task every time")
    if draft.cwd and not draft.after and not draft.host and not os.path.isdir(os.path.expanduser(draft.cwd)):
        place = os.fspath(draft.cwd)
        raise BadValue(
            f"cwd: {place!r} is not a directory; create it first, or let a task named in `after` create it"
        )


def connect(
    home: str | None = None, *, embedded: bool = True, yes: bool = False, **overrides: Any
) -> EngineConnection:
    """Open the engine for an async program: `async with errands.connect() as engine: ...`.

    With `yes` the program consents to all it submits; without it, what is not known to be harmless becomes a
    proposal that waits for a person.

    If no daemon runs for this home, this process embeds it while it is connected (`embedded`), and starts a
    daemon for what is still live afterwards. With `embedded=False` a daemon is started right away.
    `overrides` are configuration keys such as `{"runs.grace": "2s"}`.
    """
    place = bootstrap.open_home(home)
    config = configuration.load(overrides=overrides)
    return EngineConnection(
        engine=lambda: bootstrap.open_engine(place, config, consent="yes" if yes else "none"),
        loops=(lambda rebooted: bootstrap.make_loops(place, config, is_after_reboot=rebooted))
        if embedded
        else None,
        boot=bootstrap.boot_id(),
        start_daemon=lambda: bootstrap.start_daemon(place),
    )
