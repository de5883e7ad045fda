"""Cutting a fork to size, with the means that OpenCode has: parts are rewritten, messages removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from errands.agents.opencode.server import Server
from errands.model.agent.fork import clipped, newest, tokens

Message = Mapping[str, Any]


async def cut(server: Server, session: str) -> None:
    """Clip long results of tools, and remove the oldest messages until the rest fits."""
    messages = [
        {**message, "parts": [await _clipped(server, part) for part in message["parts"]]}
        for message in await server.messages(session)
    ]
    kept = newest(messages, size=_size, calls=_none, results=_none)
    begin = len(messages) - len(kept)
    # Some models want a person's words first; an answer whose question is gone says little, anyway.
    starts = [place for place in range(begin, len(messages)) if messages[place]["info"]["role"] == "user"]
    for message in messages[: starts[0] if begin and starts else begin]:
        await server.remove(session, message["info"]["id"])


async def _clipped(server: Server, part: Mapping[str, Any]) -> Mapping[str, Any]:
    state = part.get("state") or {}
    output = state.get("output")
    if part["type"] != "tool" or not isinstance(output, str) or clipped(output) == output:
        return part
    # The copy for people to look at may be as long.
    metadata = {name: value for name, value in (state.get("metadata") or {}).items() if name != "output"}
    shorter = {**part, "state": {**state, "output": clipped(output), "metadata": metadata}}
    await server.rewrite(shorter)
    return shorter


def _size(message: Message) -> int:
    said = 0
    for part in message["parts"]:
        if part["type"] == "tool":
            state = part.get("state") or {}
            said += tokens(json.dumps(state.get("input") or {}, ensure_ascii=False))
            said += tokens(state.get("output") or state.get("error") or "")
        else:
            said += tokens(part.get("text") or "")
    return said


def _none(message: Message) -> tuple[str, ...]:
    """A call and its result are one part of one message here, so nothing can part them."""
    return ()
