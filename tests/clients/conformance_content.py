"""What the conformance suite reads by names of its own: resources, prompts, and replies beyond text.

It is served by our server, on the way to what it has itself: whatever is not the suite's is left to that.
"""

from __future__ import annotations

import base64
import io
import json
import wave
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from errands.frontends.mcp.client import Context

Ours = Callable[[Context, Any], Awaitable[Any]]
Answer = Callable[[Context, Any, Ours], Awaitable[Any]]

# One red dot.
_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_TEXT, _BINARY = "test://static-text", "test://static-binary"
_BEFORE_ID, _AFTER_ID = "test://template/", "/data"


def _silence() -> str:
    """Return a silent recording."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return base64.b64encode(file.getvalue()).decode()


def _text_of(uri: str, text: str, kind: str = "text/plain") -> TextResourceContents:
    return TextResourceContents(uri=uri, text=text, mime_type=kind)


def _embedded(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=_text_of(uri, text, kind))


_IMAGE = ImageContent(type="image", data=_DOT, mime_type="image/png")
# The content beside the text of a tool's reply.
BESIDE: Mapping[str, tuple[ImageContent | AudioContent | EmbeddedResource, ...]] = {
    "test_image_content": (_IMAGE,),
    "test_audio_content": (AudioContent(type="audio", data=_silence(), mime_type="audio/wav"),),
    "test_embedded_resource": (_embedded("test://embedded-resource", "This is an embedded resource."),),
    "test_multiple_content_types": (
        _IMAGE,
        _embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
}
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


def put_before(server: Server[Any], method: str, answer: Answer) -> None:
    """Let `answer` handle requests to our server first; it gets our own handler."""
    ours = server.get_request_handler(method)
    assert ours is not None

    async def answered(ctx: Context, params: Any) -> Any:
        return await answer(ctx, params, ours.handler)

    server.add_request_handler(method, ours.params_type, answered)


def add_content(server: Server[Any]) -> None:
    put_before(server, "resources/list", _resources)
    put_before(server, "resources/templates/list", _templates)
    put_before(server, "resources/read", _read)
    put_before(server, "prompts/list", _prompts)
    put_before(server, "prompts/get", _prompt)
    put_before(server, "tools/call", _called)


async def _resources(ctx: Context, params: PaginatedRequestParams | None, ours: Ours) -> ListResourcesResult:
    result: ListResourcesResult = await ours(ctx, params)
    result.resources += [
        Resource(uri=_TEXT, name="text", mime_type="text/plain"),
        Resource(uri=_BINARY, name="binary", mime_type="image/png"),
    ]
    return result


async def _templates(
    ctx: Context, params: PaginatedRequestParams | None, ours: Ours
) -> ListResourceTemplatesResult:
    result: ListResourceTemplatesResult = await ours(ctx, params)
    whole = f"{_BEFORE_ID}{{id}}{_AFTER_ID}"
    result.resource_templates.append(ResourceTemplate(uri_template=whole, name="template"))
    return result


async def _read(ctx: Context, params: ReadResourceRequestParams, ours: Ours) -> Any:
    uri = params.uri
    if uri == _TEXT:
        return ReadResourceResult(
            contents=[_text_of(uri, "This is the content of the static text resource.")]
        )
    if uri == _BINARY:
        dot = BlobResourceContents(uri=uri, blob=_DOT, mime_type="image/png")
        return ReadResourceResult(contents=[dot])
    if uri.startswith(_BEFORE_ID) and uri.endswith(_AFTER_ID):
        which = uri.removeprefix(_BEFORE_ID).removesuffix(_AFTER_ID)
        text = json.dumps({"id": which, "templateTest": True, "data": f"Data for ID: {which}"})
        return ReadResourceResult(contents=[_text_of(uri, text, "application/json")])
    return await ours(ctx, params)


async def _prompts(ctx: Context, params: PaginatedRequestParams | None, ours: Ours) -> ListPromptsResult:
    result: ListPromptsResult = await ours(ctx, params)
    result.prompts += [
        Prompt(
            name=name,
            description=f"the prompt {name} of the suite",
            arguments=[PromptArgument(name=each, required=True) for each in wanted],
        )
        for name, wanted in PROMPTS.items()
    ]
    return result


async def _prompt(ctx: Context, params: GetPromptRequestParams, ours: Ours) -> Any:
    if params.name not in PROMPTS:
        return await ours(ctx, params)
    given = params.arguments or {}
    said = "; ".join(f"{name}={value}" for name, value in given.items()) or "nothing"
    messages = [PromptMessage(role="user", content=TextContent(type="text", text=f"Given: {said}"))]
    if params.name == "test_prompt_with_image":
        messages.insert(0, PromptMessage(role="user", content=_IMAGE))
    if params.name == "test_prompt_with_embedded_resource":
        embedded = _embedded(given["resourceUri"], "Embedded resource content for testing.")
        messages.insert(0, PromptMessage(role="user", content=embedded))
    return GetPromptResult(messages=messages)


async def _called(ctx: Context, params: CallToolRequestParams, ours: Ours) -> Any:
    result = await ours(ctx, params)
    if isinstance(result, CallToolResult):
        result.content += BESIDE.get(params.name, ())
    return result
