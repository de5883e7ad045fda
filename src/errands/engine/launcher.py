"""The launcher: whoever starts, cancels or answers something, by the name that is kept of them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


LAUNCHED = "run "  # how the name of a run begins, where others have the name of a person


def launcher(environ: Mapping[str, str] = os.environ) -> str:
    """Name whoever an environment belongs to: the run it was made for, or the person."""
    run = environ.get("ERRANDS_RUN_ID")
    name = f"{LAUNCHED}{run}" if run else environ.get("USER") or environ.get("LOGNAME") or _account()
    return name.encode("utf-8", "replace").decode()


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
