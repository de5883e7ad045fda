"""The doctor's check of OpenCode's plugin: why OpenCode may be slow to start."""

from __future__ import annotations

import os

from errands.frontends.cli.context import Context
from errands.frontends.cli.doctor import Finding, ok, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "@opencode-ai/plugin"


def client_findings(context: Context) -> Iterator[Finding]:
    """OpenCode installs a package beside any plugin, and waits for it, although ours does not use it."""
    home = context.environ.get("HOME") or os.path.expanduser("~")
    config = context.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for folder in (os.path.join(config, "opencode"), os.path.join(context.cwd, ".opencode")):
        if not os.path.exists(os.path.join(folder, "plugin", "errands.js")):
            continue
        if _has_package(folder) or not os.access(folder, os.W_OK):
            yield ok(f"OpenCode has our plugin in {folder}")
        else:
            yield warn(
                f"OpenCode has not installed {PACKAGE} in {folder} yet: without a network, its first "
                "request waits 70 s at each start",
                "start OpenCode once while you are online (see docs/how-to/opencode.md)",
            )


def _has_package(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "package-lock.json"), encoding="utf-8", errors="replace") as file:
            return PACKAGE in file.read() and os.path.isdir(os.path.join(folder, "node_modules"))
    except OSError:
        return False
