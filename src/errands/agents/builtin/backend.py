"""The backend: sessions and prompts of the built-in agent.

The conversation lives in the store. A prompt, a recovery after a crash and a switch to another model all
continue from what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping
from typing import Any

import pydantic_ai
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UsageLimitExceeded, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from errands.agents.builtin.conversation import Conversation, copied, dumped, single
from errands.agents.builtin.guarded_tools import GuardedTools, approvals
from errands.agents.builtin.models import has_provider, model
from errands.agents.builtin.request_hooks import RequestHooks
from errands.agents.builtin.toolbox import INSTRUCTIONS, chosen
from errands.agents.builtin.usage import exceeded, limits, of_run
from errands.agents.session_log import check_settings, forked
from errands.model.errors import AgentError, BudgetExceeded
from errands.ports.agent import Activity, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

pydantic_ai.BANNER_ENABLED = False

_MISTAKES = 3  # calls with wrong arguments, or empty answers, that a model may correct in a row


class Builtin:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Take the settings; only `model` and `home` are required.

        model, url, key: the model, where it is, and where its key is; see `models.py`
        escalate: the model that takes over when the first fails: its name, or a table with these three keys
        mcp: a table of servers; see `servers.py`
        patience: seconds to wait for an answer
        tries, pause: how often to request it, and the seconds before the second try, doubled each time
        home: a directory for what outlives a run
        """
        check_settings("builtin", settings)
        self._settings = settings
        self._patience = float(settings.get("patience", 600))
        self._tries = int(settings.get("tries", 4))
        self._pause = float(settings.get("pause", 1))
        self._asking: dict[str, asyncio.Task[Answer]] = {}

    async def open(self, context: AgentContext) -> str:
        context.append_messages(context.session, [])
        return context.session

    async def fork(self, session: str, context: AgentContext) -> str:
        messages = copied(Conversation(session, context, forked(context, session)[0]).messages)
        context.append_messages(context.session, [dumped(each) for each in single(messages)])
        return context.session

    async def prompt(self, session: str, text: str, context: AgentContext) -> Answer:
        conversation = Conversation(session, context)
        conversation.prompt(text)
        return await self._stoppable(session, self._answer(conversation, context))

    async def recover(self, session: str, text: str, context: AgentContext) -> Answer:
        conversation = Conversation(session, context)
        if not conversation.is_sent():
            conversation.prompt(text)
        conversation.close([call for call in conversation.open_calls() if conversation.is_begun(call)])
        return await self._stoppable(session, self._answer(conversation, context))

    async def post(self, session: str, text: str, context: AgentContext) -> None:
        Conversation(session, context).keep(ModelRequest(parts=[UserPromptPart(text)]))

    async def abort(self, session: str) -> None:
        if asking := self._asking.get(session):
            asking.cancel()

    async def drop(self, session: str, context: AgentContext) -> None:
        context.delete_messages(session)

    async def close(self) -> None:
        for asking in list(self._asking.values()):
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def _stoppable(self, session: str, answering: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for an answer that `abort` can stop."""
        asking = self._asking[session] = asyncio.ensure_future(answering)
        me = asyncio.current_task()
        try:
            return await asking
        except asyncio.CancelledError:
            if me is not None and me.cancelling():
                raise
            raise AgentError("the prompt was stopped") from None
        finally:
            del self._asking[session]

    async def _answer(self, conversation: Conversation, context: AgentContext) -> Answer:
        """Continue until there is an answer, with a second model when the first one fails."""
        failed = ""
        for choice in self._choices(context.spec.model):
            conversation.close(conversation.open_calls() if failed else [])
            try:
                if conversation.answer() is None:
                    async with model(choice) as made:
                        await self._continue(conversation, context, made)
                return Answer(text=conversation.answer() or "", usage=of_run(conversation.usage()))
            except AgentError as error:
                error.partial = conversation.said()
                if isinstance(error, BudgetExceeded) or failed or "escalate" not in self._settings:
                    raise type(error)(f"{error}{failed}", partial=error.partial) from error
                failed = f" (before that: {error})"
        raise AssertionError("the last model either answers or fails")

    def _choices(self, name: str | None) -> list[Mapping[str, Any]]:
        """Return the settings of the model, and of the one that takes over."""
        first = dict(self._settings)
        if name is not None and name != first.get("model"):
            first = {"model": name} if has_provider(name) else {**first, "model": name}
        escalate = self._settings.get("escalate", {})
        return [first, {"model": escalate} if isinstance(escalate, str) else escalate]

    async def _continue(self, conversation: Conversation, context: AgentContext, model: Model) -> None:
        """Carry out open calls, and let the model continue from there until it has answered."""
        tools = chosen(context, self._settings)
        agent: Agent[None, str] = Agent(
            model,
            instructions=_instructions(context),
            model_settings=ModelSettings(timeout=self._patience, request_timeout=self._patience),
            retries=_MISTAKES,
            toolsets=[GuardedTools(tools, context, conversation)],
            capabilities=[RequestHooks(context, conversation, self._tries, self._pause)],
        )
        try:
            with agent.parallel_tool_call_execution_mode("sequential"):
                await self._run(agent, conversation, context)
        except UsageLimitExceeded as error:
            wanted = len(conversation.open_calls())
            raise exceeded(context.spec.budget, conversation.usage(), wanted=wanted) from error
        except (AgentRunError, UserError) as error:
            raise AgentError(f"the model could not continue: {error}") from error

    async def _run(self, agent: Agent[None, str], conversation: Conversation, context: AgentContext) -> None:
        """Run the loop; the library does not retry an answer that breaks off while streaming, so we do."""
        for attempt in range(1, self._tries + 1):
            waiting = conversation.open_calls()
            try:
                await agent.run(
                    message_history=_unanswered(conversation.messages),
                    deferred_tool_results=await approvals(waiting, context) if waiting else None,
                    usage=conversation.usage(),
                    usage_limits=limits(context.spec.budget),
                    event_stream_handler=_streaming(context) if context.spec.streams else None,
                )
                return
            except ModelAPIError:
                if not context.spec.streams or attempt == self._tries:
                    raise
                context.report(Activity(kind="piece", text="\n"))  # the text so far will be repeated
                await asyncio.sleep(self._pause * 2 ** (attempt - 1))


def _instructions(context: AgentContext) -> str:
    system = context.spec.system
    return f"{system}\n\n{INSTRUCTIONS}" if context.background is not None else system


def _unanswered(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Leave out an empty answer at the end, so that it is requested again."""
    while isinstance(newest := messages[-1], ModelResponse) and not newest.tool_calls:
        messages = messages[:-1]
    return messages


def _streaming(context: AgentContext) -> Callable[[RunContext[None], AsyncIterable[Any]], Awaitable[None]]:
    """Return a handler that reports the answer while it is generated."""

    async def report(_ctx: RunContext[None], events: AsyncIterable[Any]) -> None:
        async for event in events:
            text = ""
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                text = event.part.content
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                text = event.delta.content_delta
            if text:
                context.report(Activity(kind="piece", text=text))

    return report
