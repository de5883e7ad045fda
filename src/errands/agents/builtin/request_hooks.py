"""Hooks around every request to the model.

They wait for our turn, store and count the response, retry what failed, and request approval for calls.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    RetryModelRequest,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from errands.agents.builtin.conversation import Conversation
from errands.agents.builtin.guarded_tools import approvals, mistake, report_failed
from errands.agents.builtin.models import absence, refusal
from errands.agents.builtin.usage import of_response
from errands.model.errors import AgentError, AgentUnavailable
from errands.ports.agent import Activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import AgentContext

_HOPELESS = (ModelRequestRejectedError, ModelQuotaExceededError, ContentFilterError, UserError)


@dataclass
class RequestHooks(AbstractCapability[None]):
    context: AgentContext
    conversation: Conversation
    tries: int
    pause: float  # seconds before the second try; each further one takes twice as long

    async def before_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if isinstance(newest := request_context.messages[-1], ModelRequest):
            for call, result in self.conversation.complete(newest):
                if result.outcome == "retried":  # it never reached the tool, which would have reported it
                    report_failed(call, mistake(result.content), self.context)
        return request_context

    async def prepare_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        await self.context.wait_turn()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        response = self.conversation.distinct(response)
        self.conversation.keep(response)
        self.context.report(Activity(kind="usage", usage=of_response(response)))
        for part in response.parts:
            if isinstance(part, TextPart) and part.content:
                self.context.report(Activity(kind="text", text=part.content))
        return response

    async def on_model_request_error(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        name = request_context.model.model_name
        why = absence(request_context.model, error) or refusal(error) or error
        if isinstance(error, _HOPELESS):
            raise AgentError(f"the model {name} refused the request: {why}") from error
        if not isinstance(error, ModelAPIError | UnexpectedModelBehavior | OSError | ValueError):
            raise error
        if request_context.attempt >= self.tries:
            raise AgentUnavailable(
                f"the model {name} gave no usable answer, tried {self.tries} times: {why}"
            ) from error
        await asyncio.sleep(self.pause * 2 ** (request_context.attempt - 1))
        raise RetryModelRequest

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[None], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        return await approvals(requests.approvals, self.context)
