"""A reopened question: a person approves what was rejected before."""

from __future__ import annotations

from errands.model.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine


def for_approval(engine: Engine, task_id: str, *, by: str, door: str) -> View:
    """Return the task that a person approves; for a rejected one, ask a new question, as it is now.

    Only for a person: a program whose answer came too late must not reopen the question. The schedule of a
    recurring task never began, so it stays rejected.
    """
    view = engine.get(task_id)
    if view.state != "rejected" or view.standing is not None:
        return view
    return engine.get(engine.ask_anew(view.id, by=by, door=door).id)
