"""Values for the contract of a dialect: hostile ones, wrong ones, and what a reply contains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from errands.ports.dialect import Reply

HOSTILE = (
    " ",
    "*",
    "%",
    "_",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "\x00",
    "\x1b]0;owned\x07",
    "a\nb",
    "\ud800",
    "' OR 1=1 --",
    "${HOME}",
    "x" * 1_000_000,
    "nobody-222222",
)


def wrong_values(wanted: Mapping[str, Any]) -> list[Any]:
    """Return values that a parameter cannot take."""
    match wanted["type"]:
        case "string":
            wrong: list[Any] = [17, True, ["x"], {"x": 1}]
            if "enum" in wanted:
                wrong.append("wrong")
            if "maxLength" in wanted:
                wrong.append("x" * (wanted["maxLength"] + 1))
            return wrong
        case "boolean":
            return ["yes", 1, []]
        case "integer":
            return ["10", 1.5, -1, True]
        case "number":
            return ["10", -1, 600_001, True, []]
        case _:
            return ["x", 1, [1]]


def words_in(content: Any) -> str:
    """Return all texts and numbers in a structured reply."""
    if isinstance(content, Mapping):
        content = list(content.values())
    return "\n".join(map(words_in, content)) if isinstance(content, list | tuple) else str(content)


def parts_of(reply: Reply) -> list[Any]:
    return [reply.text, None if reply.content is None else dict(reply.content)]
