"""A transcript: a conversation collected from the agent's updates, piece by piece.

A piece is a text, or a tool call together with its result, so that no cut can separate them.
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
        """Add an update; return the piece that it is about."""
        if isinstance(update, UserMessageChunk | AgentMessageChunk):
            role = "user" if isinstance(update, UserMessageChunk) else "agent"
            text = update.content.text if isinstance(update.content, TextContentBlock) else ""
            return self._say(role, text)
        if isinstance(update, ToolCallStart | ToolCallProgress):
            return self.call(update)
        return None

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

    def call(self, update: ToolCallStart | ToolCallProgress | ToolCallUpdate) -> Piece:
        """Add what an update says about a tool call; return the call's piece."""
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
    """Return the files that a call would write, with their new contents."""
    return [
        (each.path, each.new_text)
        for each in update.content or ()
        if isinstance(each, FileEditToolCallContent)
    ]


def fits(pieces: Sequence[Piece]) -> bool:
    """Return whether a conversation is short enough to be copied unchanged."""
    texts = [_formatted(each) for each in pieces if each["role"] == "tool" or each["role"] in _SPEAKERS]
    results = [each["result"] for each in pieces if each["role"] == "tool"]
    return all(clipped(each) == each for each in results) and sum(map(tokens, texts)) <= MOST_TOKENS


def quoted(pieces: Sequence[Piece]) -> str:
    """Format a conversation for an agent that does not know it, shortened."""
    texts = [_formatted(each) for each in pieces if each["role"] == "tool" or each["role"] in _SPEAKERS]
    fits = newest(texts, size=tokens)
    if len(fits) < len(texts):
        fits = [f"[{len(texts) - len(fits)} older parts of the conversation are left out]", *fits]
    # Quoted line by line, so that it is not mistaken for an instruction.
    return "\n".join(f"> {line}".rstrip() for each in fits for line in [*each.splitlines(), ""])


def _formatted(piece: Piece) -> str:
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
