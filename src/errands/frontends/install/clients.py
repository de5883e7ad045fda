"""The clients: which files each of them reads, and what Errands writes there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from errands.frontends.install import claude, opencode
from errands.frontends.install.pieces import Entry, Table
from errands.frontends.install.place import SERVER, Place, server, server_command
from errands.frontends.install.plan import Target
from errands.model.record import record


@record
class Client:
    """A program that can use the tools; `reports` says how it learns of the end of a task.

    `asks` says when it asks before a call of a tool, and `setting` is its own setting against that.
    `leftovers` are its own notes about what is installed.
    """

    name: str
    title: str
    targets: Callable[[Place], tuple[Target, ...]]
    is_server: bool = True  # whether it speaks to our server, which needs a package
    reports: str = "it is not woken when a task ends, and has to ask"
    asks: str = ""
    setting: str = ""
    leftovers: Callable[[Place], tuple[Target, ...]] = lambda _: ()


# Codex: the server, which is given few variables, and calls only what it is told to trust.

_APPROVAL = "default_tools_approval_mode"
# Codex passes on little more than HOME and PATH. Without these the server may use another home, and commands
# lack what they have in a shell. Secrets are not among them: name those that your agents need yourself.
PASSED_ON = (
    "ERRANDS_HOME ERRANDS_RUN_ID XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR "
    "CODEX_HOME CLAUDE_CONFIG_DIR DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY SSH_AUTH_SOCK DOCKER_HOST "
    "KUBECONFIG HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy OLLAMA_HOST TMPDIR TZ EDITOR "
    "VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT NVM_DIR JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME"
).split()


def _codex(place: Place) -> tuple[Target, ...]:
    base = place.environ.get("CODEX_HOME") or os.path.join(place.home, ".codex")
    path = place.either(os.path.join(".codex", "config.toml"), os.path.join(base, "config.toml"))
    trust = {_APPROVAL: "approve"} if place.trust else {}
    words = server_command(place, "native", client="codex")
    value = {**server(words, place), "env_vars": PASSED_ON, **trust}
    table = Table(
        path=("mcp_servers", SERVER), value=value, kept=() if place.trust is False else (_APPROVAL,)
    )
    return (Target(path=path, pieces=(table,)),)


# The others: the server alone.


def _json_server(
    path: str, key: str, user: Callable[[Place], str] | None = None, *, trust: str = "", **more: Any
) -> Callable[[Place], tuple[Target, ...]]:
    """Return the targets of a client with one JSON file, at `path` in a project or a home, or at `user`.

    `trust` is the setting that lets the client call a server's tools without asking.
    """

    def targets(place: Place) -> tuple[Target, ...]:
        of_user = os.path.join(place.home, path) if user is None else user(place)
        value = server(server_command(place, "native"), place, **more)
        if trust and place.trust:
            value[trust] = True
        kept = (trust,) if trust and place.trust is None else ()
        entry = Entry(path=(key, SERVER), value=value, kept=kept)
        return (Target(path=place.either(path, of_user), pieces=(entry,)),)

    return targets


CLIENTS = (
    Client(
        name="claude",
        title="Claude Code",
        targets=claude.targets,
        reports="it is woken when a task ends, except as claude -p, which has to ask",
        asks="Claude Code asks before it uses a tool of Errands, and claude -p refuses to use one",
        setting=f'"{claude.TOOLS}" in permissions.allow',
        leftovers=claude.leftovers,
    ),
    Client(
        name="opencode",
        title="OpenCode",
        targets=opencode.targets,
        is_server=False,
        reports="the plugin reports each end into the session that started the task",
    ),
    Client(
        name="codex",
        title="Codex",
        targets=_codex,
        asks="Codex asks before it calls a tool that starts or ends something, and codex exec refuses it",
        setting=f'{_APPROVAL} = "approve"',
    ),
    Client(name="cursor", title="Cursor", targets=_json_server(".cursor/mcp.json", "mcpServers")),
    Client(
        name="gemini",
        title="Gemini CLI",
        targets=_json_server(".gemini/settings.json", "mcpServers", trust="trust"),
        asks="Gemini CLI asks before it calls a tool, and gemini -p does not even offer them to the model",
        setting="trust: true",
    ),
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
