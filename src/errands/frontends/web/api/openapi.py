"""The description of the API as OpenAPI 3.1, made from the table of operations."""

from __future__ import annotations

from typing import Any

from errands import __version__
from errands.frontends.web.api.operation import Operation, Parameter
from errands.frontends.web.api.operations import OPERATIONS
from errands.frontends.web.api.shapes import SHAPES
from errands.frontends.web.api.view_shapes import FRAMES
from errands.ports.schema import ref

# What every request can be refused with: see `guard.py`.
_ALWAYS = {
    400: "a value is not allowed, or the request cannot be read",
    403: "the request comes from another page, or needs a person",
    421: "the request is for another host",
    429: "too many requests with wrong keys",
    503: "the store, the daemon or the fleet cannot be used now",
}
_SOMETIMES = {
    401: "the key is missing or wrong",
    404: "not found",
    408: "the body did not come in time",
    409: "it cannot be done in the present state, or the state has changed",
    413: "the body is too large",
    415: "the body is not JSON",
    502: "the receiver of a message refused it",
}


def document(url: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    frames = {f"{name.capitalize()}Event": schema for name, schema in FRAMES.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Errands",
            "version": __version__,
            "description": "The engine's verbs and questions. See docs/reference/web-api.md.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {
            "schemas": {**SHAPES, **frames},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def statuses(operation: Operation) -> dict[int, str]:
    """Return every status that an operation can have besides its own, with what it means."""
    found = dict(_ALWAYS)
    extra = set(operation.refusals)
    if operation.needs != "nothing":
        extra.add(401)
    if operation.body is not None:
        extra |= {408, 413, 415}
    found.update((status, _SOMETIMES[status]) for status in extra - found.keys())
    return dict(sorted(found.items()))


def _operation(operation: Operation) -> dict[str, Any]:
    content = (
        {"application/json": {"schema": ref(operation.answer)}}
        if "/" not in operation.answer
        else {
            each: {"schema": {"type": "object" if each == "application/json" else "string"}}
            for each in operation.answer.split(" or ")
        }
    )
    responses: dict[str, Any] = {str(operation.status): {"description": "done", "content": content}}
    for status, meaning in statuses(operation).items():
        responses[str(status)] = {
            "description": meaning,
            "content": {"application/problem+json": {"schema": ref("Problem")}},
        }
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_parameter(each) for each in operation.parameters],
        "responses": responses,
        "security": [] if operation.needs == "nothing" else [{"key": []}],
    }
    if operation.body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": operation.body}},
        }
    return found


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "schema": parameter.schema,
        "description": parameter.schema.get("description", ""),
    }
