"""Evidence, read from this machine: what a verdict rests on, and what of it has changed since.

Everything here works on names and content alone, so that whoever starts runs need not know how to judge.
"""

from __future__ import annotations

import os
import stat

from errands.model.approval import Evidence
from errands.model.record import evolve

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms for every command
except ImportError:  # pragma: no cover
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Larger files are told apart by when they were last touched, which nobody can set back.
_LARGEST = 16 << 20
# Where programs are looked for when nobody says where.
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_READING_HOOK = "post-index-change"


def fingerprint(path: str) -> str:
    """Name the content of a file; the empty text when there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return f"unreadable: {error.strerror}"
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return "directory" if stat.S_ISDIR(found.st_mode) else "no file"
    with open(descriptor, "rb") as file:
        if found.st_size > _LARGEST:
            return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"
        try:
            return blake2b(file.read(_LARGEST + 1), digest_size=16).hexdigest()
        except OSError as error:
            return f"unreadable: {error.strerror}"


def resolved(name: str, path: str, cwd: str) -> str:
    """Find the program that a bare name leads to, the way a shell does; the empty text if there is none."""
    for entry in path.split(":"):
        found = os.path.join(cwd, entry, name)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def refreshed(evidence: Evidence, cwd: str) -> Evidence:
    """Read the same evidence again, as it is now."""
    return evolve(
        evidence,
        files={name: fingerprint(name) for name in evidence.files},
        programs={name: resolved(name, evidence.path, cwd) for name in evidence.programs},
        links={name: os.path.realpath(name) for name in evidence.links},
    )


def changes(before: Evidence, after: Evidence) -> list[str]:
    """Say in words what has changed."""
    said = []
    for name, content in before.files.items():
        if after.files[name] != content:
            is_new, is_gone = not content, not after.files[name]
            said.append(f"{name} {'is new' if is_new else 'is gone' if is_gone else 'has changed'}")
    for name, found in before.programs.items():
        if after.programs[name] != found:
            said.append(f"`{name}` is now {after.programs[name] or 'nowhere'}, not {found or 'nowhere'}")
    for name, real in before.links.items():
        if after.links[name] != real:
            said.append(f"{name} now leads to {after.links[name]}")
    return said


def repository_files(directory: str) -> Iterator[str]:
    """Name the files that decide what git runs besides itself when it is used in a directory."""
    for start in dict.fromkeys((os.path.realpath(directory), os.path.abspath(directory))):
        each = start
        while True:
            mark = os.path.join(each, ".git")
            yield mark
            yield os.path.join(each, "HEAD")  # the mark of a directory that is a repository itself
            if os.path.lexists(mark):
                yield from _settings(each, mark)
                break
            above = os.path.dirname(each)
            if above == each:
                break
            each = above


def _settings(worktree: str, mark: str) -> Iterator[str]:
    directory = os.path.realpath(mark)
    if not os.path.isdir(directory):
        yield mark
        directory = os.path.realpath(os.path.join(worktree, _line(mark).removeprefix("gitdir: ")))
    shared = os.path.join(directory, "commondir")
    common = (
        os.path.realpath(os.path.join(directory, _line(shared))) if os.path.lexists(shared) else directory
    )
    for each in dict.fromkeys((common, directory)):
        yield os.path.join(each, "config")
        yield os.path.join(each, "config.worktree")
        yield os.path.join(each, "hooks", _READING_HOOK)
    for inner, _, names in os.walk(os.path.join(common, "modules")):
        if "config" in names:
            yield os.path.join(inner, "config")


def _line(name: str) -> str:
    try:
        with open(name, "rb") as file:
            return os.fsdecode(file.read(4096)).partition("\n")[0].rstrip("\r")
    except OSError:
        return ""
