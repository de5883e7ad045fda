"""A workspace: what the judge may ask about the place where a command would run.

The judge itself does no input or output. The real answers are read from disk (`evidence.local_workspace`).
"""

from __future__ import annotations

from errands.model.record import record

# In a project, these decide what programs outside of a sandbox run: they are read-only inside.
PROTECTED = (
    ".git", ".hg", ".jj", ".claude", ".codex", ".agents", ".opencode", ".gemini", ".cursor", ".vscode",
    ".idea", ".mcp.json", "opencode.json", "opencode.jsonc", ".envrc", ".husky", "errands.toml", ".svn",
    ".sl", ".zed", ".windsurf", ".kiro", ".roo", ".qwen", ".amazonq", ".aider.conf.yml", ".crush.json",
    "crush.json", ".devcontainer", ".devcontainer.json", ".dir-locals.el", ".dir-locals-2.el", ".exrc",
    ".nvimrc", ".nvim.lua", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise",
    ".augment", ".codebuddy", ".continue", ".copilot", ".factory", ".goose", ".iflow", ".junie", ".kilocode",
    ".openhands", ".qoder", ".trae", ".amp", ".cline", ".fleet", ".grok", ".helix", ".lazy.lua", ".pi",
    ".tool-versions", ".vibe", ".vim",
)  # fmt: skip
# Tools, and what they have fetched already, in a person's home directory: a sandbox can read them.
TOOLS = (
    ".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".rustup", ".pyenv", ".nvm", ".volta",
    ".asdf", ".rbenv", ".sdkman", ".local/bin", ".local/lib", ".local/share/uv", ".local/share/mise",
    ".local/share/pnpm", ".local/pipx", ".local/share/pipx", ".bun", ".deno", "go/pkg/mod", "go/bin",
    ".go/bin", ".m2/repository", ".gradle/wrapper", ".dotnet", ".nuget/packages", "miniconda3",
    "anaconda3", "miniforge3",
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from errands.model.verdict import Reason

    class Workspace(Protocol):
        """Directories are absolute and have no trailing slash; `shell` is the program that reads a line."""

        @property
        def cwd(self) -> str: ...
        @property
        def project(self) -> str: ...
        @property
        def home(self) -> str: ...
        @property
        def shell(self) -> str: ...

        @property
        def known(self) -> dict[tuple[object, ...], Reason | None]:
            """What has been found out about places here, for as long as a judgement takes."""

        @property
        def is_own_home(self) -> bool:
            """Whether `home` is the person's own, and not one that a caller made up."""

        @property
        def is_home_plain(self) -> bool:
            """Whether `$HOME` is set to `home`, and means the same as `~` even without quotes."""

        def shell_doubt(self) -> str:
            """Return why the program that reads a line is not trusted; "" if it is."""

        def git_dangers(self, directory: str) -> tuple[str, ...]:
            """Return what makes the repository that git would use there run other programs."""

        def git_has_passwords(self, directory: str) -> bool:
            """Return whether addresses that git shows there may have a password or a token in them."""

        def is_same_repository(self, directory: str) -> bool:
            """Return whether git surely uses the same repository in `cwd` as in that directory."""

        def program(self, name: str) -> FoundProgram:
            """Find a program by its bare name, the way the shell does."""

        def real(self, path: str) -> str:
            """Resolve every symbolic link in a path relative to `cwd`; it need not exist."""

        def linked(self, place: str, *, below: bool) -> tuple[str, ...] | None:
            """Return the matches of a pattern, or all that is `below` a directory, that lead through a link.

            None means that there is too much to look at.
            """

        def matching(self, pattern: str) -> tuple[str, ...] | None:
            """Return the paths that a pattern matches now; None means that there is too much to look at."""

        def is_directory(self, path: str) -> bool:
            """Return whether a path is a directory, or leads to one."""

        def stranger(self, path: str) -> str:
            """Return a place, or what is directly in it, if that belongs to another user; "" if none does."""

        def at(self, directory: str) -> Workspace:
            """Return the same workspace, seen from another directory."""


@record
class FoundProgram:
    """Where a bare name leads: `path` is empty if no program has that name, `doubt` is why not to trust it.

    `own` means that the only doubt is a virtual environment that this person made.
    """

    path: str = ""
    doubt: str = ""
    own: bool = False


def is_within(path: str, directory: str) -> bool:
    """Return whether an absolute, normalised path is a directory or lies inside it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
