"""Where Errands is installed, and how a client starts it.

A client starts the server with the Python that ran the installation, whatever its own environment is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from errands.model.record import record

SERVER = "errands"


@record
class Place:
    """Where to install: for a person (`project` is None) or in a project.

    `trust` says whether the client passes our tools without asking; None leaves that as it is.
    """

    environ: Mapping[str, str]
    project: str | None = None
    dialect: str | None = None
    trust: bool | None = None

    @property
    def home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")

    def config(self, *names: str) -> str:
        base = self.environ.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
        return os.path.join(base, *names)

    def either(self, project: str, user: str) -> str:
        return user if self.project is None else os.path.join(self.project, project)


def command(*words: str) -> list[str]:
    """Return a command line of Errands; `-P`, because a project may have files named like modules."""
    return [sys.executable, "-P", "-m", "errands", *words]


def server_command(place: Place, default: str, *, client: str = "") -> list[str]:
    words = ("client", client, "mcp") if client else ("mcp",)
    return command(*words, "--dialect", place.dialect or default)


def environment(place: Place) -> dict[str, str]:
    """Return the variables that a program started outside a shell would miss."""
    home = place.environ.get("ERRANDS_HOME")
    return {"ERRANDS_HOME": os.path.abspath(home)} if home else {}


def server(words: list[str], place: Place, **more: Any) -> dict[str, Any]:
    """Describe the server in the form that most clients use."""
    env = environment(place)
    return {**more, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


def packaged(*names: str) -> str:
    """Return the text of a file that is part of the package."""
    return files("errands.frontends.install").joinpath("files", *names).read_text(encoding="utf-8")
