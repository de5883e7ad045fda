"""Arguments: the JSON schema of a tool, and the check of a call against it.

Nothing is accepted and then ignored: an unknown argument is refused. Models fill in what they do not mean to
set, so `null` and an empty text are like leaving an argument out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from errands.model.errors import BadValue
from errands.model.options.table import BY_NAME, TaskOption
from errands.ports import schema as schemas
from errands.ports.schema import Schema, integer
from errands.text import did_you_mean

LONGEST = 100_000  # characters of a prompt or a command; anything longer belongs in a file
LONGEST_WAIT = 600_000  # milliseconds

_NOTHING = (None, "")
_SETTING = schemas.text(longest=LONGEST)


def offered(*names: str) -> dict[str, Any]:
    """Write the properties of task options, as the table describes them to agents."""
    return {name: _offered(BY_NAME[name]) for name in names}


def _offered(option: TaskOption) -> dict[str, Any]:
    match option.type:
        case "tasks" | "names":
            return texts(option.tool)
        case "count":
            return integer(option.tool, minimum=option.least)
        case "variables" | "settings":
            return settings(option.tool)
        case "choice":
            return text(option.tool, longest=option.longest, enum=list(option.choices))
    return text(option.tool, longest=option.longest)


def schema(*required: str, **properties: Schema) -> Schema:
    return schemas.thing(optional=tuple(name for name in properties if name not in required), **properties)


def text(description: str = "", *, longest: int = LONGEST, **more: Any) -> Schema:
    return schemas.text(description, longest=longest, **more)


def task_id(description: str = "") -> Schema:
    """An id has no length limit: one that cannot exist is simply not found."""
    return schemas.words(description)


def texts(description: str = "") -> Schema:
    return schemas.listed(schemas.words(), description, most=1000)


def settings(description: str = "") -> Schema:
    return schemas.mapped(schemas.words(), description, most=100)


def milliseconds(description: str, *, default: int) -> Schema:
    """A time to wait, within the bounds that every tool has."""
    return {**schemas.number(description), "minimum": 0, "maximum": LONGEST_WAIT, "default": default}


def checked(parameters: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with the defaults filled in, or say what is wrong with them."""
    properties: Mapping[str, Any] = parameters["properties"]
    values = {str(name): value for name, value in given.items() if value not in _NOTHING}
    for name in values:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise BadValue(
                f"unknown argument {name[:80]!r}{did_you_mean(name[:80], properties)}; "
                f"the arguments are: {known}"
            )
    for name in parameters.get("required", ()):
        if name not in values:
            raise BadValue(f"{name} is missing")
    for name, value in values.items():
        values[name] = _converted(value, properties[name]["type"])
        schemas.check(values[name], properties[name], name)
        # Every word of a list of tools costs each conversation, so the schema does not name this limit.
        for key, each in value.items() if isinstance(value, dict) else ():
            schemas.check(each, _SETTING, f"{key} in {name}")
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    return {**defaults, **values}


def _converted(value: Any, kind: str) -> Any:
    """Return a value as we pass it on; models write whole numbers as 3.0, too."""
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return tuple(value) if kind == "array" and isinstance(value, list) else value
