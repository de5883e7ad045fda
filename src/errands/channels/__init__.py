"""Channels: the ways in which notices leave, each a stranger to the others.

A channel is a class that takes one mapping of settings. Those that come with Errands are registered the same
way as anybody else's: as entry points of the group `errands.channels`. They are made in the sender alone.
"""

from __future__ import annotations

from errands.model.notices.errors import Refused
from errands.ports.plugin import find, install_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.channel import Channel

GROUP = "errands.channels"
BUILT_IN = {
    "session": "errands.channels.session:Session",
    "terminal": "errands.channels.terminal:Terminal",
    "desktop": "errands.channels.desktop:Desktop",
    "webhook": "errands.channels.webhook:Webhook",
    "discord": "errands.channels.discord:Discord",
    "apprise": "errands.channels.apprise:AppriseChannel",
}
# What a channel needs that the base install has not.
EXTRAS = {"discord": "discord", "apprise": "apprise"}
# Those that need no settings are there without a section in the configuration.
READY = ("session", "terminal", "desktop")
TRIAL = "test"  # the event of a letter that somebody sends to see it arrive


def make(name: str, settings: Mapping[str, Any]) -> Channel:
    """Make the channel that the configuration knows by a name."""
    kind = str(settings.get("kind", name))
    if not settings and kind not in READY:
        raise Refused(f"the configuration has no channel {name!r}; write [channels.{name}] or cancel it")
    try:
        found = find(GROUP, BUILT_IN, kind)
        channel: Channel | None = None if found is None else found({**settings, "name": name})
    except ModuleNotFoundError as error:
        hint = install_hint(EXTRAS.get(kind))
        raise Refused(f"the channel {name!r} needs {error.name}, which is not installed; {hint}") from error
    if channel is None:
        raise Refused(
            f"there is no channel of kind {kind!r}; there are: {', '.join(BUILT_IN)}, "
            f"and whatever is installed as an entry point of {GROUP}"
        )
    return channel
