"""MCP tasks: the extension `io.modelcontextprotocol/tasks`.

An MCP task is either a call that takes longer than a moment, by the id in its reply, or any task of ours, by
our own id. Neither needs the server or the connection that it began with.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR, RequestParams
from pydantic import BaseModel, ConfigDict, Field

from errands.dialects.output_text import error_text, summary
from errands.dialects.projections import phase
from errands.frontends.mcp import elicitation
from errands.frontends.mcp.call import Call
from errands.frontends.mcp.calls import KEPT, Calls
from errands.frontends.mcp.client import Client, Context, require_tasks
from errands.frontends.mcp.resources import output_uri
from errands.model.approval import Approval
from errands.model.view import View, plain_value

_POLL = 1000  # milliseconds
_STATES = {"completed": "completed", "failed": "completed", "cancelled": "cancelled", "skipped": "cancelled"}


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class CreateTaskResult(BaseModel):
    """The reply to a call that continues as a task."""

    model_config = ConfigDict(extra="allow")
    resultType: Literal["task"] = "task"  # noqa: N815  # the name in the protocol


def created(call: Call) -> CreateTaskResult:
    return CreateTaskResult(**_base(call, "working"))


class Tasks:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._frontend = calls.frontend

    async def get(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        client = self._check(ctx, params)
        found = self.detailed(client, params.task_id)
        if found["status"] == "working":
            self._frontend.engine.engine.ensure_daemon()  # the client waits, and nothing runs without one
        return {"resultType": "complete", **found}

    async def update(self, ctx: Context, params: UpdateParams) -> dict[str, Any]:
        """Record the answers to the questions of a task; ignore all others."""
        client = self._check(ctx, params)
        caller = self._frontend.caller(client)
        call = self._calls.find(caller, params.task_id)
        if call is None:
            view = self._frontend.find(caller, params.task_id)
            call = Call("", {}, caller)
            call.asking = [view.id]
        if self._frontend.may_answer(client):
            questions = elicitation.open_questions(self._frontend, call)
            is_answered = elicitation.answers(self._frontend, call, client, questions, params.input_responses)
            if is_answered and call.tool:
                self._calls.note_answers(call, is_last=not elicitation.open_questions(self._frontend, call))
        return {"resultType": "complete"}

    async def cancel(self, ctx: Context, params: TaskParams) -> dict[str, Any]:
        """Cancel a task; one that has ended stays as it is."""
        caller = self._frontend.caller(self._check(ctx, params))
        call = self._calls.find(caller, params.task_id)
        if call is None:
            self._frontend.cancel(caller, [self._frontend.find(caller, params.task_id).id])
        elif not call.is_over or elicitation.open_questions(self._frontend, call):
            self._calls.cancel(call)
        return {"resultType": "complete"}

    def detailed(self, client: Client, task_id: str) -> dict[str, Any]:
        """Return the state of a task, with its questions or its result."""
        caller = self._frontend.caller(client)
        call = self._calls.find(caller, task_id)
        if call is not None:
            return self._of_call(call, client)
        return self._of_view(self._frontend.find(caller, task_id), client)

    def _of_call(self, call: Call, client: Client) -> dict[str, Any]:
        if call.is_cancelled:
            return _base(call, "cancelled")
        if call.failure is not None:
            return {**_base(call, "failed"), "error": {"code": INTERNAL_ERROR, "message": call.failure}}
        questions = elicitation.open_questions(self._frontend, call)
        if questions and self._frontend.may_answer(client):
            call.shown_at = call.shown_at or datetime.now(UTC)
            return {**_base(call, "input_required"), **self._asked(questions)}
        if call.reply is not None:
            result = call.result().model_dump(by_alias=True, exclude_none=True, mode="json")
            return {**_base(call, "completed"), "result": result}
        return _base(call, "working")

    def _of_view(self, view: View, client: Client) -> dict[str, Any]:
        question = self._frontend.engine.engine.question(view.id)
        state = _STATES.get(phase(view), "working")
        if view.state == "rejected":
            state = "cancelled"
        if state == "working" and question is not None and self._frontend.may_answer(client):
            return {**_facts(view, "input_required"), **self._asked([question])}
        return {**_facts(view, state), **({"result": self._result(view)} if state == "completed" else {})}

    def _asked(self, questions: list[Approval]) -> dict[str, Any]:
        forms = elicitation.requests(self._frontend, questions)
        plain = {key: each.model_dump(by_alias=True, exclude_none=True) for key, each in forms.items()}
        return {"inputRequests": plain}

    def _result(self, view: View) -> dict[str, Any]:
        lines = [f"{view.id} {view.state}", error_text(view), summary(view), f"output: {output_uri(view.id)}"]
        text = "\n".join(filter(None, lines))
        return {"content": [{"type": "text", "text": text}], "isError": view.latest.state == "failed"}

    def _check(self, ctx: Context, params: TaskParams) -> Client:
        """Refuse a client without the extension, and a header that names another task than the body."""
        client = require_tasks(ctx)
        if client.headers and decode_header_value(client.headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(
                HEADER_MISMATCH,
                f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter",
            )
        return client


def _base(call: Call, state: str) -> dict[str, Any]:
    message = call.message or ", ".join(call.launched)
    return {
        "taskId": call.id,
        "status": state,
        "createdAt": plain_value(call.created_at),
        "lastUpdatedAt": plain_value(call.updated_at),
        "ttlMs": KEPT * 1000,
        "pollIntervalMs": _POLL,
        **({"statusMessage": message} if message else {}),
    }


def _facts(view: View, state: str) -> dict[str, Any]:
    return {
        "taskId": view.id,
        "status": state,
        "statusMessage": view.state,
        "createdAt": plain_value(view.created_at),
        "lastUpdatedAt": plain_value(view.updated_at),
        "ttlMs": None,
        "pollIntervalMs": _POLL,
    }
