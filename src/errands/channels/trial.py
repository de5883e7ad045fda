"""Trials: whether a channel could be used, and a message sent to see it arrive."""

from __future__ import annotations

from errands.channels import TRIAL, make
from errands.model.errors import ChannelError, ErrandsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.model.notices.notice import Address

WITHIN = 30  # seconds


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

    body = {"task": "errands", "state": "says hello", "description": "a message sent by errands channel test"}
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
            async with asyncio.timeout(WITHIN):
                await channel.deliver(delivery_of([notice]))
        except TimeoutError:
            raise ChannelError(f"no answer within {WITHIN} s") from None
        finally:
            await channel.close()

    asyncio.run(deliver())
