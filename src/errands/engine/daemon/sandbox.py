"""Enclosing: a command inside the walls of a sandbox, as this machine can build them."""

from __future__ import annotations

import os

from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.model.action import Sandbox

# Where only the system's own programs stand: whoever chose the search path did not choose the walls.
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
# What is nobody's business inside, below the home directory of whoever launched the run.
_PRIVATE = (
    ".aws", ".azure", ".config/gcloud", ".config/gh", ".docker", ".git-credentials", ".gnupg", ".kube",
    ".local/share/keyrings", ".netrc", ".npmrc", ".password-store", ".pgpass", ".pypirc", ".ssh",
)  # fmt: skip


def bubblewrap() -> str:
    """Find the program that builds the walls; without it there is no sandbox, and nobody pretends."""
    for path in _PLACES:
        if os.access(path, os.X_OK):
            return path
    raise BadValue(
        "a sandbox needs bubblewrap, which is not installed here; nothing was started "
        "(Debian, Ubuntu: apt-get install bubblewrap)"
    )


def sandboxed(
    argv: Sequence[str], sandbox: Sandbox, *, cwd: str, run_dir: str, home: str, person: str
) -> tuple[str, ...]:
    """Put a command inside: its own store and the secrets of `person`'s home directory are out of sight."""
    secrets = [path for name in _PRIVATE if person and os.path.exists(path := os.path.join(person, name))]
    directories = [home, *(path for path in secrets if os.path.isdir(path))]
    files = [path for path in secrets if not os.path.isdir(path)]
    return (
        bubblewrap(),
        # Later mounts cover earlier ones.
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
        *[word for path in sandbox.writable for word in ("--bind", path, path)],
        *[word for path in directories for word in ("--tmpfs", path)],
        *[word for path in files for word in ("--ro-bind", "/dev/null", path)],
        *("--bind", run_dir, run_dir),
        *(() if sandbox.network else ("--unshare-net",)),
        # Processes that outlive the command end with it.
        *("--unshare-pid", "--unshare-ipc", "--chdir", cwd, "--"),
        *argv,
    )
