"""The host of a task that names none: the one that the configuration names, if the task can run elsewhere."""

from __future__ import annotations

from errands.engine.actor import LAUNCHED
from errands.model.approval import FLEET
from errands.model.errors import ErrandsError
from errands.model.options.draft import HERE
from errands.model.record import evolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.core import EngineCore
    from errands.model.options.draft import Draft


def with_host(core: EngineCore, draft: Draft, configured: str) -> Draft:
    """Return the draft with the host where it runs; `here` is this one, whatever is configured."""
    if draft.host is not None:
        return evolve(draft, host=None) if draft.host == HERE else draft
    if draft.fork is not None:
        return evolve(draft, host=_host_of(core, draft.fork) or None)
    return draft if _stays(draft) else evolve(draft, host=configured)


def _stays(draft: Draft) -> bool:
    """Return whether a draft comes from another home already, or from a run, which starts it where it is."""
    return draft.door == FLEET or (draft.created_by or "").startswith(LAUNCHED)


def _host_of(core: EngineCore, task_id: str) -> str:
    """Return the host of a task, whose session no other one has."""
    try:
        return core.task(core.resolve(task_id)).host
    except ErrandsError:
        return ""  # what is wrong with it is said when it is forked
