"""Channels: the ways in which notices leave; none knows another.

A channel is a class that takes a mapping of settings, registered as an entry point of the group
`errands.channels`. Only the sender process creates them.
"""

from __future__ import annotations

from errands.config.channels import READY
from errands.model.errors import BadValue, ChannelError, Refused
from errands.ports.plugin import CHANNELS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.channel import Channel

BUILT_IN = {
    "session": "errands.channels.session:Session",
    "terminal": "errands.channels.terminal:Terminal",
    "desktop": "errands.channels.desktop:Desktop",
    "webhook": "errands.channels.webhook:Webhook",
    "discord": "errands.channels.discord:Discord",
    "apprise": "errands.channels.apprise:AppriseChannel",
}
# The extra that a channel needs.
EXTRAS = {"discord": "discord", "apprise": "apprise"}
TRIAL = "test"  # the event of a delivery that a person sends as a test


def make(name: str, settings: Mapping[str, Any]) -> Channel:
    """Create the channel with this name in the configuration."""
    kind = str(settings.get("kind", name))
    if not settings and kind not in READY:
        raise Refused(f"the configuration has no channel {name!r}; write [channels.{name}] or cancel it")
    found = find(
        CHANNELS,
        BUILT_IN,
        kind,
        noun="kind of channel",
        error=Refused,
        user=f"the channel {name!r}",
        extras=EXTRAS,
    )
    channel: Channel = found({**settings, "name": name})
    return channel


def read_secret(place: str) -> str:
    """Read a secret that the configuration of a channel names."""
    from errands.config import secret

    try:
        return secret.read_secret(place)
    except BadValue as error:
        raise ChannelError(str(error)) from error
