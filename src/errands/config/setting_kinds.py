"""The kinds of settings that the tables of agents and channels have: which values fit, and what to write."""

from __future__ import annotations

from errands.config.secret import PLACES, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal[
        "text", "name", "count", "seconds", "command", "words", "variables", "table", "budget", "preset",
        "model", "servers", "address", "secret", "switch", "users", "targets",
    ]  # fmt: skip

PRESETS = ("claude", "plain")
_MEANT: dict[Kind, str] = {
    "text": "text; write it in quotes",
    "name": "text; write it in quotes",
    "count": "a whole number of at least 0",
    "seconds": "a number of seconds",
    "command": 'a command; write ["program", "word"], or a line in quotes',
    "words": 'a list of words; write ["--option", "word"]',
    "variables": 'a table of strings; write { NAME = "value" }',
    "table": "a table; write { name = value }",
    "budget": "a table; write { requests = 20 }",
    "preset": f"one of: {', '.join(PRESETS)}",
    "model": 'a model; write its name in quotes, or { model = "...", url = "..." }',
    "address": "an address; write http:// or https://, then the host, such as http://127.0.0.1:8080/v1",
    "switch": "true or false",
    "servers": "a table of servers; write [agents.NAME.mcp.SERVER] and its keys below",
    "users": "a list of user ids; write [1234, 5678]",
    "targets": 'a table of URLs; write { phone = "ntfy://..." }',
}


def wrong_setting(kind: Kind, value: Any) -> str:
    """Return what is wrong with a value, and what to write; empty if it fits."""
    if _fits(kind, value):
        return ""
    if kind == "secret":  # the value may be the secret itself, so it is not shown
        return f"don't put secrets in this file; write {PLACES}"
    return f"{value!r} is not {_MEANT[kind]}"


def _fits(kind: Kind, value: Any) -> bool:
    match kind:
        case "text" | "model":
            return isinstance(value, str) and bool(value.strip())
        case "name":  # the ids of Discord are numbers, and people write them as such
            return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())
        case "users":
            return isinstance(value, list) and all(
                isinstance(each, int | str) and str(each).isdecimal() for each in value
            )
        case "targets":
            return bool(value) and _fits("variables", value)
        case "count":
            return is_number(value, int) and value >= 0
        case "seconds":
            return is_number(value, (int, float)) and value >= 0
        case "command":
            words = value if isinstance(value, list) else [value]
            if not all(isinstance(each, str) for each in words) or not "".join(words).strip():
                return False
            return isinstance(value, list) or _can_be_split(value)
        case "words":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case "variables":
            return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        case "address":
            return isinstance(value, str) and _is_address(value)
        case "secret":
            return is_secret(value)
        case "preset":
            return value in PRESETS
        case "switch":
            return isinstance(value, bool)
        case _:
            return isinstance(value, dict)


def _is_address(text: str) -> bool:
    # By hand, because every command reads the configuration and urllib is slow to import.
    scheme, _, rest = text.partition("://")
    place = rest.replace("?", "/").partition("/")[0].rpartition("@")[2]
    host, _, port = place.rpartition(":") if not place.endswith("]") and ":" in place else (place, "", "80")
    return scheme in ("http", "https") and bool(host) and port.isdecimal() and len(text.split()) == 1


def _can_be_split(line: str) -> bool:
    if not any(each in line for each in "'\"\\"):
        return True
    import shlex

    try:
        return bool(shlex.split(line))
    except ValueError:  # an unclosed quote
        return False


def is_number(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
