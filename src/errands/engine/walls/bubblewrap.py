"""bubblewrap: where it is, and whether it can build a sandbox here."""

from __future__ import annotations

import os

from errands.model.errors import BadValue
from errands.ports.seccomp import is_known

# Not from the search path: a task could put its own there.
_PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")


def bubblewrap() -> str:
    """Return the path of bubblewrap; without it nothing runs in a sandbox."""
    machine = os.uname().machine
    if not is_known(machine):
        raise BadValue(f"a sandbox needs a processor of another kind (x86_64 or aarch64, not {machine})")
    for path in _PLACES:
        if os.access(path, os.X_OK):
            return path
    raise BadValue(
        "a sandbox needs bubblewrap, which is not installed here; nothing was started "
        "(Debian, Ubuntu: apt-get install bubblewrap)"
    )
