"""The launcher: whoever starts, cancels or answers something, by the name that is kept of them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


LAUNCHED = "run "  # how the name of a run begins, where others have the name of a person


def actor(environ: Mapping[str, str] = os.environ) -> str:
    """Name whoever an environment belongs to: the run it was made for, or the person."""
    run = environ.get("ERRANDS_RUN_ID")
    name = f"{LAUNCHED}{run}" if run else environ.get("USER") or environ.get("LOGNAME") or _account()
    return name.encode("utf-8", "replace").decode()


_accounts: dict[int, str] = {}  # whoever submits much has its name looked up once: it is a file to read


def _account() -> str:
    uid = os.getuid()
    if uid not in _accounts:
        import pwd

        try:
            _accounts[uid] = pwd.getpwuid(uid).pw_name
        except KeyError:
            _accounts[uid] = f"uid {uid}"
    return _accounts[uid]
