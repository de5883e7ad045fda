"""OpenCode: a plugin, which has the tools in it. As a server of tools, Errands would not know who calls."""

from __future__ import annotations

import json
import os

from errands.dialects.completion import wake_advice
from errands.dialects.opencode import OpenCode
from errands.frontends.install.pieces import Whole
from errands.frontends.install.place import Place, command, environment, packaged
from errands.frontends.install.plan import Target
from errands.model.errors import BadValue
from errands.ports.dialect import Caller


def targets(place: Place) -> tuple[Target, ...]:
    dialect = OpenCode()
    if place.dialect not in (None, dialect.name):
        raise BadValue(
            f"OpenCode's plugin has the tools of the dialect {dialect.name!r}, not {place.dialect!r}; "
            "leave --dialect out"
        )
    folder = place.either(os.path.join(".opencode", "plugin"), place.config("opencode", "plugin"))
    return (Target(path=os.path.join(folder, "errands.js"), pieces=(Whole(text=_plugin(dialect, place)),)),)


def _plugin(dialect: OpenCode, place: Place) -> str:
    """Return the plugin with the tools in it: asking for them would delay each start of OpenCode."""
    filled = {
        "errands": command(),
        "environment": environment(place),
        "tools": {
            tool.name: {"description": tool.description, "parameters": tool.parameters}
            for tool in dialect.all_tools
        },
        "ends": {wake: wake_advice(_caller(wake), dialect.ask_with) for wake in ("session", "none")},
    }
    text = packaged("opencode", "errands.js")
    for name, value in filled.items():
        text = text.replace(f'"{{{name}}}"', json.dumps(value, ensure_ascii=False))
    return text


def _caller(wake: str) -> Caller:
    return Caller(session="", cwd="", door="opencode", wake=wake)
