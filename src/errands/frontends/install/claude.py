"""Claude Code: a plugin with the server, the hooks, two commands and a skill, in a folder of its own.

The settings name the folder as a marketplace of one plugin. Claude Code reads it in place and without a
network. The plugin's name comes before those of its commands (`/errands:tasks`), so they hide no others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from shlex import quote
from typing import Any

from errands import __version__
from errands.dialects import named
from errands.frontends.install.pieces import Entry, Rule, Whole
from errands.frontends.install.place import (
    SERVER,
    Place,
    command,
    environment,
    packaged,
    server,
    server_command,
)
from errands.frontends.install.plan import Target
from errands.ports.dialect import Caller

DIALECT = "claude"
PLUGIN = "errands"
MARKETPLACE = "errands-local"
TOOLS = f"mcp__plugin_{PLUGIN}_{SERVER}"  # what Claude Code puts before the name of a tool
# The client ends a waiting hook after this time; later news is reported at the next prompt.
_DAY = 86_400  # seconds


def targets(place: Place) -> tuple[Target, ...]:
    folder, bundle = _places(place)
    # The files name the Python of this machine; in a project, these settings are not shared.
    name = "settings.json" if place.project is None else "settings.local.json"
    source = {"source": {"source": "directory", "path": bundle}}
    settings = Target(
        path=os.path.join(folder, name),
        pieces=(
            Entry(path=("extraKnownMarketplaces", MARKETPLACE), value=source),
            Entry(path=("enabledPlugins", f"{PLUGIN}@{MARKETPLACE}"), value=True),
            Rule(path=("permissions", "allow"), value=TOOLS, wanted=place.trust),
        ),
    )
    files = tuple(
        Target(path=os.path.join(bundle, *path.split("/")), pieces=(Whole(text=text),))
        for path, text in _bundle(place).items()
    )
    return (*files, settings)


def leftovers(place: Place) -> tuple[Target, ...]:
    """Return what Claude Code itself has noted of the marketplace and of the plugin.

    Of a marketplace that is gone it would complain, and a plugin that is gone it would list as disabled.
    """
    folder = os.path.join(_folder(place), "plugins")
    whose = ("user", None) if place.project is None else ("local", place.project)
    return (
        *_noted(
            os.path.join(folder, "known_marketplaces.json"),
            (MARKETPLACE,),
            lambda noted: noted["installLocation"] == _places(place)[1],
        ),
        *_noted(
            os.path.join(folder, "installed_plugins.json"),
            ("plugins", f"{PLUGIN}@{MARKETPLACE}"),
            lambda noted: all((each["scope"], each.get("projectPath")) == whose for each in noted),
        ),
    )


def _noted(path: str, keys: tuple[str, ...], is_ours: Callable[[Any], bool]) -> tuple[Target, ...]:
    """Return the entry in a file of Claude Code's, if it is about this installation alone."""
    try:
        with open(path, encoding="utf-8") as file:
            noted = json.load(file)
        for key in keys:
            noted = noted[key]
        return (Target(path=path, pieces=(Entry(path=keys, value={}),)),) if is_ours(noted) else ()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def _places(place: Place) -> tuple[str, str]:
    """Return the folders of the settings and of the plugin."""
    folder = place.either(".claude", _folder(place))
    return folder, os.path.join(folder, "errands")


def _folder(place: Place) -> str:
    return place.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(place.home, ".claude")


def _bundle(place: Place) -> dict[str, str]:
    """Return the files of the plugin and of the marketplace that offers it."""
    plugin = {
        "name": PLUGIN,
        "version": __version__,
        "description": "Runs slow commands and agents in the background, and reports their results.",
    }
    offered = {
        "name": MARKETPLACE,
        "owner": {"name": "Errands"},
        "plugins": [{"name": PLUGIN, "source": f"./{PLUGIN}"}],
    }
    # Else Claude Code sends the model only the names of the tools, and none before the server has started.
    served = server(server_command(place, DIALECT, client="claude"), place, type="stdio") | {
        "alwaysLoad": True
    }
    return {
        ".claude-plugin/marketplace.json": _written(offered),
        f"{PLUGIN}/.claude-plugin/plugin.json": _written(plugin),
        f"{PLUGIN}/.mcp.json": _written({"mcpServers": {SERVER: served}}),
        f"{PLUGIN}/hooks/hooks.json": _written({"hooks": _hooks(place)}),
        f"{PLUGIN}/commands/background.md": packaged("claude", "background.md"),
        f"{PLUGIN}/commands/tasks.md": _tasks_command(place),
        f"{PLUGIN}/skills/errands/SKILL.md": packaged("claude", "skill.md"),
    }


def _written(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _hooks(place: Place) -> dict[str, Any]:
    def hook(verb: str, **more: Any) -> dict[str, Any]:
        env = [f"{name}={quote(value)}" for name, value in environment(place).items()]
        words = [quote(word) for word in command("client", "claude", verb)]
        return {"type": "command", "command": " ".join([*env, *words]), **more}

    # What the person and the model see; without these it is labelled as hook feedback.
    labels = {"rewakeSummary": "Errands: news of background tasks", "rewakeMessage": "News from Errands:"}
    wake = hook("wake", asyncRewake=True, timeout=_DAY, **labels)
    ours = f"{TOOLS}__.*"
    return {
        # The server knows the session it was started in, and /clear begins another: each call names its own.
        "PreToolUse": [{"matcher": ours, "hooks": [hook("session", timeout=10)]}],
        "PostToolUse": [{"matcher": ours, "hooks": [wake]}],
        "UserPromptSubmit": [{"hooks": [hook("remind", timeout=10)]}],
    }


def _tasks_command(place: Place) -> str:
    """Return the command `/errands:tasks`, with the filters that the tool behind it accepts."""
    dialect = named(place.dialect or DIALECT)
    caller = Caller(session=None, cwd="", door="mcp")
    listing = [
        (tool.name, name, schema["enum"])
        for tool in dialect.tools(caller)
        if tool.reads_only
        for name, schema in tool.parameters["properties"].items()
        if "enum" in schema
    ]
    hint = " ".join(f"[{'|'.join(words)}]" for _, _, words in listing)
    filters = "; ".join(f"`{name}` of `{tool}` is one of {', '.join(words)}" for tool, name, words in listing)
    what = f'The filter is "$ARGUMENTS": {filters}. For any other word, say which there are.'
    return packaged("claude", "tasks.md").replace("{hint}", hint).replace("{filters}", what if hint else "")
