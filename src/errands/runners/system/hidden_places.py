"""Hidden places: where a home directory keeps secrets, and the store of Errands.

A command that only reads cannot open what is there. Landlock can only allow, so everything beside those
places is allowed: the other entries of each directory on the way to one.
"""

from __future__ import annotations

import os
import time

from errands.model.text.secret_files import ANYWHERE, NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Below a home directory, those with a name that begins with a dot; a home may be a repository of its own.
_PLACES = tuple(
    tuple(place.split("/"))
    for place in (*ANYWHERE, *NAMES)
    if place[0] == "." and not place.startswith(".git/")
)
_TICK = 20_000_000  # nanoseconds; what changes again so soon may keep its time


class Readable:
    """What a command may read that is started in a directory; what can be listed was listed just now."""

    def __init__(self, home: str, cwd: str, store: str) -> None:
        """`home` is the user's, `store` the folder of the store."""
        self._home = home
        self._times: dict[str, int] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._looked = time.time_ns()
        self._places = tuple({os.path.realpath(path) for path in (*self._all_found(), store)})
        self._spared = self._around(cwd)
        self.paths = self._paths()

    def is_still_true(self, home: str, cwd: str) -> bool:
        """Return whether the same may be read now: nothing was made beside those places or moved there."""
        return (self._home, self._spared) == (home, self._around(cwd)) and all(
            _changed(path) == changed < self._looked - _TICK for path, changed in self._times.items()
        )

    def _around(self, cwd: str) -> tuple[str, ...]:
        """Return the places that a project is in, which is readable wherever it is."""
        real = os.path.realpath(cwd)
        return tuple(path for path in self._places if _is_within(real, path))

    def _paths(self) -> tuple[str, ...]:
        home = os.path.realpath(self._home)
        # A link may lead from such a place to all of a home.
        hidden = {path for path in self._places if path not in self._spared and not _is_within(home, path)}
        if not hidden:
            return ("/",)
        ways = {way for path in hidden for way in _ways_to(path)}
        return tuple(
            path
            for way in sorted(ways)
            for path in (f"{way.rstrip('/')}/{name}" for name in self._listed(way))
            if path not in hidden and path not in ways
        )

    def _all_found(self) -> Iterator[str]:
        if self._home.startswith("/"):
            home = os.path.realpath(self._home)
            for place in _PLACES:
                yield from self._found(home, place)

    def _found(self, directory: str, place: tuple[str, ...]) -> Iterator[str]:
        for name in self._listed(directory):
            if _is_like(name.lower(), place[0]):
                path = f"{directory.rstrip('/')}/{name}"
                if len(place) == 1:
                    yield path
                else:
                    yield from self._found(path, place[1:])

    def _listed(self, directory: str) -> tuple[str, ...]:
        if directory not in self._names:
            self._times[directory] = _changed(directory)
            try:
                self._names[directory] = tuple(os.listdir(directory))
            except OSError:
                self._names[directory] = ()
        return self._names[directory]


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _ways_to(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path


def _is_like(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern with at most one `*`."""
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
