"""A session on a real OpenCode server gets deliveries: without a reply, in order, and none twice."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from errands.channels.session import Session
from errands.model.errors import ChannelError, NotNow
from errands.model.notices.delivery import delivery_of
from errands.testing.engines import until
from tests.channels.deliveries import delivery, notice
from tests.model_server import ModelServer


def ask(url: str, path: str, body: object = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        content = reply.read()
    return json.loads(content) if content else None


@pytest.mark.spec("N2", "N6")
@pytest.mark.trap(3)
async def test_a_delivery_joins_the_conversation_without_a_reply(
    opencode: str, model: ModelServer, tmp_path: Path
) -> None:
    session = ask(opencode, f"/session?directory={tmp_path}", {"title": "parent"})["id"]
    before = len(model.asked)
    channel = Session({"url": opencode})

    await channel.deliver(delivery(session, summary="89 passed"))
    await channel.deliver(delivery_of([notice(session, attempts=1, summary="89 passed")]))
    await channel.deliver(delivery(session, number=2, state="failed"))

    said = [
        part["text"]
        for message in ask(opencode, f"/session/{session}/message")
        for part in message["parts"]
        if part["type"] == "text"
    ]
    assert [text.partition("] ")[2].partition("\n")[0] for text in said] == [
        "pytest-222222 completed in 2.5s",
        "pytest-222222 failed in 2.5s",
    ]
    assert "89 passed" in said[0]
    assert len(model.asked) == before
    await channel.close()


@pytest.mark.spec("N2")
async def test_a_delivery_waits_for_a_busy_session_and_keeps_its_agent(opencode: str, tmp_path: Path) -> None:
    """A message without an agent would make it a session of `build`, with full rights."""
    session = ask(opencode, f"/session?directory={tmp_path}", {"title": "parent"})["id"]
    prompt = {"agent": "plan", "parts": [{"type": "text", "text": "SLOW 5\nSAY planned"}]}
    channel = Session({"url": opencode})
    ask(opencode, f"/session/{session}/prompt_async?directory={tmp_path}", prompt)
    await until(lambda: session in ask(opencode, f"/session/status?directory={tmp_path}"))

    with pytest.raises(NotNow, match="busy"):
        await channel.deliver(delivery(session))
    await until(lambda: session not in ask(opencode, f"/session/status?directory={tmp_path}"))
    await channel.deliver(delivery(session))

    messages = ask(opencode, f"/session/{session}/message")
    assert "pytest-222222" in json.dumps(messages[-1])
    assert {each["info"]["agent"] for each in messages} == {"plan"}
    await channel.close()


async def test_a_session_that_is_gone_is_reported(opencode: str) -> None:
    channel = Session({"url": opencode})
    with pytest.raises(ChannelError, match="404"):
        await channel.deliver(delivery("ses_gone"))
    await channel.close()
