"""The actor: the name under which it is recorded who starts, cancels or answers something."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


LAUNCHED = "run "  # what the name of an actor begins with that is a run and not a person


def actor(environ: Mapping[str, str] = os.environ) -> str:
    """Return the actor of an environment: the run it was made for, or the person."""
    run = environ.get("ERRANDS_RUN_ID")
    name = f"{LAUNCHED}{run}" if run else environ.get("USER") or environ.get("LOGNAME") or _account()
    return name.encode("utf-8", "replace").decode()


_accounts: dict[int, str] = {}  # read once: it is in a file


def _account() -> str:
    uid = os.getuid()
    if uid not in _accounts:
        import pwd

        try:
            _accounts[uid] = pwd.getpwuid(uid).pw_name
        except KeyError:
            _accounts[uid] = f"uid {uid}"
    return _accounts[uid]
