"""Tools: list and call those of the dialect.

A call that needs a person asks through the client. In the older protocol it asks while it runs; in the newer
one it replies that input is required, and the client repeats the call with the answer. A call that waits
longer than a moment for a task becomes an MCP task, for clients that support those; unless the caller is told
of ends anyway: Claude Code would hear of each one twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from errands.dialects.completion import is_notified
from errands.engine.approval.answer_waiter import wait_for_answer
from errands.frontends.mcp import elicitation
from errands.frontends.mcp.call import Call, as_plain, from_plain, may_see
from errands.frontends.mcp.calls import Calls
from errands.frontends.mcp.client import Client, Context
from errands.frontends.mcp.tasks import created
from errands.model.approval import Approval
from errands.model.errors import ErrandsError
from errands.ports.dialect import Reply
from errands.ports.dialect import Tool as DialectTool

PROMPT = 0.5  # seconds after which a call that waits becomes a task
_ROUNDS = 5  # how often a person is asked about one call, even if what they are asked keeps changing
_ANSWERED_WITHIN = 600.0  # seconds


class Tools:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._frontend = calls.frontend

    async def listed(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = self._frontend.caller(Client(ctx))
        return ListToolsResult(tools=[_as_mcp(each) for each in self._frontend.dialect.tools(caller)])

    async def call(self, ctx: Context, params: CallToolRequestParams) -> Any:
        client = Client(ctx)
        call = self._continued(client, params)
        if call is None:
            try:
                caller, arguments = self._frontend.tool_caller(client, params.arguments or {})
            except ErrandsError as error:  # the home or its configuration cannot be used
                return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
            call = Call(params.name, arguments, caller)
        try:
            self._calls.enter()
            try:
                return await self._conduct(call, client, ctx)
            finally:
                self._calls.leave()
        except ErrandsError as error:
            call.reply = Reply(text=str(error), failed=True)
            return call.result()

    async def _conduct(self, call: Call, client: Client, ctx: Context) -> HandlerResult:
        loop = asyncio.get_running_loop()
        reports: set[asyncio.Task[None]] = set()

        def report(done: float, total: float | None, message: str) -> None:
            task = loop.create_task(ctx.session.report_progress(done, total, message))
            reports.add(task)
            task.add_done_callback(reports.discard)

        call.report = report
        try:
            self._calls.begin(call)
            patience = PROMPT if client.has_tasks and not is_notified(call.caller) else None
            for _ in range(_ROUNDS):
                await call.wait(patience)
                if not call.is_over and patience is not None:
                    if self._calls.keep(call):
                        return created(call)
                    patience = None
                    continue
                questions = self._to_ask(call, client)
                if not questions:
                    break
                if client.is_modern:
                    return self._input_required(call, questions)
                for question in questions:
                    call.shown_at = datetime.now(UTC)
                    elicitation.answer(
                        self._frontend, call, client, question, await self._elicit(ctx, question)
                    )
                if call.is_over:
                    self._calls.begin(call)
            while not call.is_over:
                await call.wait()
            if call.failure is not None:
                raise MCPError(INTERNAL_ERROR, call.failure)
            return call.result()
        finally:
            call.report = None
            if not call.is_kept:
                call.stop()

    def _to_ask(self, call: Call, client: Client) -> list[Approval]:
        questions = elicitation.open_questions(self._frontend, call)
        return questions if questions and self._frontend.may_answer(client) else []

    async def _elicit(self, ctx: Context, question: Approval) -> ElicitResult:
        """Ask in the older protocol; leaving, or not reacting, counts as no answer.

        Once there is an answer from elsewhere, the form is withdrawn, and the call goes on.
        """
        form = elicitation.form(self._frontend, question)
        asking = asyncio.ensure_future(
            ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)
        )
        elsewhere = asyncio.ensure_future(wait_for_answer(self._frontend.engine.engine, question))
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({asking, elsewhere}, timeout=_ANSWERED_WITHIN, return_when=first)
            return asking.result() if asking.done() else ElicitResult(action="cancel")
        except (MCPError, ValueError):
            return ElicitResult(action="cancel")
        finally:
            for each in (asking, elsewhere):
                each.cancel()
            await asyncio.gather(asking, elsewhere, return_exceptions=True)

    def _input_required(self, call: Call, questions: list[Approval]) -> InputRequiredResult:
        """Ask in the newer protocol: the client returns the state with the answer."""
        call.asking = [each.task_id for each in questions]
        call.shown_at = datetime.now(UTC)
        call.reply = None
        return InputRequiredResult(
            input_requests=dict(elicitation.requests(self._frontend, questions)),
            request_state=json.dumps(as_plain(call), default=str),
        )

    def _continued(self, client: Client, params: CallToolRequestParams) -> Call | None:
        """Return the call that a client repeats, after recording the person's answers."""
        if params.request_state is None:
            return None
        try:
            call = from_plain(json.loads(params.request_state))
        except (ValueError, TypeError, KeyError):
            raise MCPError(INVALID_PARAMS, "Invalid or expired requestState") from None
        if not may_see(call, self._frontend.tool_caller(client, params.arguments or {})[0]):
            raise MCPError(INVALID_PARAMS, "Invalid or expired requestState")
        questions = elicitation.open_questions(self._frontend, call)
        if self._frontend.may_answer(client):  # a run can read the key of the state, and make one up
            elicitation.answers(self._frontend, call, client, questions, params.input_responses or {})
        return call


def _as_mcp(tool: DialectTool) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=_schema(tool.parameters),
        annotations=ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=None if tool.reads_only else tool.destructive or tool.may_need_approval,
            open_world_hint=False if tool.reads_only else None,
        ),
    )


def _schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that lets every optional argument be null.

    smolagents demands every argument that does not say so.
    """
    required = parameters.get("required", ())
    properties = {
        name: each if name in required else {**each, "nullable": True}
        for name, each in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}
