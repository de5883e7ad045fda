"""Encodings of a model's reply: OpenAI's two protocols, and Anthropic's."""

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
    """What the model answers: text, or tool calls."""

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


class Responses(Speech):
    """OpenAI's newer protocol: an answer is a list of items, and a stream has the changes of each."""

    def whole(self, reply: Reply) -> object:
        return self._response(f"resp_{next(_ids)}", reply, self._items(reply))

    def pieces(self, reply: Reply) -> Iterator[bytes]:
        name, items = f"resp_{next(_ids)}", self._items(reply)
        number = count()

        def piece(kind: str, **fields: Any) -> bytes:
            event = {"type": kind, "sequence_number": next(number), **fields}
            return b"event: %s\n" % kind.encode() + _event(event)

        yield piece("response.created", response=self._response(name, reply, None))
        for place, item in enumerate(items):
            about = {"item_id": item["id"], "output_index": place}
            if item["type"] == "function_call":
                begun = {**item, "arguments": "", "status": "in_progress"}
                yield piece("response.output_item.added", output_index=place, item=begun)
                arguments = item["arguments"]
                yield piece("response.function_call_arguments.delta", **about, delta=arguments)
                yield piece("response.function_call_arguments.done", **about, arguments=arguments)
            else:
                (part,) = item["content"]
                about["content_index"] = 0
                begun = {**item, "content": [], "status": "in_progress"}
                yield piece("response.output_item.added", output_index=place, item=begun)
                yield piece("response.content_part.added", **about, part={**part, "text": ""})
                for words in _words(part["text"]):
                    yield piece("response.output_text.delta", **about, delta=words, logprobs=[])
                yield piece("response.output_text.done", **about, text=part["text"], logprobs=[])
                yield piece("response.content_part.done", **about, part=part)
            yield piece("response.output_item.done", output_index=place, item=item)
        yield piece("response.completed", response=self._response(name, reply, items))

    def _response(self, name: str, reply: Reply, items: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
        """Return a response object; without items it has only begun."""
        into, out = reply.tokens
        usage = {
            "input_tokens": into,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": into + out,
        }
        return {
            "id": name,
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress" if items is None else "completed",
            "model": self.model,
            "output": items or [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "usage": None if items is None else usage,
        }

    @staticmethod
    def _items(reply: Reply) -> list[dict[str, Any]]:
        if not reply.calls:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            head = {"id": f"msg_{next(_ids)}", "type": "message", "role": "assistant", "status": "completed"}
            return [{**head, "content": [part]}]
        return [
            {
                "id": f"fc_{next(_ids)}",
                "type": "function_call",
                "call_id": call_id,
                **_named(tool),
                "arguments": arguments,
                "status": "completed",
            }
            for call_id, tool, arguments in reply.calls
        ]


class Google(Speech):
    """Google's protocol: an answer has parts, and a call is one of them; a stream is a list of answers."""

    def whole(self, reply: Reply) -> object:
        parts: list[dict[str, Any]] = [
            {"functionCall": {"name": tool, "args": json.loads(each)}} for _, tool, each in reply.calls
        ]
        return self._answer(reply, parts or [{"text": reply.text}], is_last=True)

    def pieces(self, reply: Reply) -> Iterator[bytes]:
        if reply.calls:
            yield _event(self.whole(reply))
            return
        for words in _words(reply.text):
            yield _event(self._answer(reply, [{"text": words}], is_last=False))
        yield _event(self._answer(reply, [{"text": ""}], is_last=True))

    def _answer(self, reply: Reply, parts: Sequence[Mapping[str, Any]], *, is_last: bool) -> dict[str, Any]:
        into, out = reply.tokens
        finish = {"finishReason": "STOP"} if is_last else {}
        return {
            "candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **finish}],
            "usageMetadata": {
                "promptTokenCount": into,
                "candidatesTokenCount": out,
                "totalTokenCount": into + out,
            },
            "modelVersion": self.model,
        }


def _named(tool: str) -> dict[str, str]:
    """Return the name of a tool, and of its group if it is in one, as in `mcp__errands.run`."""
    group, _, name = tool.rpartition(".")
    return {"name": name, **({"namespace": group} if group else {})}


def _event(thing: object) -> bytes:
    return b"data: " + json.dumps(thing).encode() + b"\n\n"


def _words(text: str) -> list[str]:
    """Cut a text into pieces that add up to it."""
    first, *more = text.split(" ")
    return [first, *(f" {word}" for word in more)]
