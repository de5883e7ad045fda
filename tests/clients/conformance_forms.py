"""What the conformance suite wants a person asked: forms of its own, shown as our server shows its own.

What was filled in becomes the arguments of the tool or prompt that it was asked for. A request whose address
ends in `?approval` is not asked about it, so that the form is the one our server has itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    InputRequiredResult,
)

from errands.frontends.mcp.client import Client, Context
from tests.clients.conformance_content import Ours, put_before

APPROVAL = "approval"
_STRING = {"type": "string"}
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]


def _form(message: str, fields: Mapping[str, Any], *required: str) -> ElicitRequestFormParams:
    schema: dict[str, Any] = {"type": "object", "properties": dict(fields)}
    if required:
        schema["required"] = list(required)
    return ElicitRequestFormParams(message=message, requested_schema=schema)


_NAME = ("user_name", _form("What is your name?", {"name": _STRING}, "name"))
# The key of the answer, and the form, by tool.
FORMS: Mapping[str, tuple[str, ElicitRequestFormParams]] = {
    "test_tool_with_task": _NAME,
    "test_input_required_result_elicitation": _NAME,
    "test_input_required_result_prompt": (
        "user_context",
        _form("What context should the prompt use?", {"context": _STRING}, "context"),
    ),
    "test_elicitation_sep1034_defaults": (
        "person",
        _form(
            "Who is it?",
            {
                "name": {**_STRING, "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {**_STRING, "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": True},
            },
        ),
    ),
    "test_elicitation_sep1330_enums": (
        "choice",
        _form(
            "Which ones?",
            {
                "untitledSingle": {**_STRING, "enum": _OPTIONS},
                "titledSingle": {**_STRING, "oneOf": _TITLED},
                "legacyEnum": {
                    **_STRING,
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {"type": "array", "items": {**_STRING, "enum": _OPTIONS}},
                "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
            },
        ),
    ),
}


def add_forms(server: Server[Any]) -> None:
    put_before(server, "tools/call", _asked)
    put_before(server, "prompts/get", _asked)


async def _asked(ctx: Context, params: CallToolRequestParams | GetPromptRequestParams, ours: Ours) -> Any:
    if params.name not in FORMS or (ctx.request is not None and APPROVAL in ctx.request.query_params):
        return await ours(ctx, params)
    key, form = FORMS[params.name]
    if Client(ctx).is_modern:
        said = (params.input_responses or {}).get(key)
    else:
        said = await ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)
    if not isinstance(said, ElicitResult):
        return InputRequiredResult(input_requests={key: ElicitRequest(params=form)})
    filled = {"arguments": dict(said.content or {}), "input_responses": None}
    return await ours(ctx, params.model_copy(update=filled))
