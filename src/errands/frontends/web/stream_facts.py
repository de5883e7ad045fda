"""What the stream and the first screen say about the daemon."""

from __future__ import annotations

from typing import Any

from errands.engine.engine import Engine
from errands.ports.store import Query

NO_DAEMON = "No daemon is running: nothing starts, and it is not known what has ended."


def daemon_facts(engine: Engine, *, is_live: bool) -> dict[str, Any]:
    """Say whether a daemon runs and, if something waits for one, what does not happen without it."""
    return {"live": is_live, "said": {"why": NO_DAEMON if not is_live and _is_needed(engine) else ""}}


def _is_needed(engine: Engine) -> bool:
    counts = engine.counts()
    if counts.get("running") or counts.get("pending"):
        return True
    return bool(engine.list(Query(states=("active",), limit=1)))
