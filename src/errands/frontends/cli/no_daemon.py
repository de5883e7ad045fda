"""A warning where there is work and no daemon runs."""

from __future__ import annotations

from errands.frontends.cli.display.format import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.frontends.cli.context import Context
    from errands.model.view import View


def no_daemon_note(context: Context, views: Sequence[View]) -> str | None:
    """Return a warning if one of the tasks needs a daemon and none runs."""
    runs = any(view.latest.state == "running" for view in views)
    if not (runs or any(_is_stuck(view) for view in views)) or context.engine.bell.is_answered():
        return None
    what = "it is not known yet which tasks have ended" if runs else "waiting tasks do not start"
    return f"no daemon is running, so {what}: errands daemon start"


def _is_stuck(view: View) -> bool:
    """Return whether a task could start, or waits for its next time."""
    if view.standing is not None:
        return view.state == "active"
    waits = view.waits or (view.due_at is not None and view.due_at > now())
    return view.latest.state == "pending" and view.state != "proposed" and not waits
