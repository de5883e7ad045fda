"""Sandboxes: run a command in bubblewrap, with secrets hidden."""

from __future__ import annotations

import os

from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.model.action import Sandbox

# Not from the search path: a task could put its own there.
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
# Hidden inside, below the home directory of the person.
_PRIVATE = (
    ".aws", ".azure", ".config/gcloud", ".config/gh", ".docker", ".git-credentials", ".gnupg", ".kube",
    ".local/share/keyrings", ".netrc", ".npmrc", ".password-store", ".pgpass", ".pypirc", ".ssh",
)  # fmt: skip


def bubblewrap() -> str:
    """Return the path of bubblewrap; without it nothing runs in a sandbox."""
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
    """Wrap a command: the store and the secrets in the home directory of `person` are hidden."""
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
