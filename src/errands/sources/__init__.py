"""Event sources: what tasks can wait for; none knows another.

A source is a class that takes a trigger and a context, registered as an entry point of the group
`errands.sources`. Only the listener process creates them.
"""

from __future__ import annotations

from errands.model.errors import SourceError
from errands.ports.plugin import SOURCES, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.trigger import On
    from errands.ports.source import Source, SourceContext

BUILT_IN = {
    "file": "errands.sources.file:File",
    "command": "errands.sources.command:Command",
    "github": "errands.sources.github:GitHub",
    "webhook": "errands.sources.webhook:Webhook",
    "task": "errands.sources.task:Ended",
}
# The extra that a source needs.
EXTRAS = {"file": "watch"}


def make(trigger: On, context: SourceContext) -> Source:
    source: Source = _find(trigger.source)(trigger, context)
    return source


def trouble(name: str) -> str:
    """Return why a source could not be used, as far as can be seen without creating it."""
    try:
        _find(name)
    except SourceError as error:
        return str(error)
    return ""


def _find(name: str) -> Any:
    return find(SOURCES, BUILT_IN, name, noun="event source", error=SourceError, extras=EXTRAS)
