"""Edit the user's configuration as text: comments and everything else in the file stay as they are."""

from __future__ import annotations

import json
import os

from errands.config import toml
from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def agents_text(default: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the default agent and the settings of these agents as TOML."""
    return "\n".join(["[agents]", f"default = {json.dumps(default)}", *_written(tables)]) + "\n"


def with_agents(text: str, default: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a configuration with another default agent and these tables; refuse what cannot be edited."""
    before = _read(text)
    line = f"default = {json.dumps(default)}"
    lines = text.splitlines()
    places = [number for number, each in enumerate(lines) if each.strip() == "[agents]"]
    added = {name: each for name, each in tables.items() if before.get("agents", {}).get(name) != each}
    if places:
        old = next((n for n in range(places[0] + 1, len(lines)) if _key(lines, n) == "default"), None)
        lines[places[0] + 1 : places[0] + 1] = [line]
        if old is not None and "default" in before["agents"]:
            del lines[old + 1]
    else:
        lines += [*([""] if text.strip() else []), "[agents]", line]
    lines += _written(added)
    after = "\n".join(lines) + "\n"
    agents = {**before.get("agents", {}), "default": default, **{n: dict(each) for n, each in tables.items()}}
    if _read(after, text) != {**before, "agents": agents}:
        raise _by_hand()
    return after


def _written(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, settings in tables.items():
        # Strings and lists of strings are written alike in TOML and JSON.
        yield from (
            "",
            f"[agents.{name}]",
            *(f"{key} = {json.dumps(each)}" for key, each in settings.items()),
        )


def write(path: str, text: str) -> None:
    """Replace a file in one step; if it is a link, the file that it leads to."""
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o600
    new = f"{path}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(new, path)


def _key(lines: list[str], number: int) -> str:
    """Return the key of a line of the table [agents], which ends at the next header."""
    for each in lines[: number + 1][::-1]:
        if each.lstrip().startswith("["):
            return lines[number].partition("=")[0].strip() if each.strip() == "[agents]" else ""
    return ""


def _read(text: str, instead: str | None = None) -> dict[str, Any]:
    try:
        return toml.loads(text)
    except ValueError as error:
        if instead is not None:
            raise _by_hand() from None
        raise BadValue(
            f"your configuration cannot be read: {error}; `errands config check` says where"
        ) from None


def _by_hand() -> BadValue:
    return BadValue("your configuration is written in a way that cannot be edited here; change it by hand")
