"""Discord, as discord.py sees it: deliveries arrive whole, in order, once, and mention no user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from errands.channels.discord import Discord
from errands.model.errors import ChannelError, NotNow, Refused, Unacknowledged
from tests.channels.deliveries import delivery, digest, question
from tests.channels.discord_shapes import BOT
from tests.channels.fake_discord import FakeDiscord

CHANNEL = 777


@pytest.fixture(scope="module")
def server() -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        yield server


@pytest.fixture
def discord(server: FakeDiscord) -> FakeDiscord:
    server.forget()
    return server


@pytest.fixture
async def channel(discord: FakeDiscord, tmp_path: Path) -> AsyncIterator[Discord]:
    made = make(discord, tmp_path)
    yield made
    await made.close()


def make(discord: FakeDiscord, tmp_path: Path, token: str = "token", *, listen: bool = False) -> Discord:
    (tmp_path / "token").write_text(f"{token}\n")
    return Discord({"token": f"file:{tmp_path}/token", "api": discord.url, "listen": listen})


@pytest.mark.spec("N2", "N4")
async def test_a_delivery_arrives_in_its_channel(channel: Discord, discord: FakeDiscord) -> None:
    await channel.deliver(delivery(f"{CHANNEL}", summary="89 passed", state="failed"))
    [message] = discord.messages.values()
    assert message["channel_id"] == str(CHANNEL)
    assert message["content"].startswith("**pytest-222222 failed in 2.5s**")
    assert "89 passed" in message["content"]
    assert "errands show pytest-222222" in message["content"]


@pytest.mark.spec("N4", "X6")
async def test_where_a_bot_listens_its_messages_name_its_commands(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    channel = make(discord, tmp_path, listen=True)
    await channel.deliver(delivery(f"{CHANNEL}"))
    await channel.deliver(question(f"{CHANNEL}"))
    await channel.close()
    ended, asked = discord.contents
    assert "\nMore: /show pytest-222222\n" in ended
    assert "\nTo answer: /approve deploy-222222 or /reject deploy-222222\n" in asked


@pytest.mark.spec("N4")
async def test_a_delivery_arrives_at_a_user(channel: Discord, discord: FakeDiscord) -> None:
    await channel.deliver(delivery("user/42"))
    [message] = discord.messages.values()
    assert message["channel_id"] == "500042"


@pytest.mark.spec("N4", "N6")
async def test_a_long_answer_is_split_and_its_code_stays_code(channel: Discord, discord: FakeDiscord) -> None:
    code = "\n".join(f"print({number})" for number in range(300))
    await channel.deliver(delivery(f"{CHANNEL}", answer=f"Here it is:\n```python\n{code}\n```\nDone."))
    assert len(discord.contents) > 1
    for content in discord.contents:
        assert len(content) <= 2000
        assert content.count("```") % 2 == 0
    said = "\n".join(discord.contents)
    assert [n for n in range(300) if f"> print({n})\n" not in said] == []
    assert "> Done." in said


@pytest.mark.trap(8, 9)
async def test_what_a_task_printed_cannot_call_anybody_or_speak_for_us(
    channel: Discord, discord: FakeDiscord
) -> None:
    await channel.deliver(
        delivery(f"{CHANNEL}", summary="@everyone ```\x1b[31mred", answer="✅ approved by root")
    )
    [message] = discord.messages.values()
    assert message["allowed_mentions"]["parse"] == []
    assert "\x1b" not in message["content"]
    assert "\n> ✅ approved by root\n" in message["content"]
    assert "approves nothing" in message["content"]


@pytest.mark.spec("D2")
async def test_a_proposal_can_be_answered_by_reactions_and_buttons(
    channel: Discord, discord: FakeDiscord
) -> None:
    await channel.deliver(question(f"{CHANNEL}"))
    [message] = discord.messages.values()
    assert message["content"].startswith("**Proposed task: deploy-222222**")
    assert message["content"].endswith("React ✅ to approve once, ❌ to reject, or press a button.")
    assert message["who"] == {"✅": {BOT}, "❌": {BOT}}
    [row] = message["components"]
    assert [each["custom_id"] for each in row["components"]] == [
        "errands:approve:deploy-222222:1",
        "errands:reject:deploy-222222:1",
    ]


@pytest.mark.fault("F46")
async def test_a_rate_limit_is_kept(channel: Discord, discord: FakeDiscord) -> None:
    discord.limited = 2
    await channel.deliver(delivery(f"{CHANNEL}"))
    assert len(discord.messages) == 1


async def test_a_long_rate_limit_is_waited_for_elsewhere(channel: Discord, discord: FakeDiscord) -> None:
    discord.limited, discord.pause = 1, 100.0
    try:
        with pytest.raises(NotNow) as caught:
            await channel.deliver(delivery(f"{CHANNEL}"))
    finally:
        discord.pause = 0.05
    assert caught.value.after == 100.0


@pytest.mark.fault("F7")
@pytest.mark.trap(3)
async def test_a_delivery_accepted_without_an_answer_is_seen_once(
    channel: Discord, discord: FakeDiscord
) -> None:
    discord.unanswered = 1
    sent = delivery(f"{CHANNEL}")
    with pytest.raises(Unacknowledged):
        await channel.deliver(sent)
    await channel.deliver(sent)
    assert len(discord.messages) == 1


async def test_a_digest_is_one_message(channel: Discord, discord: FakeDiscord) -> None:
    await channel.deliver(digest(f"{CHANNEL}", 30))
    [content] = discord.contents
    assert content.startswith("**30 reports: 30 completed**")


async def test_an_unknown_channel_is_refused_for_good(channel: Discord) -> None:
    with pytest.raises(Refused, match="Unknown Channel"):
        await channel.deliver(delivery("404"))


async def test_a_wrong_token_is_reported(discord: FakeDiscord, tmp_path: Path) -> None:
    wrong = make(discord, tmp_path, "other")
    with pytest.raises(ChannelError, match="does not know the token"):
        await wrong.deliver(delivery(f"{CHANNEL}"))
    await wrong.close()


async def test_a_server_that_is_away_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("token")
    away = Discord({"token": f"file:{tmp_path}/token", "api": "http://127.0.0.1:1"})
    with pytest.raises(ChannelError, match="cannot be reached"):
        await away.deliver(delivery(f"{CHANNEL}"))
    await away.close()
