"""What the stream and the first screen say about the daemon."""

from __future__ import annotations

from typing import Any

NO_DAEMON = "no daemon is running, so nothing starts and nothing is known to have ended: errands daemon start"


def daemon_facts(is_live: bool) -> dict[str, Any]:
    return {"live": is_live, "said": {"why": "" if is_live else NO_DAEMON}}
