"""Projects: which directories a sandbox may write to, and what in them decides what runs outside."""

from __future__ import annotations

import os

from errands.judge.evidence.local_workspace import TEMPORARY, is_marked, own_home
from errands.judge.workspace import PROTECTED, is_within
from errands.model.errors import BadValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Directories of the system. Below them, only what is marked as a project is one; below /etc, nothing is.
_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/gnu", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt",
    "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr", "/usr/lib", "/usr/local", "/usr/share",
    "/usr/src", "/var", "/var/lib",
)  # fmt: skip
_MINE = ("/home", "/root")  # what is in them are home directories and projects
# Tools that keep work trees in a hidden directory of the home do so below one of these names.
_WORK_TREES = frozenset(("worktree", "worktrees"))
# Packages and caches: a repository in them is not a project.
_SKIPPED = frozenset(
    """node_modules .venv venv site-packages target __pycache__ .cache .tox .nox .mypy_cache .pytest_cache
    .ruff_cache .next .gradle .terraform""".split()
)
_MOST_DIRECTORIES = 1_000  # looked at in one project, those near its top first
_PROTECTED = frozenset(PROTECTED)
# Without O_PATH, which only Linux has, a file that is opened could be a FIFO, and block.
_LOOK = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_CLOEXEC


def resolved(path: str) -> str:
    """Return a path without links, which the kernel resolves three times faster than `os.path.realpath`."""
    try:
        file = os.open(path, _LOOK)
    except OSError:
        return os.path.realpath(path)
    try:
        return os.readlink(f"/proc/self/fd/{file}")
    except OSError:
        return os.path.realpath(path)
    finally:
        os.close(file)


def check_project(project: str, *, home: str, path: str = "", real: str = "") -> None:
    """Refuse a directory that is more than a project, because all of it would be writable.

    `home` is that of Errands, `path` the search path of the caller, `real` where the project leads.
    """
    real = real or resolved(project)
    homes = {resolved(each) for each in (own_home(), os.environ.get("HOME", "")) if each}
    homes.discard("/")  # some accounts have `/` in the password file
    if real == "/" or any(is_within(each, real) for each in homes):
        raise BadValue(f"a sandbox may not write to all of {project}; run this in a project below it")
    if home and is_within(real, resolved(home)):
        raise BadValue(f"{project} belongs to Errands itself; start a sandbox in another directory")
    if real in TEMPORARY or real in _SYSTEM:
        raise BadValue(f"a sandbox may not write to all of {project}, which is shared; use a directory below")
    if any(_is_setting(real, each) for each in homes):
        raise BadValue(
            f"a sandbox may not write to {project}, where your programs and their settings are; "
            "use another directory"
        )
    is_system = any(is_within(real, each) for each in _SYSTEM if each not in _MINE)
    is_temporary = any(is_within(real, each) for each in TEMPORARY)
    if is_within(real, "/etc") or (is_system and not is_marked(real) and not is_temporary):
        raise BadValue(f"a sandbox may not write to {project}, which belongs to the system; use another")
    if real in _entries(path):
        raise BadValue(f"a sandbox may not write to {project}, which is in your PATH; use another directory")
    if _is_inside_repository(real):
        raise BadValue(f"a sandbox may not write to {project}, which is git's own; use one of its work trees")


def has_repository(directory: str) -> bool:
    """Return whether git takes a directory for a work tree; it does not look at an empty `.git`."""
    return os.path.isfile(f"{directory}/.git") or os.path.lexists(f"{directory}/.git/HEAD")


def _is_inside_repository(real: str) -> bool:
    """Return whether git takes this directory, or one above it, for a repository without a work tree."""
    while not has_repository(real):
        if os.path.lexists(f"{real}/HEAD") and all(
            os.path.isdir(f"{real}/{name}") for name in ("objects", "refs")
        ):
            return True
        above = os.path.dirname(real)
        if above == real:
            return False
        real = above
    return False


def programs_below(project: str, path: str) -> list[str]:
    """Return the directories of the search path in a project; those of its own are not among them.

    What a person marked as a project may have its programs anywhere.
    """
    if is_marked(project):
        return []
    found = [each for each in _entries(path) if is_within(each, project) and each != project]
    return [each for each in found if not _is_of_project(each)]


def _entries(path: str) -> set[str]:
    """Return where the caller's search path and our own lead."""
    entries = {*path.split(":"), *os.environ.get("PATH", "").split(":")}
    return {resolved(entry) for entry in entries if entry.startswith("/")}


def settings_below(project: str) -> Iterator[str]:
    """Yield protected names in the directories of a project, such as repositories inside of it.

    Those at its top are not among them. Links are not followed; they are protected where they lead, or not
    in the project at all.
    """
    waiting, seen = [project], 0
    while waiting and seen < _MOST_DIRECTORIES:
        following: list[str] = []
        for directory in waiting[: _MOST_DIRECTORIES - seen]:
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        name = entry.name
                        if name in _PROTECTED:
                            if directory is not project and not entry.is_symlink():
                                yield entry.path
                        elif name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                            following.append(entry.path)
            except OSError:
                continue  # it is not readable for the run either, or it is gone
        seen += len(waiting)
        waiting = following


def _is_setting(real: str, home: str) -> bool:
    """Return whether a directory is in a hidden one of a home directory, or has its programs."""
    if not is_within(real, home):
        return False
    first, *rest = real[len(home) + 1 :].split("/")
    if first == "bin":
        return True
    return first.startswith(".") and not (_WORK_TREES.intersection(rest[:-1]) and is_marked(real))


def _is_of_project(entry: str) -> bool:
    """Return whether an entry of the search path has the programs that a project installed for itself."""
    return entry.endswith("/node_modules/.bin") or os.path.isfile(f"{os.path.dirname(entry)}/pyvenv.cfg")
