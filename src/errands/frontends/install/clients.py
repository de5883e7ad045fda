"""The clients: which files each of them reads, and what Errands writes there.

A client starts the server with the Python that ran the installation, whatever its own environment is.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from shlex import quote
from typing import Any

from errands.frontends.install.pieces import Entry, Item, Piece, Table, Whole
from errands.frontends.install.plan import Target
from errands.model.record import record

SERVER = "errands"
# The client ends a waiting hook after this time; later news is reported at the next prompt.
_DAY = 86_400  # seconds


@record
class Place:
    """Where to install: for a person (`project` is None) or in a project."""

    environ: Mapping[str, str]
    project: str | None = None
    dialect: str | None = None

    @property
    def home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")

    def config(self, *names: str) -> str:
        base = self.environ.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
        return os.path.join(base, *names)

    def either(self, project: str, user: str) -> str:
        return user if self.project is None else os.path.join(self.project, project)


@record
class Client:
    """A program that can use the tools; `reports` says how it learns of the end of a task."""

    name: str
    title: str
    targets: Callable[[Place], tuple[Target, ...]]
    reports: str = "it is not woken when a task ends, and has to ask"


def command(*words: str) -> list[str]:
    """Return a command line of Errands; `-P`, because a project may have files named like modules."""
    return [sys.executable, "-P", "-m", "errands", *words]


def _server_command(place: Place, default: str, *, client: str = "") -> list[str]:
    words = ("client", client, "mcp") if client else ("mcp",)
    return command(*words, "--dialect", place.dialect or default)


def _environment(place: Place) -> dict[str, str]:
    """Return the variables that a program started outside a shell would miss."""
    home = place.environ.get("ERRANDS_HOME")
    return {"ERRANDS_HOME": os.path.abspath(home)} if home else {}


def _server(words: list[str], place: Place, **more: Any) -> dict[str, Any]:
    """Describe the server in the form that most clients use."""
    env = _environment(place)
    return {**more, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


def _text(*names: str) -> str:
    return files("errands.frontends.install").joinpath("files", *names).read_text(encoding="utf-8")


# Claude Code: the server, two hooks that report the ends of tasks, two commands and a skill.


def _claude(place: Place) -> tuple[Target, ...]:
    configured = place.environ.get("CLAUDE_CONFIG_DIR")
    base = configured or os.path.join(place.home, ".claude")
    folder = place.either(".claude", base)
    state = os.path.join(configured or place.home, ".claude.json")
    server = _server(_server_command(place, "claude", client="claude"), place, type="stdio")
    return (
        Target(
            path=place.either(".mcp.json", state), pieces=(Entry(path=("mcpServers", SERVER), value=server),)
        ),
        Target(path=os.path.join(folder, "settings.json"), pieces=tuple(_claude_hooks(place))),
        *(
            Target(path=os.path.join(folder, *path), pieces=(Whole(text=_text(*source)),))
            for path, source in (
                (("commands", "background.md"), ("claude", "background.md")),
                (("commands", "tasks.md"), ("claude", "tasks.md")),
                (("skills", "errands", "SKILL.md"), ("claude", "skill.md")),
            )
        ),
    )


def _claude_hooks(place: Place) -> list[Piece]:
    def hook(verb: str, **more: Any) -> dict[str, Any]:
        env = [f"{name}={quote(value)}" for name, value in _environment(place).items()]
        words = [quote(word) for word in command("client", "claude", verb)]
        return {"type": "command", "command": " ".join([*env, *words]), **more}

    # What the person and the model see; without these it is labelled as hook feedback.
    labels = {"rewakeSummary": "Errands: news of background tasks", "rewakeMessage": "News from Errands:"}
    wake_hook = hook("wake", asyncRewake=True, timeout=_DAY, **labels)
    wake = {"matcher": f"mcp__{SERVER}__.*", "hooks": [wake_hook]}
    remind = {"hooks": [hook("remind", timeout=10)]}
    return [
        Item(path=("hooks", "PostToolUse"), value=wake, mark="-m errands client claude wake"),
        Item(path=("hooks", "UserPromptSubmit"), value=remind, mark="-m errands client claude remind"),
    ]


# OpenCode: the server and a plugin.


def _opencode(place: Place) -> tuple[Target, ...]:
    folder = place.either("", place.config("opencode"))
    plugins = place.either(os.path.join(".opencode", "plugin"), place.config("opencode", "plugin"))
    env = _environment(place)
    server = {
        "type": "local",
        "command": _server_command(place, "opencode", client="opencode"),
        "enabled": True,
        **({"environment": env} if env else {}),
    }
    plugin = _text("opencode", "errands.js")
    filled = plugin.replace('"{errands}"', json.dumps(command())).replace('"{environment}"', json.dumps(env))
    return (
        Target(
            path=_existing(folder, "opencode.jsonc", "opencode.json"),
            pieces=(Entry(path=("mcp", SERVER), value=server),),
        ),
        Target(path=os.path.join(plugins, "errands.js"), pieces=(Whole(text=filled),)),
    )


def _existing(folder: str, *names: str) -> str:
    """Return the first of these files that exists, or else the last one."""
    paths = [os.path.join(folder, name) for name in names]
    return next((path for path in paths if os.path.exists(path)), paths[-1])


# The others: the server alone.


def _codex(place: Place) -> tuple[Target, ...]:
    base = place.environ.get("CODEX_HOME") or os.path.join(place.home, ".codex")
    path = place.either(os.path.join(".codex", "config.toml"), os.path.join(base, "config.toml"))
    table = Table(path=("mcp_servers", SERVER), value=_server(_server_command(place, "native"), place))
    return (Target(path=path, pieces=(table,)),)


def _json_server(
    path: str, key: str, user: Callable[[Place], str] | None = None, **more: Any
) -> Callable[[Place], tuple[Target, ...]]:
    """Return the targets of a client with one JSON file, at `path` in a project or a home, or at `user`."""

    def targets(place: Place) -> tuple[Target, ...]:
        of_user = os.path.join(place.home, path) if user is None else user(place)
        entry = Entry(path=(key, SERVER), value=_server(_server_command(place, "native"), place, **more))
        return (Target(path=place.either(path, of_user), pieces=(entry,)),)

    return targets


CLIENTS = (
    Client(
        name="claude",
        title="Claude Code",
        targets=_claude,
        reports="it is woken when a task ends, except as claude -p, which has to ask",
    ),
    Client(
        name="opencode",
        title="OpenCode",
        targets=_opencode,
        reports="the plugin reports each end into the session that started the task",
    ),
    Client(name="codex", title="Codex", targets=_codex),
    Client(name="cursor", title="Cursor", targets=_json_server(".cursor/mcp.json", "mcpServers")),
    Client(name="gemini", title="Gemini CLI", targets=_json_server(".gemini/settings.json", "mcpServers")),
    Client(
        name="vscode",
        title="Visual Studio Code",
        targets=_json_server(
            ".vscode/mcp.json",
            "servers",
            lambda place: place.config("Code", "User", "mcp.json"),
            type="stdio",
        ),
    ),
)
NAMES = tuple(each.name for each in CLIENTS)


def named(name: str) -> Client:
    return next(each for each in CLIENTS if each.name == name)
