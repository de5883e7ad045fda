"""Channels: how notices leave; none knows another.

A channel is a class that takes a mapping of settings, registered as an entry point of the group
`errands.channels`. Only the sender process creates them.
"""

from __future__ import annotations

from errands.config.channels import READY
from errands.model.errors import BadValue, ChannelError, ErrandsError, Refused
from errands.ports.plugin import CHANNELS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.model.notices.notice import Address
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
TRIAL_WITHIN = 30  # seconds for it to be answered


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


def trouble(name: str, settings: Mapping[str, Any]) -> str:
    """Say why a channel could not be used, as far as that is known without sending something."""
    if name == "inbox":
        return ""
    try:
        make(name, settings)
    except ErrandsError as error:
        return str(error)
    return ""


def send_trial(address: Address, settings: Mapping[str, Any]) -> None:
    """Send a message to an address, from this process; raise whatever is wrong."""
    import asyncio
    import time
    from datetime import UTC, datetime

    from errands.model.notices.delivery import delivery_of
    from errands.model.notices.notice import Notice
    from errands.model.text.json_text import plain_text

    said = "a message sent by errands channel test"
    body = {"task": "errands", "state": "says hello", "description": said, "is_trial": True}
    notice = Notice(
        id=time.time_ns(),
        run_id="errands.1",
        event=TRIAL,
        address=address,
        body=plain_text(body),
        created_at=datetime.now(UTC),
    )

    async def deliver() -> None:
        channel = make(address.channel, settings)
        try:
            async with asyncio.timeout(TRIAL_WITHIN):
                await channel.deliver(delivery_of([notice]))
        except TimeoutError:
            raise ChannelError(f"no answer within {TRIAL_WITHIN} s") from None
        finally:
            await channel.close()

    asyncio.run(deliver())
