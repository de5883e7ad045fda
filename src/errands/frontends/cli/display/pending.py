"""Why a task has not started, in the reply to a command."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.model.view import View
from errands.text.describe import now, waits_for


def why_pending(context: Context, view: View) -> str:
    return waits_for(view, at=now(), has_room=context.engine.queue.has_room)
