"""Repositories of git in a sandbox: those of linked work trees, and what their settings name in a project."""

from __future__ import annotations

import os

from errands.engine.walls.bubblewrap import bound
from errands.judge.evidence.gitconfig import Unreadable, read_settings
from errands.judge.workspace import is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 1_000_000
_DEEPEST = 4  # files of settings that include each other


def named_by(project: str) -> list[str]:
    """Return what git at the top of a project is led to in it: its repository, more settings, hooks."""
    marker = f"{project}/.git"
    repository, common = _repository(marker) if os.path.isfile(marker) else (marker, marker)
    if not common:
        return []
    found = [common] if common != marker else []
    for settings in (f"{common}/config", f"{repository}/config.worktree"):
        found += _named_in(settings, project, depth=0)
    return [each for each in dict.fromkeys(found) if is_within(each, project) and each != project]


def _named_in(file: str, project: str, *, depth: int) -> Iterator[str]:
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be a FIFO
        try:
            settings = read_settings(os.read(opened, _LARGEST).decode("utf-8", "surrogateescape"))
        finally:
            os.close(opened)
    except (OSError, Unreadable):
        return
    for each in settings:
        value = os.path.expanduser(each.value)
        if each.name == "core.hookspath":
            yield os.path.normpath(os.path.join(project, value))
        elif each.section in ("include", "includeif") and each.key == "path":
            included = os.path.normpath(os.path.join(os.path.dirname(file), value))
            yield included
            if depth < _DEEPEST:
                yield from _named_in(included, project, depth=depth + 1)


def _repository(marker: str) -> tuple[str, str]:
    """Return where a `.git` that is a file leads: the repository of this work tree, and the one it shares."""
    try:
        with open(marker, encoding="utf-8", errors="surrogateescape") as file:
            word, _, place = file.read(4096).strip().partition(" ")
        place = os.path.realpath(os.path.join(os.path.dirname(marker), place))
        common = place
        if os.path.isfile(f"{place}/commondir"):
            with open(f"{place}/commondir", encoding="utf-8", errors="surrogateescape") as file:
                common = os.path.realpath(os.path.join(place, file.read(4096).strip()))
    except (OSError, ValueError):
        return "", ""
    return (place, common) if word == "gitdir:" else ("", "")


def repository_words(marker: str, project: str) -> Iterator[str]:
    """Show the repository of a linked work tree, whose `.git` is a file that leads to it, read-only."""
    place, common = _repository(marker)
    if (
        place
        and is_within(place, common)
        and _is_repository(common)
        and ((is_within(common, project) and common != project) or _leads_back(place, marker))
    ):
        yield from bound(common, common)


def _leads_back(place: str, marker: str) -> bool:
    """Return whether a repository knows this work tree: a run could write a `.git` that leads anywhere."""
    try:
        with open(f"{place}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
            return os.path.realpath(os.path.join(place, file.read(4096).strip())) == os.path.realpath(marker)
    except OSError:
        pass
    try:
        with open(f"{place}/config", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.partition("=") for line in file.read(65536).splitlines()]
    except OSError:
        return False
    trees = [value.strip() for key, _, value in lines if key.strip().lower() == "worktree"]
    tree = os.path.dirname(os.path.realpath(marker))
    return any(os.path.realpath(os.path.join(place, each)) == tree for each in trees)


def _is_repository(directory: str) -> bool:
    return os.path.isfile(f"{directory}/HEAD") and all(
        os.path.isdir(f"{directory}/{name}") for name in ("objects", "refs")
    )
