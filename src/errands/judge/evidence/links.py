"""What a pattern matches, and the symbolic links behind it or below a directory."""

from __future__ import annotations

import os

from errands.judge.programs.globs import may_match
from errands.model.text.regex import is_wild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 50_000  # entries looked at, which takes less than a tenth of a second


class TooMany(Exception):  # noqa: N818  # an answer, not an error
    """There is too much to look at."""


def links_behind(pattern: str) -> tuple[str, ...] | None:
    """Return the matches of an absolute pattern with a link in their path; None if there is too much."""
    found = matches_of(pattern)
    return None if found is None else tuple(path for path, linked in found if linked)


def matches_of(pattern: str) -> list[tuple[str, bool]] | None:
    """Return the matches of an absolute pattern, each with whether a link is part of it.

    None means that there is too much to look at.
    """
    left = [_MOST]
    found = [("/", False)]
    try:
        for part in pattern.strip("/").split("/"):
            found = [after for path, linked in found for after in _matches(path, part, linked, left)]
    except TooMany:
        return None
    return found


def links_below(directory: str) -> tuple[str, ...] | None:
    """Return the links in a directory and all those below it; None if there is too much to look at."""
    left, found, waiting = [_MOST], [], [directory]
    try:
        while waiting:
            for entry in _entries(waiting.pop(), left):
                if entry.is_symlink():
                    found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    except TooMany:
        return None
    return tuple(found)


def _matches(path: str, part: str, linked: bool, left: list[int]) -> Iterator[tuple[str, bool]]:
    if not is_wild(part):
        below = os.path.join(path, part)
        yield below, linked or os.path.islink(below)
        return
    for entry in _entries(path, left):
        if part == "**" and entry.is_dir(follow_symlinks=False):
            # To some shells this means any number of directories.
            yield from _matches(entry.path, part, linked, left)
        if may_match(part, entry.name):
            yield entry.path, linked or entry.is_symlink()
    if part == "**":
        yield path, linked


def _entries(path: str, left: list[int]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                left[0] -= 1
                if left[0] < 0:
                    raise TooMany
                yield entry
    except OSError:
        return  # nothing there to follow
