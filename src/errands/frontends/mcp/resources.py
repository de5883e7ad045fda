"""Resources: the tasks of a client and their output, readable without calling a tool.

Output comes a page at a time, with secrets masked, in a fence that marks it as data.
"""

from __future__ import annotations

import json
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    TextResourceContents,
)

from errands.dialects.output_text import paged
from errands.frontends.mcp.client import Client, Context
from errands.frontends.mcp.frontend import Frontend
from errands.model.errors import BadValue, NotFound
from errands.model.text.sanitise import line
from errands.model.view import View, as_json
from errands.text import clip, fenced

ROOT = "errands://tasks"
PAGE = 64 * 1024  # bytes of output in one reply
_LISTED = 50
_COMPLETED = 100
_MOST = 1000
_LONGEST = 200
_NOT_FOUND = -32002  # in the older protocol
# The fields of a task that clients see; its environment and processes are not among them.
_FIELDS = (
    "id", "kind", "state", "name", "description", "command", "prompt", "cwd", "batch", "created_at",
    "created_by", "started_at", "completed_at", "exit_code", "signal", "failure", "error", "duration",
    "summary", "truncated", "output_bytes", "output_lines", "progress", "approved_by", "approved_at", "agent",
    "model", "resume_count", "forked", "waiting", "runs",
)  # fmt: skip


class Resources:
    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List the tasks of a client and their output, newest first, a page at a time."""
        start = _number(params.cursor if params else None, "cursor")
        views = self._frontend.tasks(self._frontend.caller(Client(ctx)), limit=_MOST)
        shown = views[start : start + _LISTED]
        listed = []
        if not start:
            listed.append(_resource(ROOT, "tasks", "the newest tasks of this session", "application/json"))
        for view in shown:
            about = self._frontend.masked([view], clip(line(f"{view.state}: {view.description}"), 200))
            listed.append(_resource(output_uri(view.id), view.id, about, "text/plain"))
        more = str(start + _LISTED) if start + _LISTED < len(views) else None
        return ListResourcesResult(resources=listed, next_cursor=more)

    async def templates(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        about = "state and details of a task"
        output = "the output of a task from a byte offset; the reply says where the next page begins"
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=f"{ROOT}/{{id}}",
                    name="task",
                    description=about,
                    mime_type="application/json",
                ),
                ResourceTemplate(
                    uri_template=f"{ROOT}/{{id}}/output{{?offset}}",
                    name="output",
                    description=output,
                    mime_type="text/plain",
                ),
            ]
        )

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete the task id in a URI, the only argument there is."""
        found: list[str] = []
        is_ours = isinstance(params.ref, ResourceTemplateReference) and params.ref.uri.startswith(ROOT)
        if is_ours and params.argument.name == "id":
            views = self._frontend.tasks(self._frontend.caller(Client(ctx)), limit=_MOST)
            found = [view.id for view in views if view.id.startswith(params.argument.value)]
        shown = found[:_COMPLETED]
        return CompleteResult(
            completion=Completion(values=shown, total=len(found), has_more=len(shown) < len(found))
        )

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        client = Client(ctx)
        try:
            return self._read(client, params)
        except NotFound as error:
            code = INVALID_PARAMS if client.is_modern else _NOT_FOUND
            raise MCPError(code, str(error), {"uri": params.uri[:_LONGEST]}) from None

    def _read(self, client: Client, params: ReadResourceRequestParams) -> ReadResourceResult:
        caller = self._frontend.caller(client)
        if params.uri == ROOT:
            views = self._frontend.tasks(caller, limit=_LISTED)
            listed = json.dumps([_clipped(_fields(view)) for view in views], ensure_ascii=False, indent=1)
            return _contents(params.uri, self._frontend.masked(views, listed), "application/json")
        task_id, is_output, offset = parse_uri(params.uri)
        view = self._frontend.find(caller, task_id)
        if not is_output:
            text = json.dumps(_fields(view), ensure_ascii=False, indent=1)
            return _contents(params.uri, self._frontend.masked([view], text), "application/json")
        engine = self._frontend.engine.engine
        piece = engine.output(view.id, offset=offset, limit=PAGE)
        content, beyond = paged(piece, PAGE, is_live=view.is_live)
        after = (piece.content + piece.after)[len(content) :]
        text = engine.mask(view.id).output(content, before=piece.before, after=after)
        if text:
            text = fenced(text, f"output of {view.id}")
        more: dict[str, Any] = {"nextOffset": beyond, "missingBytes": piece.missing}
        if not view.is_live and len(piece.content) < PAGE:
            more["isEnd"] = True
            engine.mark_retrieved(view)
        meta = {f"errands/{name}": value for name, value in more.items()}
        return _contents(params.uri, text, "text/plain", meta)


def parse_uri(uri: str) -> tuple[str, bool, int]:
    """Return the task id in a URI, whether the URI means the output, and the offset."""
    path, _, query = uri.removeprefix(f"{ROOT}/").partition("?")
    task_id, slash, rest = path.partition("/")
    if not uri.startswith(f"{ROOT}/") or (slash and rest != "output") or (query and not slash):
        raise NotFound(f"unknown resource {line(uri[:80])!r}")
    name, _, value = query.partition("=")
    if query and name != "offset":
        raise NotFound(f"unknown resource {line(uri[:80])!r}")
    return task_id, bool(slash), _number(value or None, "offset")


def output_uri(task_id: str) -> str:
    return f"{ROOT}/{task_id}/output"


def _resource(uri: str, name: str, about: str, kind: str) -> Resource:
    return Resource(uri=uri, name=name, description=about, mime_type=kind)


def _contents(uri: str, text: str, kind: str, meta: dict[str, Any] | None = None) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=kind, _meta=meta)])


def _fields(view: View) -> dict[str, Any]:
    flat = as_json(view)
    return {name: flat[name] for name in _FIELDS if flat[name] not in (None, "")}


def _clipped(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: clip(each, _LONGEST) if isinstance(each, str) else each for name, each in fields.items()}


def _number(text: str | None, what: str) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadValue(f"{what} must be a number, not {line(text[:80])!r}")
    return int(text)
