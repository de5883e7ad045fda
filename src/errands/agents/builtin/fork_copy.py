"""The shortened copy of a conversation with which a fork starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from errands.agents.builtin.conversation import dumped
from errands.model.agent.fork import clipped, newest, tokens

_LOST = "[The beginning of this conversation is not here.]"


def copied(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a copy with clipped results and closed calls, without the oldest messages if it is too long."""
    whole = [_clipped(each) for each in repair_messages(messages)]
    kept = list(newest(whole, size=lambda each: tokens(dumped(each)), calls=_calls, results=_results))
    if kept and isinstance(kept[0], ModelResponse):
        # Not every provider accepts a conversation that starts with the model.
        kept.insert(0, ModelRequest(parts=[UserPromptPart(_LOST)]))
    return kept


def single(messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield each result as its own message, as a conversation stores them."""
    for message in messages:
        if isinstance(message, ModelRequest) and any(map(_is_result, message.parts)):
            rest = [part for part in message.parts if not _is_result(part)]
            yield from (ModelRequest(parts=[part]) for part in message.parts if _is_result(part))
            if rest:
                yield ModelRequest(parts=rest)
        else:
            yield message


def _clipped(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    parts = [_shortened(part) if isinstance(part, ToolReturnPart) else part for part in message.parts]
    return replace(message, parts=parts, metadata=None)  # without the run that sent it


def _shortened(part: ToolReturnPart) -> ToolReturnPart:
    text = part.model_response_str()
    short = clipped(text)
    return part if short == text else replace(part, content=short)


def _calls(message: ModelMessage) -> Iterator[str]:
    if isinstance(message, ModelResponse):
        yield from (call.tool_call_id for call in message.tool_calls)


def _results(message: ModelMessage) -> Iterator[str]:
    if isinstance(message, ModelRequest):
        yield from (part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart))


def _is_result(part: ModelRequestPart) -> bool:
    return isinstance(part, ToolReturnPart)
