"""Sources: where things happen that tasks wait for, each a stranger to the others.

A source is a class that takes a trigger and the ground it stands on. Those that come with Errands are
registered the same way as anybody else's: as entry points of the group `errands.sources`. They are made in
the listener alone.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from errands.model.source_errors import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.trigger import On
    from errands.ports.source import Ground, Source

GROUP = "errands.sources"
# They are found without metadata, too, so that a copy of the source is enough.
BUILT_IN = {
    "file": "errands.sources.file:File",
    "command": "errands.sources.command:Command",
    "github": "errands.sources.github:GitHub",
    "webhook": "errands.sources.webhook:Webhook",
    "task": "errands.sources.task:Ended",
}
# What a source needs that the base install has not.
EXTRAS = {"file": "watch"}


def make(trigger: On, ground: Ground) -> Source:
    """Make the source of a trigger."""
    try:
        source: Source = _find(trigger.source)(trigger, ground)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(trigger.source)
        advice = f"install it with: pip install 'errands[{extra}]'" if extra else "install what it needs"
        raise SourceError(
            f"the source {trigger.source!r} needs {error.name}, which is not installed; {advice}"
        ) from error
    return source


def trouble(name: str) -> str:
    """Say why a source could not be used, as far as that can be told without looking at anything."""
    try:
        _find(name)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(name)
        return f"it needs {error.name}" + (f": pip install 'errands[{extra}]'" if extra else "")
    except SourceError as error:
        return str(error)
    return ""


def _find(name: str) -> Any:
    where = BUILT_IN.get(name)
    if where is None:
        for each in entry_points(group=GROUP):
            if each.name == name:
                return each.load()
        raise SourceError(
            f"there is no source {name!r}; there are: {', '.join(BUILT_IN)}, "
            f"and whatever is installed as an entry point of {GROUP}"
        )
    module, _, kind = where.partition(":")
    return getattr(__import__(module, fromlist=[kind]), kind)
