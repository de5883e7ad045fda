"""Errands does the slow work of AI agents in the background, and loses none of it.

This is the public API. Each name is imported when it is first used, so `import errands` stays cheap.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.api import connect, submit
    from errands.engine.async_engine import AsyncEngine
    from errands.frontends.toolset import BackgroundTasks, BackgroundToolset
    from errands.model.errors import (
        AlreadyActive,
        AlreadyResolved,
        Ambiguous,
        BadValue,
        Denied,
        ErrandsError,
        IllegalMove,
        NotFound,
        StillLive,
    )
    from errands.model.limits import UNLIMITED
    from errands.model.notices.notice import Notice
    from errands.model.options.draft import Draft
    from errands.model.options.typed import PromptOptions, TaskOptions
    from errands.model.view import AgentView, RecurringView, RunView, View

__all__ = [
    "UNLIMITED",
    "AgentView",
    "AlreadyActive",
    "AlreadyResolved",
    "Ambiguous",
    "AsyncEngine",
    "BackgroundTasks",
    "BackgroundToolset",
    "BadValue",
    "Denied",
    "Draft",
    "ErrandsError",
    "IllegalMove",
    "NotFound",
    "Notice",
    "PromptOptions",
    "RecurringView",
    "RunView",
    "StillLive",
    "TaskOptions",
    "View",
    "__version__",
    "connect",
    "submit",
]

_PLACES = {
    "errands.api": "connect submit",
    "errands.engine.async_engine": "AsyncEngine",
    "errands.frontends.toolset": "BackgroundTasks BackgroundToolset",
    "errands.model.errors": "AlreadyActive AlreadyResolved Ambiguous BadValue Denied ErrandsError "
    "IllegalMove NotFound StillLive",
    "errands.model.limits": "UNLIMITED",
    "errands.model.notices.notice": "Notice",
    "errands.model.options.draft": "Draft",
    "errands.model.options.typed": "PromptOptions TaskOptions",
    "errands.model.view": "AgentView RecurringView RunView View",
}


if not TYPE_CHECKING:  # a type checker would take every name for exported

    def __getattr__(name):
        for module, names in _PLACES.items():
            if name in names.split():
                return getattr(__import__(module, fromlist=[name]), name)
        raise AttributeError(f"module 'errands' has no attribute {name!r}")
