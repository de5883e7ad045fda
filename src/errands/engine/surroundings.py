"""The surroundings of a command, read from this machine: programs on the path, repositories, links.

Made for one judgement and thrown away: what it has read it reads only once. What cannot be read is a danger.
"""

from __future__ import annotations

import os
import pwd
import stat

from errands.model.risk.gitconfig import Unreadable, danger, read_settings
from errands.model.risk.surroundings import Program, is_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What marks the top of a project; a kind that stands earlier counts more.
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
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LARGEST = 1_000_000
_DEEPEST = 4
# The hook that git runs when it refreshes its index, which even `git status` does.
_READING_HOOK = "post-index-change"
_GITLINK = b"\x00\x00\xe0\x00"


class Here:
    """Surroundings (`errands.model.risk.surroundings`) as they are on this machine now."""

    def __init__(
        self, cwd: str, environment: Mapping[str, str], *, project: str = "", shell: str = "/bin/bash"
    ) -> None:
        self.cwd = os.path.abspath(cwd)
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.project = os.path.abspath(project) if project else _project(self.cwd, self.home)
        self.shell = shell
        self._settings = environment.get("XDG_CONFIG_HOME") or f"{self.home}/.config"
        self._path = environment.get("PATH", _DEFAULT_PATH)
        self._programs: dict[tuple[str, str], Program] = {}
        self._dangers: dict[str, tuple[str, ...]] = {}

    def at(self, directory: str) -> Here:
        there = object.__new__(Here)
        there.__dict__.update(self.__dict__, cwd=directory)
        return there

    def real(self, path: str) -> str:
        path = os.path.join(self.cwd, path)
        try:
            return os.path.realpath(path)
        except ValueError:  # no file can have such a name
            return os.path.normpath(path)

    def program(self, name: str) -> Program:
        known = self._programs.get((name, self.cwd))
        if known is None:
            known = self._programs[name, self.cwd] = self._find(name)
        return known

    def git_dangers(self, directory: str) -> tuple[str, ...]:
        known = self._dangers.get(directory)
        if known is None:
            found = (*self._foreign_dangers(), *_discovered(os.path.join(self.cwd, directory)))
            known = self._dangers[directory] = tuple(dict.fromkeys(found))
        return known

    def _foreign_dangers(self) -> Iterator[str]:
        """Look at git's configuration in a home that is not this person's: somebody may have set HOME."""
        own = _own_home()
        for directory in (self.home, self._settings):
            if own and is_within(self.real(directory), own):
                continue
            for name in (f"{directory}/.gitconfig", f"{directory}/git/config"):
                yield from _dangers_of(name)

    def _find(self, name: str) -> Program:
        for entry in self._path.split(":"):
            path = os.path.join(self.cwd, entry, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                if not entry.startswith("/"):
                    return Program(path=path, doubt="the search path has a directory that is not absolute")
                if doubt := _others_doubt(path):
                    return Program(path=path, doubt=doubt)
                doubt = self._doubt(path)
                return Program(path=path, doubt=doubt, own=bool(doubt) and _is_in_environment(path))
        return Program()

    def _doubt(self, path: str) -> str:
        """Say why a program stands where anything may have been put."""
        for each in (path, os.path.realpath(path)):
            if _is_system(each):
                continue
            if is_within(each, self.project) or is_within(each, os.path.realpath(self.project)):
                return f"{path} stands in the project"
            if any(is_within(each, directory) for directory in _TEMPORARY):
                return f"{path} stands in a temporary directory"
        return ""


def _others_doubt(path: str) -> str:
    """Say how somebody else could have put a program there."""
    real = os.path.realpath(path)
    for each in dict.fromkeys((path, os.path.dirname(path), real, os.path.dirname(real))):
        try:
            found = os.stat(each)
        except OSError as error:
            return f"{each} cannot be looked at ({error.strerror})"
        if found.st_mode & stat.S_IWOTH:
            return f"everybody may write to {each}"
        # In a namespace of its own the system's files may seem to be anybody's.
        if found.st_uid not in (0, os.geteuid()) and not _is_system(each):
            return f"{each} belongs to somebody else"
    return ""


def _is_in_environment(path: str) -> bool:
    """Tell whether a program stands in a virtual environment of Python."""
    return os.path.isfile(os.path.join(os.path.dirname(os.path.dirname(path)), "pyvenv.cfg"))


def _project(cwd: str, home: str) -> str:
    """Find the project that a directory belongs to: itself, if nothing above it is marked.

    A home, or a place where everybody writes, is no project of what stands in it.
    """
    above = [
        directory
        for directory in _upwards(cwd)
        if directory == cwd or not (is_within(home, directory) or directory in _TEMPORARY)
    ]
    for marks in _MARKS:
        for directory in above:
            if any(os.path.lexists(os.path.join(directory, mark)) for mark in marks):
                return directory
    return cwd


def _own_home() -> str:
    """Give the home that the system knows for this person; empty if it knows none."""
    try:
        home = os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""
    return "" if home == "/" else home


def _upwards(directory: str) -> Iterator[str]:
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _is_system(path: str) -> bool:
    return any(is_within(path, directory) for directory in _SYSTEM)


# Repositories


def _discovered(directory: str) -> Iterator[str]:
    """Name the dangers of the repository that git finds from a directory; none if there is no repository."""
    # Git finds a repository from where it really is, but a shell may have come through a link.
    for start in dict.fromkeys((os.path.realpath(directory), os.path.abspath(directory))):
        for each in _upwards(start):
            mark = os.path.join(each, ".git")
            if os.path.lexists(mark):
                yield from _repository(each, mark, depth=0)
                break
            if _is_bare(each):
                yield f"{each} is itself a repository, which git would use"
                break


def _is_bare(directory: str) -> bool:
    head = os.path.lexists(os.path.join(directory, "HEAD"))
    return head and any(
        os.path.lexists(os.path.join(directory, name)) for name in ("objects", "refs", "commondir")
    )


def _repository(worktree: str, mark: str, *, depth: int) -> Iterator[str]:
    """Look at one repository and at those within it that git would enter."""
    if depth > _DEEPEST:
        yield f"{worktree} has repositories within repositories"
        return
    try:
        directory = _git_directory(worktree, mark)
        common = _common(directory)
        short = True
        hooks = [os.path.join(common, "hooks"), os.path.join(directory, "hooks")]
        for name in dict.fromkeys(
            (
                f"{common}/config",
                f"{directory}/config",
                f"{common}/config.worktree",
                f"{directory}/config.worktree",
            )
        ):
            for setting in read_settings(_content(name)) if os.path.lexists(name) else ():
                if setting.name == "core.hookspath":
                    value = os.path.expanduser(setting.value)
                    hooks += [os.path.join(worktree, value), os.path.join(directory, value)]
                elif setting.name == "core.worktree":
                    if os.path.realpath(os.path.join(directory, setting.value)) != os.path.realpath(worktree):
                        yield f"the repository's files are elsewhere: {setting.value}"
                elif setting.name == "extensions.objectformat":
                    short = setting.value == "sha1"
                elif said := danger(setting):
                    yield said
        if any(os.path.lexists(os.path.join(where, _READING_HOOK)) for where in hooks):
            yield f"the repository has a hook that git runs even when it only reads: {_READING_HOOK}"
        for link in _links(directory, short=short):
            inner = os.path.join(worktree, link)
            if os.path.lexists(os.path.join(inner, ".git")):
                yield from _repository(inner, os.path.join(inner, ".git"), depth=depth + 1)
    except (OSError, UnicodeError, Unreadable) as error:
        yield f"the repository in {worktree} cannot be read: {error}"


def _dangers_of(name: str) -> Iterator[str]:
    """Name the dangers of one file of git's configuration, if it is there."""
    try:
        settings = read_settings(_content(name)) if os.path.lexists(name) else ()
    except (OSError, Unreadable) as error:
        yield f"{name} cannot be read: {error}"
        return
    yield from (said for setting in settings if (said := danger(setting)))


def _git_directory(worktree: str, mark: str) -> str:
    if os.path.isdir(mark):
        return os.path.realpath(mark)
    text = _content(mark)
    if not text.startswith("gitdir: "):
        raise Unreadable(f"{mark} leads nowhere")
    directory = os.path.realpath(os.path.join(worktree, text[len("gitdir: ") :].rstrip("\r\n")))
    if not os.path.isdir(directory):
        raise Unreadable(f"{mark} leads nowhere")
    return directory


def _common(directory: str) -> str:
    """Give the directory that a worktree shares with its repository."""
    name = os.path.join(directory, "commondir")
    if not os.path.lexists(name):
        return directory
    return os.path.realpath(os.path.join(directory, _content(name).rstrip("\r\n")))


def _content(name: str) -> str:
    content = _bytes(name, _LARGEST + 1)
    if len(content) > _LARGEST or b"\0" in content:
        raise Unreadable(f"{name} is no text of a sensible size")
    return content.decode("utf-8", "surrogateescape")


def _bytes(name: str, most: int = -1) -> bytes:
    # Anything but a plain file, a pipe for instance, could make a reader wait.
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{name} is no file")
        return file.read(most)


def _links(directory: str, *, short: bool) -> Iterator[str]:
    """Name the repositories within a repository that git knows of, by its index (with short hashes)."""
    index = os.path.join(directory, "index")
    if os.path.lexists(index):
        content = _bytes(index)
        if _GITLINK in content:
            if not short:
                raise Unreadable("its index has long hashes and may hold other repositories")
            yield from _entries(content)
    for name in os.listdir(directory):
        if name.startswith("sharedindex.") and _GITLINK in _bytes(os.path.join(directory, name)):
            raise Unreadable("its index is split and may hold other repositories")


def _entries(index: bytes) -> Iterator[str]:
    """Read the paths of other repositories out of an index (versions 2 and 3)."""
    version, count = int.from_bytes(index[4:8], "big"), int.from_bytes(index[8:12], "big")
    if index[:4] != b"DIRC" or version not in (2, 3):
        raise Unreadable(f"its index has version {version} and may hold other repositories")
    at = 12
    for _ in range(count):
        flags = int.from_bytes(index[at + 60 : at + 62], "big")
        start = at + (64 if version == 3 and flags & 0x4000 else 62)
        end = index.find(b"\0", start)
        if end < 0:
            raise Unreadable("its index is damaged")
        if index[at + 24 : at + 28] == _GITLINK:
            yield os.fsdecode(index[start:end])
        at += (end - at + 8) & ~7
