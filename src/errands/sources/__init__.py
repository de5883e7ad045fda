"""Event sources: what tasks can wait for; none knows another.

A source is a class that takes a trigger and a context, registered as an entry point of the group
`errands.sources`. Only the listener process creates them.
"""

from __future__ import annotations

from errands.model.errors import SourceError
from errands.ports.plugin import SOURCES, find, install_hint

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
    """Create the source of a trigger."""
    try:
        source: Source = _find(trigger.source)(trigger, context)
    except ModuleNotFoundError as error:
        how = install_hint(EXTRAS.get(trigger.source))
        raise SourceError(
            f"the source {trigger.source!r} needs {error.name}, which is not installed; {how}"
        ) from error
    return source


def trouble(name: str) -> str:
    """Return why a source could not be used, as far as can be seen without creating it."""
    try:
        _find(name)
    except ModuleNotFoundError as error:
        return f"it needs {error.name}; {install_hint(EXTRAS.get(name))}"
    except SourceError as error:
        return str(error)
    return ""


def _find(name: str) -> Any:
    kind = find(SOURCES, BUILT_IN, name)
    if kind is None:
        raise SourceError(
            f"unknown source {name!r}; known: {', '.join(BUILT_IN)}, "
            f"and the installed entry points of {SOURCES}"
        )
    return kind
