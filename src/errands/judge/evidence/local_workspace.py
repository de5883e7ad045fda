"""The workspace of a command, read from this machine: programs on the path, repositories, links.

It is made for the judgements of one call and caches what it reads. What cannot be read is a danger.
"""

from __future__ import annotations

import os
import pwd
import stat
from itertools import islice

from errands.judge.evidence.evidence import DEFAULT_PATH, fingerprint, inner_print, search_path
from errands.judge.evidence.links import links_behind, links_below, matches_of
from errands.judge.evidence.repositories import Repositories, upwards
from errands.judge.workspace import FoundProgram, is_within
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from errands.model.verdict import Reason

# What marks the top of a project; an earlier row wins.
_MARKS = (
    ("errands.toml",),
    (".git",),
    ("pyproject.toml", "setup.py", "package.json", "Cargo.toml", "go.mod"),
)
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/snap",
    "/System",
    "/Library",
)
_MOST_ENTRIES = 2_000  # of a directory whose owners are checked
_PLAIN = regex(r"(?a)/[\w./+@%,-]*")  # no shell splits or expands such a path
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp")


class LocalWorkspace:
    """The `Workspace` that this machine offers now; `VARIABLES` are those that it depends on."""

    VARIABLES = ("HOME", "XDG_CONFIG_HOME", "PATH")

    def __init__(
        self, cwd: str, environment: Mapping[str, str], *, project: str = "", shell: str = "/bin/bash"
    ) -> None:
        self.cwd = os.path.abspath(cwd)
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self._home_variable = environment.get("HOME", "")
        self.project = os.path.abspath(project) if project else _project(self.cwd, self.home)
        self.shell = shell
        self._settings = environment.get("XDG_CONFIG_HOME") or f"{self.home}/.config"
        self._path = environment.get("PATH", DEFAULT_PATH)
        self.known: dict[tuple[object, ...], Reason | None] = {}
        self._programs: dict[tuple[str, str], FoundProgram] = {}
        self._repositories: dict[str, Repositories] = {}
        self._real: dict[str, str] = {}
        self._shell_doubt: str | None = None
        self._prints: dict[str, str] = {}
        self._index_prints: dict[str, str] = {}

    def at(self, directory: str) -> LocalWorkspace:
        there = object.__new__(LocalWorkspace)
        there.__dict__.update(self.__dict__, cwd=directory)
        return there

    def real(self, path: str) -> str:
        path = os.path.join(self.cwd, path)
        found = self._real.get(path)
        if found is None:
            try:
                found = os.path.realpath(path)
            except ValueError:  # not a possible file name
                found = os.path.normpath(path)
            self._real[path] = found
        return found

    def program(self, name: str) -> FoundProgram:
        known = self._programs.get((name, self.cwd))
        if known is None:
            known = self._programs[name, self.cwd] = self._find(name)
        return known

    def fingerprint(self, file: str) -> str:
        """Return the content of a file as first seen: a change since must not pass for what was judged."""
        if file not in self._prints:
            self._prints[file] = fingerprint(file)
        return self._prints[file]

    def index_print(self, index: str) -> str:
        """Return the repositories inside of another as first seen, likewise."""
        if index not in self._index_prints:
            self._index_prints[index] = inner_print(index)
        return self._index_prints[index]

    def git_dangers(self, directory: str) -> tuple[str, ...]:
        return tuple(self.repositories(directory).dangers)

    def git_has_passwords(self, directory: str) -> bool:
        return self.repositories(directory).has_passwords

    def is_same_repository(self, directory: str) -> bool:
        top = _top(self.cwd)
        return top != "" and os.path.isdir(self.cwd) and top == _top(directory)

    def repositories(self, directory: str) -> Repositories:
        """Return what git would use in a directory."""
        path = os.path.join(self.cwd, directory)
        known = self._repositories.get(path)
        if known is None:
            own = self._git_settings(own=True)
            known = self._repositories[path] = Repositories(path, self._git_settings(own=False), own)
        return known

    def _git_settings(self, *, own: bool) -> Iterator[str]:
        """Yield git's configuration in this person's own home, or in another, because HOME may be forged."""
        home = own_home()
        for directory in (self.home, self._settings):
            if (bool(home) and is_within(self.real(directory), home)) == own:
                yield f"{directory}/.gitconfig"
                yield f"{directory}/git/config"
        if own:
            yield "/etc/gitconfig"

    def linked(self, place: str, *, below: bool) -> tuple[str, ...] | None:
        place = os.path.join(self.cwd, place)
        return links_below(place) if below else links_behind(place)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        found = matches_of(os.path.join(self.cwd, pattern))
        return None if found is None else tuple(path for path, _ in found)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(os.path.join(self.cwd, path))

    def shell_doubt(self) -> str:
        if self._shell_doubt is None:
            self._shell_doubt = self._doubt_of_shell()
        return self._shell_doubt

    def _doubt_of_shell(self) -> str:
        """Look at the whole path of the shell: its name alone says nothing about what it does."""
        if "/" not in self.shell:
            return self.program(self.shell).doubt
        if not self.shell.startswith("/"):
            return "its path is not absolute"
        real = self.real(self.shell)
        if doubt := _others_doubt(self.shell, real) or self._doubt(self.shell):
            return doubt
        return "" if _is_system(real) or os.stat(real).st_uid == 0 else f"{real} is not part of the system"

    @property
    def is_home_plain(self) -> bool:
        return _PLAIN.fullmatch(self._home_variable) is not None

    @property
    def is_own_home(self) -> bool:
        home = own_home()
        return bool(home) and all(is_within(self.real(each), home) for each in (self.home, self._settings))

    def stranger(self, path: str) -> str:
        path = os.path.join(self.cwd, path)
        try:
            with os.scandir(path) as entries:
                places = [path, *(entry.path for entry in islice(entries, _MOST_ENTRIES))]
        except OSError:
            places = [path]
        return next((place for place in places if _is_strangers(place)), "")

    def _find(self, name: str) -> FoundProgram:
        entry, path = search_path(name, self._path, self.cwd)
        if not path:
            return FoundProgram()
        if not entry.startswith("/"):
            return FoundProgram(path=path, doubt="the search path has a directory that is not absolute")
        if doubt := _others_doubt(path, self.real(path)):
            return FoundProgram(path=path, doubt=doubt)
        doubt = self._doubt(path)
        return FoundProgram(path=path, doubt=doubt, own=bool(doubt) and _is_in_environment(path))

    def doubt_of_entry(self, entry: str) -> str:
        """Return why not to trust all programs in a directory of the search path; "" to trust them."""
        if not entry.startswith("/"):
            return "it is not absolute"
        return _others_doubt(entry, self.real(entry)) or self._doubt(os.path.join(entry, "program"))

    def _doubt(self, path: str) -> str:
        """Return why anything could have put a program there; "" if nothing could."""
        for each in (path, self.real(path)):
            if _is_in_project(each, self.project) or _is_in_project(each, self.real(self.project)):
                return f"{path} is inside the project"
            if _is_system(each):
                continue
            if any(is_within(each, directory) for directory in TEMPORARY):
                return f"{path} is in a temporary directory"
            if self._is_in_a_project(each):
                return f"{path} is inside another project"
        return ""

    def _is_in_a_project(self, path: str) -> bool:
        """Return whether a program is in a work tree; tools in a hidden directory of the home are not."""
        for home in (self.home, own_home()):
            if home and is_within(path, home) and path[len(home) :].startswith("/."):
                return False
        directory = os.path.dirname(path)
        return is_marked(_project(directory, self.home))


def trusted_path(cwd: str, environment: Mapping[str, str], *, distrusted: str) -> str:
    """Return the entries of a search path that only trusted programs can be in, none of them `distrusted`.

    What a program starts by its bare name is found nowhere else, so it is trusted, too.
    """
    workspace = LocalWorkspace(cwd, environment)
    entries = dict.fromkeys(environment.get("PATH", DEFAULT_PATH).split(":"))
    found = [
        entry
        for entry in entries
        if not workspace.doubt_of_entry(entry) and not is_within(workspace.real(entry), distrusted)
    ]
    return ":".join(found) or DEFAULT_PATH


def _is_strangers(path: str) -> bool:
    try:
        return os.lstat(path).st_uid not in (0, os.geteuid())
    except OSError:
        return False  # there is nothing to run


def _others_doubt(path: str, real: str) -> str:
    """Return how another user could have put a program there; "" if none could."""
    for each in dict.fromkeys((path, os.path.dirname(path), real, os.path.dirname(real))):
        try:
            found = os.stat(each)
        except OSError as error:
            return f"{each} cannot be checked ({error.strerror})"
        if found.st_mode & stat.S_IWOTH:
            return f"everyone may write to {each}"
        # In a user namespace the system's files may seem to belong to any user.
        if found.st_uid not in (0, os.geteuid()) and not _is_system(each):
            return f"{each} belongs to another user"
    return ""


def _is_in_environment(path: str) -> bool:
    """Return whether a program is in a virtual environment of Python."""
    return os.path.isfile(os.path.join(os.path.dirname(os.path.dirname(path)), "pyvenv.cfg"))


def _top(directory: str) -> str:
    """Return the directory with the `.git` that git finds; "" if there is none, or more than that to see."""
    if os.path.realpath(directory) != directory:
        return ""
    for each in upwards(directory):
        if os.path.lexists(f"{each}/.git"):
            return each
        if os.path.lexists(f"{each}/HEAD"):  # it may be a repository itself
            return ""
    return ""


def _project(cwd: str, home: str) -> str:
    """Return the project that a directory belongs to: the directory itself, if nothing above it is marked.

    A home directory, or one that everyone may write to, is never the project of what is inside it.
    """
    above = [
        directory
        for directory in upwards(cwd)
        if directory == cwd or not (is_within(home, directory) or directory in TEMPORARY)
    ]
    for marks in _MARKS:
        for directory in above:
            if any(os.path.lexists(os.path.join(directory, mark)) for mark in marks):
                return directory
    return cwd


def is_marked(directory: str) -> bool:
    """Return whether something in a directory says that it is a project."""
    return any(os.path.lexists(f"{directory}/{mark}") for marks in _MARKS for mark in marks)


def own_home() -> str:
    """Return the home directory in the system's user database; "" if there is none."""
    try:
        home = os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""
    return "" if home == "/" else home


def _is_in_project(path: str, project: str) -> bool:
    """Return whether a program is in the project; one whose project has the system in it is not."""
    return is_within(path, project) and not any(is_within(each, project) for each in DEFAULT_PATH.split(":"))


def _is_system(path: str) -> bool:
    return any(is_within(path, directory) for directory in _SYSTEM)
