"""The path, query and body of a request, checked against the table. What it does not list is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from errands.frontends.web.api.operation import Operation, Parameter
from errands.frontends.web.guard import RefusalError
from errands.model.errors import BadValue
from errands.ports.schema import check, shown
from errands.text import did_you_mean

_MOST_PARAMETERS = 50


def values_of(operation: Operation, path: Mapping[str, str], query: bytes) -> dict[str, Any]:
    """Return the parameters by name, converted; one that is not given has its default, or is None."""
    known = {each.name: each for each in operation.parameters}
    given = {**_pairs(query, known), **path}
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        if name in given:
            value = _converted(given[name], parameter)
            check(value, parameter.schema, name)
            values[name] = value
        elif parameter.required:
            raise BadValue(f"{name} is missing; add ?{name}=")
        else:
            values[name] = parameter.schema.get("default")
    return values


def _pairs(query: bytes, known: Mapping[str, Parameter]) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:
        raise BadValue(f"the query cannot be read; write ?name=value (got {shown(query)})") from None
    allowed = [name for name, each in known.items() if each.place == "query"]
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in allowed:
            raise BadValue(f"unknown parameter {shown(name)}{did_you_mean(name, allowed)}")
        if name in found:
            raise BadValue(f"{name} is given twice; give it once")
        found[name] = value
    return found


def _converted(text: str, parameter: Parameter) -> Any:
    """Return a value as its schema has it; what cannot be converted is left to the check."""
    kind = parameter.schema["type"]
    if kind == "integer":
        digits = text.removeprefix("-")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20
        return int(text) if is_number else text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    return text


def body_of(operation: Operation, content_type: str, content: bytes) -> dict[str, Any]:
    """Return the body of a request; only JSON is one."""
    schema = operation.body
    if schema is None:
        if content:
            raise BadValue("this request takes no body; leave it out")
        return {}
    media, _, charset = content_type.partition(";")
    if media.strip().lower() != "application/json" or charset.strip().lower() not in ("", "charset=utf-8"):
        detail = f"the body must be application/json (got {shown(content_type)})"
        raise RefusalError(415, detail, "BadValue")
    try:
        body = json.loads(content.decode(), parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise BadValue(f"the body cannot be read as JSON: {str(error)[:200]}") from None
    check(body, schema, "the body")
    checked: dict[str, Any] = body
    return checked


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found
