"""A conversation: what was said and done in a session, stored as it happens.

Every message is stored as pydantic-ai serialises it, and every tool result on its own as soon as it exists.
The start of a call with side effects is stored, too, so that it is never carried out twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic_ai import ModelMessagesTypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.usage import RunUsage

from errands.agents.builtin.toolbox import is_free
from errands.model.agent.fork import clipped, newest, tokens
from errands.model.errors import SessionGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

_RUN = "errands_run"  # metadata of a prompt: the run that sent it
_BEGUN = "errands_begun"  # metadata of an empty message: the call about to be carried out

INTERRUPTED = (
    "This call was interrupted. It may or may not have been carried out, and it was not repeated: find out "
    "before you do anything of the kind again."
)
_LOST = "[The beginning of this conversation is not here.]"
NOT_BEGUN = "This call was not carried out: the run ended before it began."


class Conversation:
    """`messages` is a history that a model accepts, apart from open calls at its end."""

    def __init__(self, session: str, context: AgentContext, kept: Sequence[str] | None = None) -> None:
        if kept is None:
            kept = context.messages(session)
        if kept is None:
            raise SessionGone
        self._session = session
        self._context = context
        self._messages: list[ModelMessage] = []
        self._results: dict[str, ToolReturnPart] = {}  # of the newest response, by the ids of its calls
        self._place = 0  # the index of the message with those results
        self._begun: set[str] = set()
        self._prompts: dict[str, int] = {}  # by run
        self._ids: set[str] = set()
        for message in loaded(kept):
            self._add(message)

    @property
    def messages(self) -> list[ModelMessage]:
        """The history; the results of the newest calls follow them, in the order of the calls."""
        if not self._results:
            return list(self._messages)
        answer = ModelRequest(parts=[self._results[each] for each in self._called() if each in self._results])
        return [*self._messages[: self._place], answer, *self._messages[self._place :]]

    def keep(self, message: ModelMessage) -> None:
        self._context.append_messages(self._session, [dumped(message)])
        self._add(message)

    def prompt(self, text: str) -> None:
        """Add the prompt of this run; close calls that another run left open."""
        self.close(self.open_calls())
        self.keep(ModelRequest(parts=[UserPromptPart(text)], metadata={_RUN: self._context.run}))

    def begin(self, call_id: str) -> None:
        """Record that a call is about to be carried out."""
        self.keep(ModelRequest(parts=[], metadata={_BEGUN: call_id}))

    def complete(self, request: ModelRequest) -> list[tuple[ToolCallPart, ToolReturnPart]]:
        """Store the framework's answers (wrong arguments, unknown tools, refusals); return the new ones."""
        new: list[tuple[ToolCallPart, ToolReturnPart]] = []
        known: Sequence[ModelRequestPart] = ()
        if isinstance(newest := self._messages[-1], ModelRequest):
            known = newest.parts
        for part in request.parts:
            if isinstance(part, ToolReturnPart):
                if part.tool_call_id not in self._results and part.tool_call_id in self._called():
                    self.keep(ModelRequest(parts=[part]))
                    new.append((self._called()[part.tool_call_id], part))
            elif part.part_kind == "retry-feedback" and part not in known:
                self.keep(ModelRequest(parts=[part]))
        return new

    def close(self, calls: Sequence[ToolCallPart]) -> None:
        """Answer calls that will not be carried out."""
        for call in calls:
            # The start of a call without approval is not stored.
            is_begun = is_free(call.tool_name, self._context) or self.is_begun(call)
            words = INTERRUPTED if is_begun else NOT_BEGUN
            part = ToolReturnPart(
                tool_name=call.tool_name, content=words, tool_call_id=call.tool_call_id, outcome="interrupted"
            )
            self.keep(ModelRequest(parts=[part]))

    def is_sent(self) -> bool:
        """Return whether this run has sent its prompt."""
        return self._context.run in self._prompts

    def is_begun(self, call: ToolCallPart) -> bool:
        return call.tool_call_id in self._begun

    def open_calls(self) -> list[ToolCallPart]:
        return [call for call_id, call in self._called().items() if call_id not in self._results]

    def answer(self) -> str | None:
        """Return the final text of this run, if it has one."""
        newest = self._messages[-1] if self._messages else None
        if isinstance(newest, ModelResponse) and not newest.tool_calls and self.is_sent():
            return _words(newest) or None
        return None

    def said(self) -> str:
        """Return all text of this run so far."""
        return "\n".join(filter(None, (_words(each) for each in self._responses())))

    def usage(self) -> RunUsage:
        """Add up what this run has used, in all its processes."""
        usage = RunUsage()
        for response in self._responses():
            usage.incr(response.usage)
            usage.requests += 1
        for message in self._since():
            if isinstance(message, ModelRequest):
                usage.tool_calls += sum(_is_carried_out(part) for part in message.parts)
        return usage

    def repetitions(self, call_id: str) -> int:
        """Count how often a call was made in a row with the same arguments, this time included."""
        calls = [call for response in self._responses() for call in response.tool_calls]
        ids = [call.tool_call_id for call in calls]
        past = calls[: ids.index(call_id) + 1]
        count = 0
        for call in reversed(past):
            if (call.tool_name, call.args_as_dict()) != (past[-1].tool_name, past[-1].args_as_dict()):
                break
            count += 1
        return count

    def distinct(self, response: ModelResponse) -> ModelResponse:
        """Make the ids of calls unique: some servers count from one in every answer."""
        parts, seen = [], set(self._ids)
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                call_id, number = part.tool_call_id, 1
                while call_id in seen:
                    number += 1
                    call_id = f"{part.tool_call_id}-{number}"
                seen.add(call_id)
                part = replace(part, tool_call_id=call_id)
            parts.append(part)
        return replace(response, parts=parts)

    def _add(self, message: ModelMessage) -> None:
        if isinstance(message, ModelResponse):
            self._settle()
            self._messages.append(message)
            self._place = len(self._messages)
            self._ids.update(call.tool_call_id for call in message.tool_calls)
            return
        metadata = message.metadata or {}
        if _BEGUN in metadata:
            self._begun.add(metadata[_BEGUN])
        elif message.parts and isinstance(part := message.parts[0], ToolReturnPart):
            self._results.setdefault(part.tool_call_id, part)
        else:
            if _RUN in metadata:
                self._settle()
                self._prompts.setdefault(metadata[_RUN], len(self._messages))
            self._messages.append(message)

    def _settle(self) -> None:
        """Insert the newest results into the history, once all of them are there."""
        self._messages = self.messages
        self._results = {}
        self._place = len(self._messages)

    def _called(self) -> dict[str, ToolCallPart]:
        """Return the newest calls by id, as long as no prompt came after them."""
        newest = self._messages[self._place - 1] if self._place else None
        if not isinstance(newest, ModelResponse):
            return {}
        return {call.tool_call_id: call for call in newest.tool_calls}

    def _since(self) -> list[ModelMessage]:
        return self.messages[self._prompts.get(self._context.run, len(self._messages)) :]

    def _responses(self) -> Iterator[ModelResponse]:
        return (each for each in self._since() if isinstance(each, ModelResponse))


def dumped(message: ModelMessage) -> str:
    return ModelMessagesTypeAdapter.dump_json([message]).decode()[1:-1]


def loaded(texts: Sequence[str]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")


def _words(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _is_carried_out(part: ModelRequestPart) -> bool:
    return isinstance(part, ToolReturnPart) and part.outcome in ("success", "failed")


# A fork starts with a shortened copy.


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
