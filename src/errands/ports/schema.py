"""JSON Schema in few words, and the check of a value against it.

The same schema describes a tool to a model, or a request in OpenAPI and in the reference, and validates it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from errands.model.errors import BadValue
from errands.text import did_you_mean

Schema = dict[str, Any]


def text(
    help: str = "", *, longest: int | None = 200, shortest: int = 0, pattern: str = "", **more: Any
) -> Schema:
    schema: Schema = {"type": "string", **_described(help), **more}
    if longest is not None:
        schema["maxLength"] = longest
    if shortest:
        schema["minLength"] = shortest
    if pattern:
        schema["pattern"] = pattern
    return schema


def words(help: str = "") -> Schema:
    """Return the schema of a text of any length, as answers have it."""
    return text(help, longest=None)


def integer(help: str = "", least: int | None = None, most: int | None = None, **more: Any) -> Schema:
    schema: Schema = {"type": "integer", **_described(help), **more}
    if least is not None:
        schema["minimum"] = least
    if most is not None:
        schema["maximum"] = most
    return schema


def number(help: str = "") -> Schema:
    return {"type": "number", **_described(help)}


def flag(help: str = "", **more: Any) -> Schema:
    return {"type": "boolean", **_described(help), **more}


def choice(values: tuple[str, ...], help: str = "", **more: Any) -> Schema:
    return {"type": "string", "enum": list(values), **_described(help), **more}


def time(help: str = "") -> Schema:
    return {"type": "string", "format": "date-time", **_described(help)}


def listed(of: Schema, help: str = "", *, most: int | None = None, least: int = 0) -> Schema:
    schema: Schema = {"type": "array", "items": of, **_described(help)}
    if most is not None:
        schema["maxItems"] = most
    if least:
        schema["minItems"] = least
    return schema


def mapped(of: Schema, help: str = "", *, most: int | None = None) -> Schema:
    """Return the schema of an object whose names are free."""
    schema: Schema = {"type": "object", "additionalProperties": of, **_described(help)}
    if most is not None:
        schema["maxProperties"] = most
    return schema


def thing(help: str = "", /, *, optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {
        "type": "object",
        **_described(help),
        "properties": properties,
        "additionalProperties": False,
    }
    return {**schema, "required": required} if required else schema


def maybe(schema: Schema) -> Schema:
    """Return the schema that takes null, too."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _described(help: str) -> Schema:
    return {"description": help} if help else {}


def check(value: Any, schema: Mapping[str, Any], name: str) -> None:
    """Refuse a value that a schema does not allow, in a sentence; `name` is what the caller calls it."""
    if "anyOf" in schema:
        _check_any(value, schema, name)
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next((each for each in kinds if _is_a(value, each)), None)
    if kind is None:
        raise BadValue(f"{name} must be {' or '.join(_WORDS[each] for each in kinds)} (got {shown(value)})")
    if kind == "null":
        return
    if value not in schema.get("enum", (value,)):
        raise BadValue(f"{name} must be one of: {', '.join(schema['enum'])} (got {shown(value)})")
    if kind in _CHECKS:
        _CHECKS[kind](value, schema, name)


def _check_any(value: Any, schema: Mapping[str, Any], name: str) -> None:
    first: BadValue | None = None
    for each in schema["anyOf"]:
        try:
            check(value, each, name)
            return
        except BadValue as error:
            first = first or error
    assert first is not None
    raise first


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _check_text(value: str, schema: Mapping[str, Any], name: str) -> None:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        limit = f"at most {most:,}" if most is not None and len(value) > most else f"at least {least}"
        raise BadValue(f"{name} must have {limit} characters (got {len(value):,})")
    if "maxLength" in schema and not is_utf8(value):  # others are ids, which are not found then
        raise BadValue(f"{name} must be text in UTF-8 (got {shown(value)})")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise BadValue(f"{name} must match {schema['pattern']} (got {shown(value)})")
    if schema.get("format") == "date-time":
        moment(value, name)


def is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def moment(value: str, name: str) -> datetime:
    """Read a time with its zone, as ISO 8601 has it."""
    try:
        found = datetime.fromisoformat(value) if "T" in value.upper() else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadValue(f"{name} must be a time such as 2026-12-24T18:00:00Z (got {shown(value)})")
    return found


def _check_number(value: float, schema: Mapping[str, Any], name: str) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if not (least is None or value >= least) or not (most is None or value <= most):  # NaN is neither
        limit = f"at least {least}" if most is None else f"at most {most}"
        if least is not None and most is not None:
            limit = f"between {least} and {most}"
        raise BadValue(f"{name} must be {limit} (got {shown(value)})")


def _check_list(value: Sequence[Any], schema: Mapping[str, Any], name: str) -> None:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least or (most is not None and len(value) > most):
        limit = f"at most {most}" if most is not None and len(value) > most else f"at least {least}"
        raise BadValue(f"{name} must have {limit} entries (got {len(value)})")
    for place, each in enumerate(value, 1):
        check(each, schema["items"], f"entry {place} of {name}")


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], name: str) -> None:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for missing in (each for each in schema.get("required", ()) if each not in value):
        raise BadValue(f"{missing} is missing in {name}; add it")
    if len(value) > schema.get("maxProperties", len(value)):
        raise BadValue(f"{name} must have at most {schema['maxProperties']} entries (got {len(value)})")
    for key, each in value.items():
        if key in properties:
            check(each, properties[key], key)
        elif others is False:
            raise BadValue(f"{name} has no {shown(key)}{did_you_mean(key, list(properties))}")
        elif others is not True:
            check(key, text(longest=1000), f"a name in {name}")
            check(each, others, f"{key} in {name}")


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, and on one line."""
    whole = repr(value)
    return whole if len(whole) <= 80 else f"{whole[:77]}..."


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": dict,
    "null": type(None),
}
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_CHECKS: dict[str, Any] = {
    "string": _check_text,
    "integer": _check_number,
    "number": _check_number,
    "array": _check_list,
    "object": _check_object,
}
