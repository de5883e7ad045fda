"""How a model's reply is said: in the words of OpenAI's chat completions, or of Anthropic's messages."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

_ids = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model answers: words, or calls of tools."""

    text: str = ""
    calls: Sequence[tuple[str, str, str]] = ()  # id, tool, arguments as JSON
    delay: float = 0.0
    drip: float = 0.0  # seconds between two pieces
    tokens: tuple[int, int] = (10, 5)
    fault: str | None = None


class Speech(ABC):
    """A protocol: the same reply, whole or in pieces."""

    def __init__(self, model: str) -> None:
        self.model = model

    @abstractmethod
    def whole(self, reply: Reply) -> object: ...

    @abstractmethod
    def pieces(self, reply: Reply) -> Iterator[bytes]: ...


class OpenAI(Speech):
    def whole(self, reply: Reply) -> object:
        message = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [self._call(*call) for call in reply.calls]  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply)}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(reply)}

    def pieces(self, reply: Reply) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})
        for place, call in enumerate(reply.calls):
            yield self._chunk({"tool_calls": [{"index": place, **self._call(*call)}]})
        for words in [] if reply.calls else _words(reply.text):
            yield self._chunk({"content": words})
        yield self._chunk({}, self._finish(reply))
        head = self._head("chat.completion.chunk")
        yield _event({**head, "choices": [], "usage": self._usage(reply)})
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": f"cc-{next(_ids)}", "object": kind, "created": int(time.time()), "model": self.model}

    @staticmethod
    def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    @staticmethod
    def _finish(reply: Reply) -> str:
        return "tool_calls" if reply.calls else "stop"

    @staticmethod
    def _usage(reply: Reply) -> dict[str, int]:
        into, out = reply.tokens
        return {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}


class Anthropic(Speech):
    def whole(self, reply: Reply) -> object:
        into, out = reply.tokens
        return {
            **self._message(),
            "content": self._blocks(reply),
            "stop_reason": self._stop(reply),
            "usage": {"input_tokens": into, "output_tokens": out},
        }

    def pieces(self, reply: Reply) -> Iterator[bytes]:
        into, out = reply.tokens
        message = {**self._message(), "usage": {"input_tokens": into, "output_tokens": 1}}
        yield self._piece("message_start", message=message)
        for place, block in enumerate(self._blocks(reply)):
            if block["type"] == "text":
                begun: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": words} for words in _words(block["text"])]
            else:
                begun = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            yield self._piece("content_block_start", index=place, content_block=begun)
            for delta in deltas:
                yield self._piece("content_block_delta", index=place, delta=delta)
            yield self._piece("content_block_stop", index=place)
        stop = {"stop_reason": self._stop(reply), "stop_sequence": None}
        yield self._piece("message_delta", delta=stop, usage={"output_tokens": out})
        yield self._piece("message_stop")

    def _message(self) -> dict[str, Any]:
        head = {"id": f"msg_{next(_ids)}", "type": "message", "role": "assistant", "model": self.model}
        return {**head, "content": [], "stop_reason": None, "stop_sequence": None}

    @staticmethod
    def _blocks(reply: Reply) -> list[dict[str, Any]]:
        if not reply.calls:
            return [{"type": "text", "text": reply.text}]
        return [
            {"type": "tool_use", "id": f"toolu_{call_id}", "name": name, "input": json.loads(arguments)}
            for call_id, name, arguments in reply.calls
        ]

    @staticmethod
    def _stop(reply: Reply) -> str:
        return "tool_use" if reply.calls else "end_turn"

    @staticmethod
    def _piece(kind: str, **fields: Any) -> bytes:
        return b"event: %s\n" % kind.encode() + _event({"type": kind, **fields})


def _event(thing: object) -> bytes:
    return b"data: " + json.dumps(thing).encode() + b"\n\n"


def _words(text: str) -> list[str]:
    """Cut a text into pieces that give it again when put together."""
    first, *more = text.split(" ")
    return [first, *(f" {word}" for word in more)]
