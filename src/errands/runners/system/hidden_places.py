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

# Below a home directory, those with a name that begins with a dot; a home may be a repository of its own. Not
# those in any directory of another, such as each cache: all of them would be looked at again for each change.
_PLACES = tuple(
    tuple(place.split("/"))
    for place in (*ANYWHERE, *NAMES)
    if place[0] == "." and not place.startswith(".git/") and "*/" not in place
)
_TICK = 2_000_000_000  # nanoseconds; what changes again so soon may keep its time, on some disks


class Readable:
    """What a command that starts in a directory may read, going by what is on disk just now."""

    def __init__(self, home: str, cwd: str, store: str) -> None:
        """`home` is the user's, `store` the folder of the store."""
        self._home = home
        self._times: dict[str, int] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._closed: set[str] = set()  # directories that the user may enter but not list
        self._looked = time.time_ns()
        found = {path: os.path.realpath(path) for path in (*self._all_found(), store)}
        real_home = os.path.realpath(home) if home.startswith("/") else home
        self._links = {path: real for path, real in (*found.items(), (home, real_home)) if real != path}
        # A link may lead from such a place to all of a home.
        places = [real for path, real in found.items() if path == store or not _is_within(real_home, real)]
        self._places = frozenset(_with_other_names(places))
        self._spared = self._around(cwd)
        self.paths = self._paths(cwd)

    def is_still_true(self, home: str, cwd: str) -> bool:
        """Return whether the same may be read now: nothing was made beside those places or moved there."""
        if any(os.path.realpath(path) != real for path, real in self._links.items()):
            return False
        return (self._home, self._spared) == (home, self._around(cwd)) and all(
            _changed(path) == changed < self._looked - _TICK for path, changed in self._times.items()
        )

    def _around(self, cwd: str) -> frozenset[str]:
        """Return what a project is in that is in such a place: a project is readable wherever it is.

        That is one entry of the place, so that a key beside the work trees of an agent stays hidden. Where
        nothing can be listed, it is the only one that is known.
        """
        real = os.path.realpath(cwd)
        return frozenset(
            entry
            for place in (*self._places, *self._closed)
            if _is_within(real, place)
            for entry in (f"{place}{'/'.join(real[len(place) :].split('/')[:2])}",)
            if place in self._places or entry not in self._places
        )

    def _paths(self, cwd: str) -> tuple[str, ...]:
        hidden = self._places - self._spared
        if not hidden:
            return ("/",)
        ways = {way for path in hidden for way in _ways_to(path)}
        # As few objects as possible: what a shim once used for them stays with it.
        found = [
            path
            for way in ways
            if self._is_readable(way, hidden)
            for name in self._listed(way)
            if (path := f"{way.rstrip('/')}/{name}") not in hidden and path not in ways
        ]
        self._names.clear()
        self._spared = self._around(cwd)
        found += self._spared - hidden - ways
        return tuple(found)

    def _is_readable(self, path: str, hidden: frozenset[str]) -> bool:
        """Return whether the innermost of all that a path is in is not hidden: one may be in another."""
        around = (each for each in (path, *_ways_to(path)) if each in hidden or each in self._spared)
        return next(around, "") not in hidden

    def _all_found(self) -> Iterator[str]:
        if self._home.startswith("/"):
            home = os.path.realpath(self._home)
            for place in _PLACES:
                yield from self._found(home, place)

    def _found(self, directory: str, place: tuple[str, ...]) -> Iterator[str]:
        names = self._listed(directory)
        if directory in self._closed:
            yield directory  # it may have such a place
        for name in names:
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
            except OSError as error:
                self._names[directory] = ()
                if isinstance(error, PermissionError):
                    self._closed.add(directory)
        return self._names[directory]


def read_mounts(file: str = "/proc/self/mountinfo") -> list[tuple[str, str, str]]:
    """Return of each mount its device, what of that it shows, and where; the latest first."""
    try:
        table = os.open(
            file, os.O_RDONLY | os.O_CLOEXEC
        )  # what `open` makes would stay in every shim, 0.2 MB
    except OSError:
        return []
    text = b""
    while piece := os.read(table, 4096):
        text += piece
    os.close(table)
    found = []
    for line in reversed(os.fsdecode(text).splitlines()):
        device, root, point = line.split(" ", 5)[2:5]
        found.append((device, _unescaped(root), _unescaped(point)))
    return found


def names_of(path: str, mounts: list[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a real path and its other names, where the same is mounted again; a rule holds for all."""
    yield path
    around = [mount for mount in mounts if _is_within(path, mount[2])]
    if around:
        device, root, point = max(around, key=lambda mount: len(mount[2]))
        inner = _moved(path, point, root)
        for other, shown, where in mounts:
            if other == device and _is_within(inner, shown):
                yield _moved(inner, shown, where)


def _with_other_names(paths: list[str]) -> set[str]:
    mounts = read_mounts()
    return {name for path in paths for name in names_of(path, mounts)}


def _moved(path: str, before: str, after: str) -> str:
    return f"{after.rstrip('/')}{path[len(before.rstrip('/')) :]}" or "/"


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, letter)
    return text


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns  # unlike the time of what is in it, nobody can set it back
    except OSError:
        return 0


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


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
