"""The contract of a channel. Subclass it, and provide a channel and its receiver as `reached`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from errands.model.notices.delivery import Delivery, delivery_of
from errands.model.notices.notice import Address, Notice
from errands.model.text.json_text import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from errands.ports.channel import Channel

    class Reached(Protocol):
        """A channel that works, and what its receiver has seen: one text for each message."""

        channel: Channel
        target: str

        def seen(self) -> list[str]: ...
        def break_down(self) -> None:
            """Make the receiver unreachable."""


def sample_delivery(target: str, count: int = 1, **facts: Any) -> Delivery:
    notices = [
        Notice(
            id=number,
            run_id=f"pytest-222222.{number}",
            event="completed",
            address=Address(channel="mail", target=target),
            body=plain_text({"task": "pytest-222222", "state": "completed", **facts}),
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for number in range(1, count + 1)
    ]
    return delivery_of(notices)


class ChannelContract:
    @pytest.mark.spec("N2")
    async def test_a_delivery_arrives(self, reached: Reached) -> None:
        await reached.channel.deliver(sample_delivery(reached.target, summary="89 passed"))
        [message] = reached.seen()
        assert "pytest-222222" in message
        assert "completed" in message
        assert "89 passed" in message

    @pytest.mark.spec("N9")
    async def test_a_digest_arrives_within_its_budget_with_every_notice(self, reached: Reached) -> None:
        size = max(4, min(50, (reached.channel.budget - 200) // 64))
        await reached.channel.deliver(sample_delivery(reached.target, size, summary="word " * 100))
        said = "\n".join(reached.seen())
        assert said.count("pytest-222222") >= size
        assert len(said.encode()) <= max(4 * reached.channel.budget, 64 << 10)

    @pytest.mark.trap(9)
    async def test_nothing_from_outside_controls_the_reader(self, reached: Reached) -> None:
        await reached.channel.deliver(sample_delivery(reached.target, error="\x1b[2J\x1b]0;x\x07 \u202e end"))
        [message] = reached.seen()
        assert [each for each in ("\x1b[2J", "\x1b]0", "\x07", "\u202e") if each in message] == []

    @pytest.mark.trap(12, 13)
    async def test_an_unreachable_receiver_is_an_error_soon(self, reached: Reached) -> None:
        reached.break_down()
        with pytest.raises(Exception, match=r"\w") as caught:
            async with asyncio.timeout(60):
                await reached.channel.deliver(sample_delivery(reached.target))
        assert not isinstance(caught.value, TimeoutError)

    async def test_it_can_be_closed_whether_used_or_not(self, reached: Reached) -> None:
        await reached.channel.close()
