"""Arguments: the JSON schema of a tool, and the check of a call against it.

Nothing is accepted and then ignored: an unknown argument is refused. Models fill in what they do not mean to
set, so `null` and an empty text are like leaving an argument out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from errands.model.errors import BadValue
from errands.model.options.table import BY_NAME, TaskOption
from errands.text import did_you_mean

LONGEST = 100_000  # characters of a prompt or a command; whatever is longer belongs into a file
LONGEST_WAIT = 600_000  # milliseconds

_NOTHING = (None, "")
_TYPES: dict[str, tuple[Any, str]] = {
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int, float), "a whole number"),
    "number": ((int, float), "a number"),
    "array": ((list, tuple), "a list of strings"),
    "object": ((dict,), "an object whose values are strings"),
}


def offered(*names: str) -> dict[str, Any]:
    """Write the properties of task options, as the table describes them to agents."""
    return {name: _offered(BY_NAME[name]) for name in names}


def _offered(option: TaskOption) -> dict[str, Any]:
    match option.type:
        case "tasks" | "names":
            return texts(option.tool)
        case "count":
            return number(option.tool, minimum=option.least)
        case "variables" | "settings":
            return settings(option.tool)
        case "choice":
            return text(option.tool, longest=option.longest, enum=list(option.choices))
    return text(option.tool, longest=option.longest)


def schema(*required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Write the schema of an object with these properties and no others."""
    written: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**written, "required": list(required)} if required else written


def text(description: str = "", *, longest: int = LONGEST, **more: Any) -> dict[str, Any]:
    return _property("string", description, maxLength=longest, **more)


def task_id(description: str = "") -> dict[str, Any]:
    """An id has no bound: whatever cannot be one is simply not found."""
    return _property("string", description)


def flag(description: str = "", **more: Any) -> dict[str, Any]:
    return _property("boolean", description, **more)


def number(description: str = "", **more: Any) -> dict[str, Any]:
    return _property("integer", description, **more)


def texts(description: str = "") -> dict[str, Any]:
    return _property("array", description, items={"type": "string"}, maxItems=1000)


def settings(description: str = "") -> dict[str, Any]:
    return _property("object", description, additionalProperties={"type": "string"}, maxProperties=100)


def milliseconds(description: str, *, default: int) -> dict[str, Any]:
    """A time to wait, within the bounds that every tool has."""
    return _property("number", description, minimum=0, maximum=LONGEST_WAIT, default=default)


def _property(kind: str, description: str, **more: Any) -> dict[str, Any]:
    said = {"description": description} if description else {}
    return {"type": kind, **said, **more}


def checked(parameters: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the defaults filled in, or say what is wrong with them."""
    properties: Mapping[str, Any] = parameters["properties"]
    values = {str(name): value for name, value in given.items() if value not in _NOTHING}
    for name in values:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise BadValue(
                f"unknown argument {name[:80]!r}{did_you_mean(name[:80], properties)}; there are: {known}"
            )
    for name in parameters.get("required", ()):
        if name not in values:
            raise BadValue(f"{name} is missing")
    for name, value in values.items():
        values[name] = _checked(name, value, properties[name])
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    return {**defaults, **values}


def _checked(name: str, value: Any, wanted: Mapping[str, Any]) -> Any:
    kind = wanted["type"]
    types, spoken = _TYPES[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise BadValue(f"{name} must be {spoken}")
    if kind in ("integer", "number"):
        return _amount(name, value, kind, wanted)
    if kind == "array":
        if len(value) > wanted["maxItems"] or not all(isinstance(each, str) for each in value):
            raise BadValue(f"{name} must be {spoken}")
        return tuple(value)
    if kind == "object":
        words = [*value, *value.values()]
        if len(value) > wanted["maxProperties"] or not all(isinstance(each, str) for each in words):
            raise BadValue(f"{name} must be {spoken}")
        if any(len(each) > LONGEST for each in words) or not all(map(_is_whole, words)):
            raise BadValue(f"{name} must be {spoken} in UTF-8, of {LONGEST:,} characters at most")
        return dict(value)
    longest = wanted.get("maxLength")
    if longest is not None and len(value) > longest:
        raise BadValue(
            f"{name} is too long: {len(value):,} characters, and the most is {longest:,}; put it into a file"
        )
    if longest is not None and not _is_whole(value):
        raise BadValue(f"{name} must be {spoken} in UTF-8, and has half a character")
    if "enum" in wanted and value not in wanted["enum"]:
        raise BadValue(f"{name} must be one of: {', '.join(wanted['enum'])}")
    return value


def _is_whole(value: Any) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _amount(name: str, value: float, kind: str, wanted: Mapping[str, Any]) -> float:
    if value != value or (kind == "integer" and value != value // 1):
        raise BadValue(f"{name} must be {_TYPES[kind][1]}")
    least, most = wanted.get("minimum"), wanted.get("maximum")
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise BadValue(f"{name} must be {bounds}")
    return int(value) if kind == "integer" else value
