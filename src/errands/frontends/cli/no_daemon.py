"""Absence: a word of warning where there is work and no daemon to see to it."""

from __future__ import annotations

from errands.frontends.cli.display.format import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.frontends.cli.context import Context
    from errands.model.view import View


def no_daemon_note(context: Context, views: Sequence[View]) -> str | None:
    """Say what nobody sees to as long as no daemon runs, if anything."""
    runs = any(view.latest.state == "running" for view in views)
    if not (runs or any(_is_stuck(view) for view in views)) or context.engine.bell.is_answered():
        return None
    what = "no daemon runs, so what has ended is not known yet" if runs else "nobody starts what waits"
    return f"{what}: errands daemon start"


def _is_stuck(view: View) -> bool:
    """Tell whether nothing but room in its lane, or its next time, keeps a task from starting."""
    if view.standing is not None:
        return view.state == "active"
    waits = view.waits or (view.due_at is not None and view.due_at > now())
    return view.latest.state == "pending" and view.state != "proposed" and not waits
