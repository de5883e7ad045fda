"""A sandbox: the walls that the system itself puts around a run.

The judge is a convenience, this is a boundary: bubblewrap gives the processes of a run a file system that
they can only read, except for the project, and no network if that is wanted.
"""

from __future__ import annotations

from errands.model.codec import JsonCodec
from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Walls = Literal["none", "files", "network"]

WALLS: tuple[Walls, ...] = ("none", "files", "network")


@record
class Sandbox:
    """What a run may write besides its own directory, and whether it has a network."""

    writable: tuple[str, ...]
    network: bool = True


SANDBOX = JsonCodec(Sandbox, has_defaults=True)


def enclosed(
    argv: Sequence[str],
    sandbox: Sandbox,
    *,
    program: str,
    cwd: str,
    run_dir: str,
    hidden_dirs: Sequence[str] = (),
    hidden_files: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write the command that runs another one inside the walls; later mounts lie over earlier ones."""
    return (
        program,
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
        *[word for path in sandbox.writable for word in ("--bind", path, path)],
        *[word for path in hidden_dirs for word in ("--tmpfs", path)],
        *[word for path in hidden_files for word in ("--ro-bind", "/dev/null", path)],
        *("--bind", run_dir, run_dir),
        *(() if sandbox.network else ("--unshare-net",)),
        # Whoever is left inside when the command has ended is ended with it.
        *("--unshare-pid", "--unshare-ipc", "--chdir", cwd, "--"),
        *argv,
    )
