"""A transcript: a conversation as the agent's updates tell it, piece by piece.

A piece is what somebody said, or a tool call together with its result, so that no cut can part them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UserMessageChunk,
)

from errands.model.agent.fork import MOST_TOKENS, clipped, newest, tokens

Piece = dict[str, Any]  # role: user, post, agent, tool; end (the answer), born (a fork), moved

_SPEAKERS = {"user": "USER", "post": "USER", "agent": "AGENT"}
_ENDED = ("completed", "failed")


class Transcript:
    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._calls: dict[str, Piece] = {}

    def add(self, update: object) -> Piece | None:
        """Take an update in; give the piece that it is about."""
        if isinstance(update, UserMessageChunk | AgentMessageChunk):
            role = "user" if isinstance(update, UserMessageChunk) else "agent"
            text = update.content.text if isinstance(update.content, TextContentBlock) else ""
            return self._say(role, text)
        if isinstance(update, ToolCallStart | ToolCallProgress):
            return self._call(update)
        return None

    def call(self, update: ToolCallUpdate) -> Piece:
        """Give the call that a question is about, with all that is known of it."""
        return self._call(update)

    @property
    def answer(self) -> str:
        """What the agent said last."""
        said = [piece["text"] for piece in self.pieces if piece["role"] == "agent" and piece["text"].strip()]
        return said[-1].strip() if said else ""

    @property
    def unfinished(self) -> list[Piece]:
        return [piece for piece in self._calls.values() if not piece["ended"]]

    def _say(self, role: str, text: str) -> Piece:
        if not self.pieces or self.pieces[-1]["role"] != role:
            self.pieces.append({"role": role, "text": ""})
        self.pieces[-1]["text"] += text
        return self.pieces[-1]

    def _call(self, update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> Piece:
        piece = self._calls.get(update.tool_call_id)
        if piece is None:
            piece = {"role": "tool", "id": update.tool_call_id, "name": _name(update), "arguments": {}}
            piece |= {"kind": None, "result": "", "ended": False, "failed": False}
            self._calls[update.tool_call_id] = piece
            self.pieces.append(piece)
        if update.kind:
            piece["kind"] = update.kind
        if isinstance(update.raw_input, Mapping) and update.raw_input:
            piece["arguments"] = dict(update.raw_input)
        for path, text in edits(update):
            piece["arguments"].setdefault("path", path)
            piece["arguments"].setdefault("content", text)
        result = _result(update)
        if result:
            piece["result"] = result
        if update.status in _ENDED:
            piece["ended"], piece["failed"] = True, update.status == "failed"
        return piece


def edits(update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> list[tuple[str, str]]:
    """Give the files that a call would write, each with its new content."""
    return [
        (each.path, each.new_text)
        for each in update.content or ()
        if isinstance(each, FileEditToolCallContent)
    ]


def fits(pieces: Sequence[Piece]) -> bool:
    """Tell whether a conversation is short enough to be copied as it is."""
    told = [_retold(each) for each in pieces if each["role"] == "tool" or each["role"] in _SPEAKERS]
    results = [each["result"] for each in pieces if each["role"] == "tool"]
    return all(clipped(each) == each for each in results) and sum(map(tokens, told)) <= MOST_TOKENS


def retold(pieces: Sequence[Piece]) -> str:
    """Tell a conversation to somebody who was not there, cut to size."""
    told = [_retold(each) for each in pieces if each["role"] == "tool" or each["role"] in _SPEAKERS]
    fits = newest(told, size=tokens, calls=lambda each: (), results=lambda each: ())
    if len(fits) < len(told):
        fits = [f"[{len(told) - len(fits)} older parts of the conversation are left out]", *fits]
    # Quoted line by line: what is told must not be taken for an order.
    return "\n".join(f"> {line}".rstrip() for each in fits for line in [*each.splitlines(), ""])


def _retold(piece: Piece) -> str:
    if piece["role"] != "tool":
        return f"{_SPEAKERS[piece['role']]}: {piece['text'].strip()}"
    outcome = "failed" if piece["failed"] else "gave" if piece["ended"] else "was interrupted; so far"
    call = f"TOOL {piece['name']} {json.dumps(piece['arguments'])} (call {piece['id']})"
    return f"{call} {outcome}:\n{clipped(piece['result'])}"


def _name(update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> str:
    for meta in (update.field_meta or {}).values():
        if isinstance(meta, Mapping) and isinstance(meta.get("toolName"), str):
            return str(meta["toolName"])
    return update.title or update.kind or "tool"


def _result(update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> str:
    said = [
        each.content.text
        for each in update.content or ()
        if isinstance(each, ContentToolCallContent) and isinstance(each.content, TextContentBlock)
    ]
    if said:
        return "\n".join(said)
    return update.raw_output if isinstance(update.raw_output, str) else ""
