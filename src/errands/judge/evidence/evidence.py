"""Evidence: what a verdict rests on, read from disk, and what has changed since.

This needs only names and content, so that the daemon can check evidence without loading the judge.
"""

from __future__ import annotations

import os
import stat

from errands.model.approval import Evidence
from errands.model.record import evolve
from errands.model.text.blake2 import blake2b

# Larger files are identified by their change time, which cannot be set back.
_LARGEST = 16 << 20
# Where to look for programs without a PATH.
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The mode of an index entry that is another repository.
GITLINK = b"\x00\x00\xe0\x00"


def fingerprint(path: str) -> str:
    """Return a digest of a file's content, or "" if the file does not exist."""
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


def search_path(name: str, path: str, cwd: str) -> tuple[str, str]:
    """Find a program by its bare name, as a shell does: the entry of PATH, and the file ("" if none)."""
    if "\0" in name:
        return "", ""
    for entry in path.split(":"):
        is_plain = entry.startswith("/") and not entry.endswith("/")
        found = f"{entry}/{name}" if is_plain else os.path.join(cwd, entry, name)
        if os.access(found, os.X_OK) and os.path.isfile(found):
            return entry, found
    return "", ""


def resolved(name: str, path: str, cwd: str) -> str:
    """Return the file of a program, given by its bare name; "" if there is none."""
    return search_path(name, path, cwd)[1]


def refreshed(evidence: Evidence, cwd: str) -> Evidence:
    """Read the same evidence again."""
    return evolve(
        evidence,
        files={name: fingerprint(name) for name in evidence.files},
        programs={name: resolved(name, evidence.path, cwd) for name in evidence.programs},
        links={name: os.path.realpath(name) for name in evidence.links},
        indexes={name: inner_print(name) for name in evidence.indexes},
    )


def changes(before: Evidence, after: Evidence) -> list[str]:
    """Describe what has changed."""
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
    for name, inner in before.indexes.items():
        if after.indexes[name] != inner:
            said.append(f"{name} lists other repositories")
    return said


def inner_repositories(index: bytes) -> list[bytes]:
    """Return the paths of other repositories in the index of a repository (versions 2 and 3)."""
    if GITLINK not in index:
        return []
    version, count = int.from_bytes(index[4:8], "big"), int.from_bytes(index[8:12], "big")
    if index[:4] != b"DIRC" or version not in (2, 3):
        raise ValueError(f"its index has version {version} and may contain other repositories")
    found, at = [], 12
    for _ in range(count):
        flags = int.from_bytes(index[at + 60 : at + 62], "big")
        start = at + (64 if version == 3 and flags & 0x4000 else 62)
        end = index.find(b"\0", start)
        if end < 0:
            raise ValueError("its index is damaged")
        if index[at + 24 : at + 28] == GITLINK:
            found.append(index[start:end])
        at += (end - at + 8) & ~7
    return found


def inner_print(index: str) -> str:
    """Return a digest of the repositories that an index lists, or "" if there are none."""
    try:
        # A pipe in its place must not block.
        with open(index, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            inner = inner_repositories(file.read() or b"")
    except (OSError, ValueError) as error:
        return "" if isinstance(error, FileNotFoundError) else f"unreadable: {error}"
    return blake2b(b"\0".join(inner), digest_size=16).hexdigest() if inner else ""
